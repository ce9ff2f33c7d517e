"""Python objects that hold pairs: nested dictionaries, records, the objects of other tools."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ranklens.io.decimals import parse_decimal
from ranklens.io.faults import Fault, Faults
from ranklens.io.ids import Codes, IdColumn
from ranklens.io.layout import Layout
from ranklens.io.pairs import Extract, PairTable


def nested_mapping(source: Any) -> Mapping[Any, Any] | None:
    """Return the query → document → number mapping that `source` is or holds (ranx keeps one), else None."""
    if isinstance(source, Mapping):
        return source
    for name in ("run", "qrels"):
        inner = getattr(source, name, None)
        if isinstance(inner, Mapping) or (inner is not None and hasattr(inner, "items")):
            return dict(inner.items())
    return None


def read_mapping(source: Mapping[Any, Any], layout: Layout, faults: Faults) -> Extract:
    """Read ``{query: {document: number}}``."""
    queries: list[Any] = []
    documents: list[Any] = []
    values: list[Any] = []
    for query, found in source.items():
        if not hasattr(found, "items"):
            why = (
                f"query {query!r} maps to {type(found).__name__}; "
                f"a {layout.kind} dictionary has the form {{query: {{document: {layout.value}}}}}"
            )
            raise faults.error(Fault(why))
        inner = dict(found.items())
        queries += [query] * len(inner)
        documents += inner.keys()
        values += inner.values()
    return extract_columns(queries, documents, values, layout, faults)


def extract_columns(
    queries: list[Any],
    documents: list[Any],
    values: list[Any],
    layout: Layout,
    faults: Faults,
    lines: Sequence[int] | None = None,
) -> Extract:
    """Make a table of Python values: ids are text or integers, numbers are whatever ``float`` takes.

    `lines` are the line numbers of the rows, where they have any.
    """
    rows = list(range(len(queries)))
    texts = [(id_text(q), id_text(d)) for q, d in zip(queries, documents, strict=True)]
    numbers = [_number(value, layout) for value in values]
    whys = [
        _why(query, document, number, layout)
        for (query, document), number in zip(texts, numbers, strict=True)
    ]

    def place(row: int) -> tuple[int | None, str]:
        text = f"{queries[row]!r}, {documents[row]!r}: {values[row]!r}"
        return (None if lines is None else lines[row]), text

    wrong = [row for row in rows if whys[row]]
    if wrong:
        faults.found(len(wrong), lambda i: Fault(whys[wrong[i]], *place(wrong[i])))
        rows = [row for row in rows if not whys[row]]
    query_column = IdColumn.from_texts([texts[row][0] or "" for row in rows])
    document_column = IdColumn.from_texts([texts[row][1] or "" for row in rows])
    codes = Codes()
    query = codes.of(query_column)
    numbers_kept = np.array([numbers[row] for row in rows], dtype=np.float64)
    pairs = PairTable(codes.texts(), query, document_column, numbers_kept)
    return Extract(pairs, lambda row: place(rows[row]))


def id_text(value: Any) -> str | None:
    """Return the text of an id: a text itself, an integer's digits; None for anything else or nothing."""
    if isinstance(value, str):
        return str(value) if value and _encodes(value) else None
    if isinstance(value, (bytes, bool, np.bool_)) or value is None:
        return None
    try:
        return str(operator.index(value))
    except TypeError:
        return None


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number(value: Any, layout: Layout) -> float | None:
    """Return the number; True and False are grades, but order no ranking."""
    if isinstance(value, (bool, np.bool_)) and layout.kind == "run":
        return None
    if isinstance(value, str):
        return parse_decimal(value.strip().encode())
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _why(query: str | None, document: str | None, number: float | None, layout: Layout) -> str:
    if query is None or document is None:
        return f"the {'query' if query is None else 'document'} id is not a text or an integer, or is empty"
    if number is None:
        return f"the {layout.value} is not a number"
    return f"the {layout.value} is NaN" if number != number else ""


def read_records(source: Iterable[Any], layout: Layout, faults: Faults) -> Extract:
    """Read named tuples (or plain triples) of query, document and number, such as ir_datasets yields."""
    columns: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    getters: dict[type, Any] = {}
    for record in source:
        kind = type(record)
        if kind not in getters:
            getters[kind] = _getter(record, layout, faults)
        for column, value in zip(columns, getters[kind](record), strict=True):
            column.append(value)
    return extract_columns(*columns, layout, faults)


def _getter(record: Any, layout: Layout, faults: Faults) -> Any:
    names = getattr(record, "_fields", None) or getattr(record, "__dataclass_fields__", None)
    if names is not None:
        found = [_first(layout.spellings[field], names) for field in layout.fields]
        if None not in found:
            return operator.attrgetter(*map(str, found))
    if isinstance(record, tuple) and len(record) == 3:
        return tuple
    what = f"an item of type {type(record).__name__}" + (f" with {', '.join(names)}" if names else "")
    raise faults.error(
        Fault(f"{what} is not a {layout.kind} row; rows have a query id, a document id and a {layout.value}")
    )


def _first(spellings: Iterable[str], names: Iterable[str]) -> str | None:
    known = set(names)
    return next((spelling for spelling in spellings if spelling in known), None)
