"""TREC runs and qrels: columns between blanks and tabs, read in blocks of whole lines.

Blocks of lines with one number of columns (nearly all there are) need one reshape; comments, blank lines and
lines that are too short or too long take the second way, which looks at each line's count. Nothing is made
per line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.io.decimals import parse_decimals
from ranklens.io.faults import Fault, Faults
from ranklens.io.ids import Codes, IdColumn
from ranklens.io.layout import Layout
from ranklens.io.pairs import Extract, PairTable
from ranklens.io.text import NEWLINE, Text

BLOCK = 1 << 18
_COMMENT = ord("#")
_RETURN = ord("\r")

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Grid:
    """Where the columns of each row begin and end; arrays of shape (n_rows, n_columns)."""

    start: Ints
    stop: Ints


def read_trec(text: Text, layout: Layout, positions: tuple[int, int, int] | None, faults: Faults) -> Extract:
    """Read the columns at `positions` (by default those of the layout) of every line."""
    places = layout.positions if positions is None else positions
    codes = Codes()
    sink = _Sink(text.end - text.begin)
    for first, last in text.blocks(BLOCK):
        grid = _grid(text, first, last, layout, positions, faults)
        sink.add(last - first, *_columns(text, grid, places, layout, codes, faults))
    query, start, length, values = sink.columns()
    documents = IdColumn(text.array, start, length)

    def locate(row: int) -> tuple[int, str]:
        position = int(documents.start[row])
        return text.line_number(position), text.line_at(position)

    return Extract(PairTable(codes.texts(), query, documents, values), locate)


class _Sink:
    """Columns that grow block by block, with room guessed from the first block: memory is touched once."""

    _KINDS = (np.int32, np.int64, np.int32, np.float64)

    def __init__(self, n_bytes: int) -> None:
        self._n_bytes = n_bytes
        self._size = 0
        self._room: list[NDArray[Any]] = [np.empty(0, dtype=kind) for kind in self._KINDS]

    def add(self, n_bytes: int, *columns: NDArray[Any]) -> None:
        """Append the columns of a block that took `n_bytes` of the text."""
        stop = self._size + len(columns[0])
        if stop > len(self._room[0]):
            guess = int(stop * max(1.05 * self._n_bytes / n_bytes, 1.0)) if not self._size else 2 * stop
            self._room = [_longer(old, guess, self._size) for old in self._room]
        for room, column in zip(self._room, columns, strict=True):
            room[self._size : stop] = column
        self._size = stop

    def columns(self) -> tuple[NDArray[np.int32], Ints, NDArray[np.int32], NDArray[np.float64]]:
        """Return query code, document start, document length and number of every row."""
        query, start, length, values = (room[: self._size] for room in self._room)
        return query, start, length, values


def _longer(column: NDArray[Any], size: int, used: int) -> NDArray[Any]:
    longer = np.empty(size, dtype=column.dtype)
    longer[:used] = column[:used]
    return longer


def _columns(
    text: Text, grid: _Grid, places: tuple[int, int, int], layout: Layout, codes: Codes, faults: Faults
) -> tuple[NDArray[np.int32], Ints, NDArray[np.int32], NDArray[np.float64]]:
    """Turn the grid of one block into query codes, document slices and numbers."""
    q, d, v = places
    bounds = (np.ascontiguousarray(bound[:, v]) for bound in (grid.start, grid.stop))
    values, rejected = parse_decimals(text.array, *bounds)
    wrong = np.flatnonzero(np.isnan(values))
    if wrong.size:
        unread = set(rejected.tolist())

        def fault(i: int) -> Fault:
            row = int(wrong[i])
            position = int(grid.start[row, v])
            why = f"the {layout.value} is {'not a number' if row in unread else 'NaN'}"
            return Fault(why, text.line_number(position), text.line_at(position))

        faults.found(wrong.size, fault)
        kept = np.flatnonzero(~np.isnan(values))
        grid, values = _Grid(grid.start[kept], grid.stop[kept]), values[kept]
    query = codes.of(_ids(text, grid, q))
    documents = _ids(text, grid, d)
    return query, documents.start, documents.length, values


def _ids(text: Text, grid: _Grid, column: int) -> IdColumn:
    start = np.ascontiguousarray(grid.start[:, column])
    return IdColumn(text.array, start, (grid.stop[:, column] - start).astype(np.int32))


def _grid(
    text: Text, first: int, last: int, layout: Layout, positions: tuple[int, int, int] | None, faults: Faults
) -> _Grid:
    start, stop = _tokens(text, first, last)
    least = len(layout.trec) if positions is None else max(positions) + 1
    most = least if positions is None and not layout.more_allowed else None
    grid = _regular(text, first, last, start, stop)
    if grid is not None and grid.start.shape[1] >= least and (most is None or grid.start.shape[1] <= most):
        return grid
    ends = np.flatnonzero(text.array[first:last] == NEWLINE) + first
    return _irregular(text, layout, first, (start, stop), ends, (least, most), faults)


def _tokens(text: Text, first: int, last: int) -> tuple[Ints, Ints]:
    """Find where white space ends and begins in a span that white space encloses."""
    block = text.array[first - 1 : last]
    white = block - np.uint8(9) < 5
    white |= block == 32
    edges = np.flatnonzero(white[1:] != white[:-1])
    edges += first
    return edges[0::2], edges[1::2]


def _regular(text: Text, first: int, last: int, start: Ints, stop: Ints) -> _Grid | None:
    """Cut the tokens into lines when all lines look alike, else return None.

    All lines have the same number of columns if there are as many rows as newlines and every row's last
    column stands before a newline.
    """
    block = text.array[first:last]
    per_line, rest = divmod(start.size, int(np.count_nonzero(block == NEWLINE)))
    if rest or not per_line or (block.max() > 127 and not _decodes(text[first:last])):
        return None
    grid = _Grid(start.reshape(-1, per_line), stop.reshape(-1, per_line))
    behind = text.array[grid.stop[:, -1]]
    if behind[0] == _RETURN:
        behind = text.array[grid.stop[:, -1] + 1]
    if (behind != NEWLINE).any() or (text.array[grid.start[:, 0]] == _COMMENT).any():
        return None
    return grid


def _irregular(
    text: Text,
    layout: Layout,
    first: int,
    tokens: tuple[Ints, Ints],
    ends: Ints,
    columns: tuple[int, int | None],
    faults: Faults,
) -> _Grid:
    """Count each line's columns; leave comments and blank lines out, and report lines that do not fit."""
    begins = np.concatenate(([first], ends[:-1] + 1))
    comment = text.array[begins] == _COMMENT
    spoiled = _undecodable(text, begins, ends)
    least, most = columns
    start, stop = tokens
    count = np.bincount(np.searchsorted(ends, start), minlength=ends.size)
    data = ~comment & (count > 0)
    fits = (count >= least) if most is None else (count >= least) & (count <= most)
    if spoiled is not None:
        fits &= ~spoiled
    wrong = np.flatnonzero(data & ~fits)

    def fault(i: int) -> Fault:
        line = int(wrong[i])
        position = int(begins[line])
        bad_text = spoiled is not None and bool(spoiled[line])
        why = _NOT_UTF8 if bad_text else _wrong_count(layout, int(count[line]), least)
        return Fault(why, text.line_number(position), text.line_at(position))

    faults.found(wrong.size, fault)
    token = (np.cumsum(count) - count)[data & fits]
    index = token[:, np.newaxis] + np.arange(least)
    return _Grid(start[index], stop[index])


_NOT_UTF8 = "the line is not valid UTF-8; convert the file to UTF-8"


def _wrong_count(layout: Layout, found: int, least: int) -> str:
    if least != len(layout.trec):
        return f"column {least - 1} is asked for (counted from 0), and the line has {found} columns"
    what = "a run needs 6 columns" if layout.kind == "run" else "judgements need 4 columns"
    if layout.kind == "run" and found == 4:
        hint = "; is this a qrels file?"
    elif layout.kind == "qrels" and found >= 6:
        hint = "; is this a run?"
    else:
        hint = ""
    return f"{what} ({' '.join(layout.trec)}), and the line has {found}{hint}"


def _undecodable(text: Text, begins: Ints, ends: Ints) -> NDArray[np.bool_] | None:
    """Tell which lines are not valid UTF-8; None when all are."""
    try:
        text[int(begins[0]) : int(ends[-1])].decode()
    except UnicodeDecodeError:
        spans = zip(begins.tolist(), ends.tolist(), strict=True)
        return np.array([not _decodes(text[a:b]) for a, b in spans], dtype=bool)
    return None


def _decodes(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
