"""A span of whole lines, cut into columns at blanks and tabs.

Lines with one number of columns (nearly all there are) need one reshape; comments, blank lines and lines that
are too short or too long take the second way, which looks at each line's count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.io.faults import Fault, Faults
from ranklens.io.layout import Layout
from ranklens.io.text import NEWLINE, Text

_COMMENT = ord("#")
_RETURN = ord("\r")
_NOT_UTF8 = "the line is not valid UTF-8; convert the file to UTF-8"

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Columns:
    """The positions of query, document and number, in TREC's own columns (`usual`) or in others."""

    layout: Layout
    positions: tuple[int, int, int]
    usual: bool

    @property
    def least(self) -> int:
        """The fewest columns that a line may have."""
        return len(self.layout.trec) if self.usual else max(self.positions) + 1

    def allow(self, count: Ints | int) -> Flags | bool:
        """Tell whether lines may have this many columns."""
        if self.usual and not self.layout.more_allowed:
            return count == self.least
        return count >= self.least


@dataclass(frozen=True)
class Grid:
    """Where the columns of each row begin and end; arrays of shape (n_rows, n_columns)."""

    start: Ints
    stop: Ints


def cut_into_columns(text: Text, span: tuple[int, int], columns: Columns, faults: Faults) -> Grid:
    """Cut the lines of a span; report those that are no data and no comment."""
    start, stop = _tokens(text, span)
    grid = _regular(text, span, start, stop)
    if grid is not None and columns.allow(grid.start.shape[1]):
        return grid
    return _line_by_line(text, span, start, stop, columns, faults)


def _tokens(text: Text, span: tuple[int, int]) -> tuple[Ints, Ints]:
    """Find where white space ends and begins in a span that white space encloses."""
    first, last = span
    block = text.array[first - 1 : last]
    white = block - np.uint8(9) < 5
    white |= block == 32
    edges = np.flatnonzero(white[1:] != white[:-1])
    edges += first
    return edges[0::2], edges[1::2]


def _regular(text: Text, span: tuple[int, int], start: Ints, stop: Ints) -> Grid | None:
    """Cut the tokens into lines when all lines look alike, else return None.

    All lines have the same number of columns if there are as many rows as newlines and every row's last
    column stands before a newline.
    """
    block = text.array[slice(*span)]
    per_line, rest = divmod(start.size, int(np.count_nonzero(block == NEWLINE)))
    if rest or not per_line or (block.max() > 127 and not _decodes(text[slice(*span)])):
        return None
    grid = Grid(start.reshape(-1, per_line), stop.reshape(-1, per_line))
    behind = text.array[grid.stop[:, -1]]
    if behind[0] == _RETURN:
        behind = text.array[grid.stop[:, -1] + 1]
    if (behind != NEWLINE).any() or (text.array[grid.start[:, 0]] == _COMMENT).any():
        return None
    return grid


def _line_by_line(
    text: Text, span: tuple[int, int], start: Ints, stop: Ints, columns: Columns, faults: Faults
) -> Grid:
    """Count each line's columns; leave comments and blank lines out."""
    ends = np.flatnonzero(text.array[slice(*span)] == NEWLINE) + span[0]
    begins = np.concatenate((span[:1], ends[:-1] + 1))
    count = np.bincount(np.searchsorted(ends, start), minlength=ends.size)
    data = (text.array[begins] != _COMMENT) & (count > 0)
    readable = _readable(text, begins, ends)
    fits = data & columns.allow(count) & readable
    wrong = np.flatnonzero(data & ~fits)

    def fault(i: int) -> Fault:
        line = int(wrong[i])
        position = int(begins[line])
        why = _wrong_count(columns, int(count[line])) if readable[line] else _NOT_UTF8
        return Fault(why, text.line_number(position), text.line_at(position))

    faults.found(wrong.size, fault)
    token = (np.cumsum(count) - count)[fits]
    index = token[:, np.newaxis] + np.arange(columns.least)
    return Grid(start[index], stop[index])


def _wrong_count(columns: Columns, found: int) -> str:
    if not columns.usual:
        return f"column {columns.least - 1} is asked for (counted from 0), and the line has {found} columns"
    layout = columns.layout
    what = "a run needs 6 columns" if layout.kind == "run" else "judgements need 4 columns"
    hint = ""
    if layout.kind == "run" and found == 4:
        hint = "; is this a qrels file?"
    elif layout.kind == "qrels" and found >= 6:
        hint = "; is this a run?"
    return f"{what} ({' '.join(layout.trec)}), and the line has {found}{hint}"


def _readable(text: Text, begins: Ints, ends: Ints) -> Flags:
    """Tell which lines are valid UTF-8."""
    if _decodes(text[int(begins[0]) : int(ends[-1])]):
        return np.ones(begins.size, dtype=bool)
    spans = zip(begins.tolist(), ends.tolist(), strict=True)
    return np.array([_decodes(text[first:last]) for first, last in spans], dtype=bool)


def _decodes(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
