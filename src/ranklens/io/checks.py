"""Pairs that occur twice: found exactly, named by both lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ranklens.io.faults import Fault, Faults
from ranklens.io.layout import Layout
from ranklens.io.pairs import Extract, PairTable, pair_keys


def with_finite_grades(extract: Extract, layout: Layout, faults: Faults) -> Extract:
    """Refuse infinite grades; a score may be infinite, for that can be ordered."""
    wrong = np.flatnonzero(np.isinf(extract.pairs.values)) if layout.kind == "qrels" else np.empty(0, np.intp)
    if not wrong.size:
        return extract
    faults.found(wrong.size, lambda i: Fault("the grade is infinite", *extract.locate(int(wrong[i]))))
    kept = np.flatnonzero(np.isfinite(extract.pairs.values))
    return Extract(extract.pairs.take(kept), lambda row: extract.locate(int(kept[row])))


def without_repeats(extract: Extract, layout: Layout, faults: Faults) -> PairTable:
    """Return the table with each (query, document) once.

    A document that a run lists twice for a query, and a pair with two different grades, are faults; where
    faults are skipped, the higher score and the first grade stay. An identical judgement is dropped with a
    note.
    """
    pairs = extract.pairs
    first, again = repeats(pairs)
    if not again.size:
        return pairs
    dropped = np.zeros(len(pairs), dtype=bool)
    if layout.kind == "qrels":
        same = pairs.values[first] == pairs.values[again]
        if same.any():
            faults.note(_identical(extract, first[same], again[same]))
        _report(extract, layout, first[~same], again[~same], faults)
        dropped[again] = True
    else:
        _report(extract, layout, first, again, faults)
        dropped[_lower_scores(pairs, first, again)] = True
    return pairs.take(~dropped)


def repeats(pairs: PairTable) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the rows whose pair an earlier row has; return the first row of each such pair and the later row.

    Keys that occur twice are only candidates: their ids are compared.
    """
    keys = pair_keys(pairs.query, pairs.document_keys)
    keys.sort()
    twice = keys[1:][keys[1:] == keys[:-1]]
    if not twice.size:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    keys = pair_keys(pairs.query, pairs.document_keys)
    candidates = np.flatnonzero(np.isin(keys, twice))
    seen: dict[tuple[int, bytes], int] = {}
    found = []
    documents = pairs.documents.take(candidates).encoded()
    for row, query, document in zip(
        candidates.tolist(), pairs.query[candidates].tolist(), documents, strict=True
    ):
        earlier = seen.setdefault((query, document), row)
        if earlier != row:
            found.append((earlier, row))
    both = np.array(found, dtype=np.intp).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _lower_scores(pairs: PairTable, first: NDArray[np.intp], again: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return, of the rows of each repeated pair, all but the first one with the highest score."""
    rows = np.concatenate((np.unique(first), again))
    pair = np.concatenate((np.unique(first), first))
    order = np.lexsort((rows, -pairs.values[rows], pair))
    rows, pair = rows[order], pair[order]
    lower: NDArray[np.intp] = rows[1:][pair[1:] == pair[:-1]]
    return lower


def _report(
    extract: Extract, layout: Layout, first: NDArray[np.intp], again: NDArray[np.intp], faults: Faults
) -> None:
    pairs = extract.pairs

    def fault(i: int) -> Fault:
        a, b = int(first[i]), int(again[i])
        query = pairs.query_ids[int(pairs.query[a])]
        document = pairs.documents[a].decode()
        line_a, _ = extract.locate(a)
        line_b, text = extract.locate(b)
        if layout.kind == "qrels":
            grades = f"{pairs.values[a]:g} and {pairs.values[b]:g}"
            why = f"query {query!r}, document {document!r} is judged {grades}"
        else:
            why = f"query {query!r} lists document {document!r} twice"
        return Fault(f"{why}{_places(line_a, line_b)}", line_b, text)

    faults.found(len(again), fault)


def _places(first: int | None, second: int | None) -> str:
    return "" if first is None or second is None else f", in lines {first} and {second}"


def _identical(extract: Extract, first: NDArray[np.intp], again: NDArray[np.intp]) -> str:
    line_a, _ = extract.locate(int(first[0]))
    line_b, _ = extract.locate(int(again[0]))
    count = "1 judgement is" if len(again) == 1 else f"{len(again)} judgements are"
    return f"{count} repeated with the same grade and counted once{_places(line_a, line_b)}"
