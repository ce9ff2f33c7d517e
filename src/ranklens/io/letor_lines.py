"""The lines of a learning-to-rank file, taken apart."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ranklens.core import DataError

MOST_FEATURES = 2**20
"""A number above it is taken for a mistake: the matrix is dense."""

_DOCUMENT = re.compile(r"\bdoc(?:ument)?_?id\s*[=:]\s*(\S+)", re.IGNORECASE)
_PAIR = re.compile(rb"\d+:[^\s:_]+")
_PAIRS = re.compile(rb"(?:\d+:[^\s:_]+(?:\s+|$))*")
# Text that is turned into numbers at a time: each number is an object for a while.
_BLOCK_BYTES = 2**20

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass
class LetorLines:
    """The lines of documents, in the order of the file.

    Attributes
    ----------
    file : str
        For messages.
    numbers : list of int
        Those of the lines, from 1.
    grades : list of float
    queries, documents : lists of str or None
        None where the line has none.
    """

    file: str
    numbers: list[int] = field(default_factory=list)
    grades: list[float] = field(default_factory=list)
    queries: list[str | None] = field(default_factory=list)
    documents: list[str | None] = field(default_factory=list)
    _counts: list[int] = field(default_factory=list)
    _waiting: list[bytes] = field(default_factory=list)
    _n_waiting: int = 0
    _parsed: list[Floats] = field(default_factory=list)

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
            if not query:
                raise DataError("there is no query behind qid:", file=self.file, line=number)
        self.numbers.append(number)
        self.grades.append(self._grade(words[0], number, line))
        self.queries.append(query)
        self.documents.append(_document(comment))
        self._take(b" ".join(rest))

    def span(self) -> tuple[int, int]:
        """Return the smallest and the largest number of a feature; (1, 0) where no line has one."""
        index, _ = self._pairs()
        return (int(index.min()), int(index.max())) if index.size else (1, 0)

    def sparse(self) -> bool:
        """Whether some line leaves out a feature that another one has."""
        index, _ = self._pairs()
        return index.size < np.unique(index).size * len(self._counts)

    def _pairs(self) -> tuple[Indices, Floats]:
        if self._waiting:
            self._parse()
        pairs = np.concatenate(self._parsed) if self._parsed else np.empty((0, 2))
        return pairs[:, 0].astype(np.int64), pairs[:, 1]

    def matrix(self, missing: float, first: int | None, n_features: int | None) -> Floats:
        """Return the features, shape (lines, features); see `read_letor`."""
        index, value = self._pairs()
        row = np.repeat(np.arange(len(self._counts)), self._counts)
        if first is None:
            first = 0 if index.size and index.min() == 0 else 1
        column = index - first
        width = n_features if n_features is not None else self._width(row, column)
        outside = np.flatnonzero((column < 0) | (column >= width))
        if outside.size:
            at = int(outside[0])
            why = f"feature {index[at]} is not among the {width} features from {first} on"
            raise self._error(int(row[at]), why)
        cell = row * width + column
        self._require_distinct(cell, row, index)
        matrix = np.full((len(self._counts), width), missing, dtype=np.float64)
        matrix.ravel()[cell] = value
        return matrix

    def _take(self, pairs: bytes) -> None:
        if _PAIRS.fullmatch(pairs) is None:
            raise self._bad_pair(pairs, len(self.numbers) - 1)
        self._counts.append(pairs.count(b":"))
        self._waiting.append(pairs)
        self._n_waiting += len(pairs)
        if self._n_waiting > _BLOCK_BYTES:
            self._parse()

    def _parse(self) -> None:
        words = b" ".join(self._waiting).replace(b":", b" ").split()
        try:
            numbers = np.fromiter(map(float, words), np.float64, len(words))
        except ValueError:
            first = len(self.numbers) - len(self._waiting)
            for row, pairs in enumerate(self._waiting, first):
                if not all(_is_number(word.partition(b":")[2]) for word in pairs.split()):
                    raise self._bad_pair(pairs, row) from None
            raise
        self._parsed.append(numbers.reshape(-1, 2))
        self._waiting, self._n_waiting = [], 0

    def _width(self, row: Indices, column: Indices) -> int:
        width = int(column.max(initial=-1)) + 1
        if width < 1:
            raise DataError("no line has a feature", file=self.file)
        if width > MOST_FEATURES:
            at = int(row[column.argmax()])
            raise self._error(at, f"feature number {width} is too large for a matrix; pass n_features=")
        return width

    def _require_distinct(self, cell: Indices, row: Indices, index: Indices) -> None:
        if (cell[1:] > cell[:-1]).all():
            return
        order = np.argsort(cell, kind="stable")
        twice = order[1:][cell[order][1:] == cell[order][:-1]]
        if twice.size:
            at = int(twice.min())
            raise self._error(int(row[at]), f"feature {index[at]} is given twice")

    def _grade(self, word: bytes, number: int, line: bytes) -> float:
        grade = float(word) if _is_number(word) else math.nan
        if not math.isfinite(grade):
            text = line.decode("utf-8", "backslashreplace").strip()
            raise DataError("the grade is not a number", file=self.file, line=number, text=text)
        return grade

    def _bad_pair(self, pairs: bytes, row: int) -> DataError:
        for word in pairs.split():
            if _PAIR.fullmatch(word) is None or not _is_number(word.partition(b":")[2]):
                shown = word.decode("utf-8", "backslashreplace")
                return self._error(row, f"{shown!r} is not a feature; write number:value")
        return self._error(row, "the features cannot be read")

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
