"""Learning-to-rank files of SVMlight, LETOR and LightGBM: ``grade qid:query 1:0.5 2:0.25 ... # document``.

A line is a document. LightGBM's files leave the ``qid:`` out, and keep the number of documents of each query
in a file beside them, whose name ends in ``.query``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core import DataError
from ranklens.io.query_features import QueryFeatures
from ranklens.io.sources import load, source_name

_DOCUMENT = re.compile(r"\bdoc(?:ument)?_?id\s*[=:]\s*(\S+)", re.IGNORECASE)
_COMPRESSED = re.compile(r"\.(gz|bz2|xz|zst)$")


def read_letor(
    source: Any,
    *,
    names: Iterable[str] | None = None,
    n_features: int | None = None,
    missing: float = 0.0,
    first: int | None = None,
    query_sizes: Any = None,
) -> tuple[QueryFeatures, ...]:
    """Read features and grades of queries.

    Parameters
    ----------
    source : path, open file or bytes
        Compressed or not. A line holds a grade, ``qid:`` and the query, features as ``number:value``, and
        after ``#`` a comment: ``docid = X``, or the document's id as its first word. A document without one
        is named by its place in the query, from 1. Lines that hold only a comment, and empty ones, are
        skipped.
    names : iterable of str, optional
        The features. Without names the columns are taken to be in the model's order.
    n_features : int, optional
        The number of columns, where these queries may lack the last ones.
    missing : float
        The value of features that a line leaves out: 0, or ``float("nan")``.
    first : int, optional
        The number of the first feature: 0 or 1. By default 1, unless a line has a feature 0.
    query_sizes : path or sequence of int, optional
        How many lines each query has, for lines without ``qid:``. By default a file of the same name ending
        in ``.query`` is looked for.

    Returns
    -------
    tuple of QueryFeatures
        In the order of the file.

    Raises
    ------
    DataError
        With the number of the line, for whatever cannot be read.

    Examples
    --------
    >>> read_letor(b"2 qid:7 1:0.5 2:3 # docid = a\\n0 qid:7 2:1 # docid = b\\n")
    (<QueryFeatures 7: 2 documents, 2 features, 2 judged>,)
    """
    file = source_name(source)
    lines = _Lines(file)
    for number, line in enumerate(bytes(load(source, file).content()).split(b"\n"), 1):
        lines.add(number, line)
    if not lines.grades:
        raise DataError("there are no lines of documents", file=file)
    labels = tuple(str(name) for name in names) if names is not None else None
    width = n_features if n_features is not None else (len(labels) if labels is not None else None)
    matrix = lines.matrix(missing, first, width)
    if labels is not None and len(labels) != matrix.shape[1]:
        raise DataError(f"there are {matrix.shape[1]} features and {len(labels)} names for them", file=file)
    return tuple(_queries(lines, matrix, _query_of_lines(lines, source, query_sizes), labels))


@dataclass
class _Lines:
    """The lines of documents, split into their parts."""

    file: str
    numbers: list[int] = field(default_factory=list)
    grades: list[float] = field(default_factory=list)
    queries: list[str | None] = field(default_factory=list)
    documents: list[str | None] = field(default_factory=list)
    pairs: list[bytes] = field(default_factory=list)

    def add(self, number: int, line: bytes) -> None:
        """Take a line apart; one without a document is skipped."""
        body, _, comment = line.partition(b"#")
        words = body.split(None, 2)
        if not words:
            return
        query = None
        rest = words[1:]
        if rest and rest[0].startswith(b"qid:"):
            query = rest.pop(0)[4:].decode("utf-8", "backslashreplace")
        self.numbers.append(number)
        self.grades.append(self._grade(words[0], number, line))
        self.queries.append(query)
        self.documents.append(_document(comment))
        self.pairs.append(b" ".join(rest))

    def matrix(self, missing: float, first: int | None, n_features: int | None) -> NDArray[np.float64]:
        """Return the features, shape (lines, features)."""
        counts = [pair.count(b":") for pair in self.pairs]
        words = b" ".join(self.pairs).replace(b":", b" : ").split()
        if len(words) != 3 * sum(counts) or any(word != b":" for word in words[1::3]):
            raise self._bad_pair()
        try:
            index = np.fromiter(map(int, words[0::3]), np.int64, len(words) // 3)
            value = np.fromiter(map(float, words[2::3]), np.float64, len(words) // 3)
        except ValueError:
            raise self._bad_pair() from None
        row = np.repeat(np.arange(len(counts)), counts)
        return self._filled(row, index, value, (missing, first, n_features))

    def _filled(
        self,
        row: NDArray[np.int64],
        index: NDArray[np.int64],
        value: NDArray[np.float64],
        how: tuple[float, int | None, int | None],
    ) -> NDArray[np.float64]:
        missing, first, n_features = how
        if first is None:
            first = 0 if index.size and index.min() == 0 else 1
        column = index - first
        width = n_features if n_features is not None else int(column.max(initial=-1)) + 1
        if width < 1:
            raise DataError("no line has a feature", file=self.file)
        outside = np.flatnonzero((column < 0) | (column >= width))
        if outside.size:
            at = int(outside[0])
            raise self._error(
                int(row[at]), f"feature {index[at]} is not among the {width} features from {first} on"
            )
        cell = row * width + column
        if np.unique(cell).size != cell.size:
            order = np.argsort(cell, kind="stable")
            at = int(order[1:][cell[order][1:] == cell[order][:-1]].min())
            raise self._error(int(row[at]), f"feature {index[at]} is given twice")
        matrix = np.full((len(self.pairs), width), missing)
        matrix.ravel()[cell] = value
        return matrix

    def _grade(self, word: bytes, number: int, line: bytes) -> float:
        try:
            grade = float(word)
        except ValueError:
            grade = math.nan
        if not math.isfinite(grade):
            text = line.decode("utf-8", "backslashreplace").strip()
            raise DataError("the grade is not a number", file=self.file, line=number, text=text)
        return grade

    def _bad_pair(self) -> DataError:
        for row, pairs in enumerate(self.pairs):
            for word in pairs.split():
                if re.fullmatch(rb"\d+:\S+", word) is None or not _is_number(word.partition(b":")[2]):
                    shown = word.decode("utf-8", "backslashreplace")
                    return self._error(row, f"{shown!r} is not a feature; write number:value")
        return DataError("the features cannot be read", file=self.file)

    def _error(self, row: int, why: str) -> DataError:
        return DataError(why, file=self.file, line=self.numbers[row])


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _document(comment: bytes) -> str | None:
    text = comment.decode("utf-8", "backslashreplace").strip()
    if not text:
        return None
    named = _DOCUMENT.search(text)
    return named[1] if named else text.split()[0]


def _query_of_lines(lines: _Lines, source: Any, query_sizes: Any) -> list[str]:
    unnamed = [row for row, query in enumerate(lines.queries) if query is None]
    if not unnamed:
        return [query for query in lines.queries if query is not None]
    if len(unnamed) < len(lines.queries):
        raise DataError(
            "the line has no qid:, and others have", file=lines.file, line=lines.numbers[unnamed[0]]
        )
    sizes, where = _sizes(source, query_sizes, lines)
    if sum(sizes) != len(lines.queries):
        raise DataError(
            f"the sizes of {len(sizes)} queries sum to {sum(sizes)}, and {lines.file} has "
            f"{len(lines.queries)} lines of documents",
            file=where,
        )
    return [str(query) for query, size in enumerate(sizes, 1) for _ in range(size)]


def _sizes(source: Any, query_sizes: Any, lines: _Lines) -> tuple[list[int], str]:
    if query_sizes is None:
        query_sizes = _sibling(source)
    if query_sizes is None:
        raise DataError(
            "the line has no qid:, and no file of query sizes was found; pass query_sizes=",
            file=lines.file,
            line=lines.numbers[0],
        )
    if isinstance(query_sizes, Sequence) and not isinstance(query_sizes, (str, bytes)):
        return [int(size) for size in query_sizes], "query_sizes"
    file = source_name(query_sizes)
    sizes = []
    for number, line in enumerate(bytes(load(query_sizes, file).content()).splitlines(), 1):
        if line.strip() and not line.strip().isdigit():
            text = line.decode("utf-8", "backslashreplace")
            raise DataError("a number of documents is needed", file=file, line=number, text=text)
        if line.strip():
            sizes.append(int(line))
    return sizes, file


def _sibling(source: Any) -> Path | None:
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = os.fspath(source)
    names = (f"{path}.query", f"{_COMPRESSED.sub('', path)}.query")
    return next((Path(name) for name in names if os.path.isfile(name)), None)


def _queries(
    lines: _Lines, matrix: NDArray[np.float64], queries: list[str], names: tuple[str, ...] | None
) -> Iterator[QueryFeatures]:
    rows: dict[str, list[int]] = {}
    for row, query in enumerate(queries):
        rows.setdefault(query, []).append(row)
    for query, some in rows.items():
        together = some[-1] - some[0] + 1 == len(some)
        documents = [lines.documents[row] or str(place) for place, row in enumerate(some, 1)]
        if len(set(documents)) != len(documents):
            place = next(i for i, document in enumerate(documents) if document in documents[:i])
            raise DataError(
                f"the document {documents[place]!r} occurs twice in query {query!r}",
                file=lines.file,
                line=lines.numbers[some[place]],
            )
        features = matrix[some[0] : some[-1] + 1] if together else matrix[some]
        yield QueryFeatures.of(query, documents, features, [lines.grades[row] for row in some], names=names)
