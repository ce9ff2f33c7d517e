"""TREC runs and qrels: columns between blanks and tabs, read in blocks of whole lines.

Blocks of lines with one number of columns (nearly all there are) need one reshape; comments, blank lines and lines
that are too short or too long take the second way, which looks at each line's count. Nothing is made per line.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    parts: list[tuple[NDArray[np.int32], Ints, NDArray[np.int32], NDArray[np.float64]]] = []
    for first, last in text.blocks(BLOCK):
        grid = _grid(text, first, last, layout, positions, faults)
        parts.append(_columns(text, grid, places, layout, codes, faults))
    query, start, length, values = (np.concatenate(column) for column in _columnwise(parts))
    documents = IdColumn(text.array, start, length)

    def locate(row: int) -> tuple[int, str]:
        position = int(documents.start[row])
        return text.line_number(position), text.line_at(position)

    return Extract(PairTable(codes.texts(), query, documents, values), locate)


def _columnwise(parts: list[tuple[NDArray, ...]]) -> list[list[NDArray]]:  # type: ignore[type-arg]
    if not parts:
        empty = (np.int32, np.int64, np.int32, np.float64)
        return [[np.empty(0, dtype=kind)] for kind in empty]
    return [list(column) for column in zip(*parts, strict=True)]


def _columns(
    text: Text, grid: _Grid, places: tuple[int, int, int], layout: Layout, codes: Codes, faults: Faults
) -> tuple[NDArray[np.int32], Ints, NDArray[np.int32], NDArray[np.float64]]:
    """Turn the grid of one block into query codes, document slices and numbers."""
    q, d, v = places
    values, rejected = parse_decimals(text.array, grid.start[:, v], grid.stop[:, v])
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
    ends = np.flatnonzero(text.array[first:last] == NEWLINE) + first
    begins = np.concatenate((np.array([first]), ends[:-1] + 1))
    least = len(layout.trec) if positions is None else max(positions) + 1
    most = least if positions is None and not layout.more_allowed else None
    comment = text.array[begins] == _COMMENT
    spoiled = _undecodable(text, first, last, begins, ends)
    if not comment.any() and spoiled is None:
        grid = _regular(start, stop, ends, least, most)
        if grid is not None:
            return grid
    return _irregular(text, layout, start, stop, (begins, ends, comment, spoiled), (least, most), faults)


def _tokens(text: Text, first: int, last: int) -> tuple[Ints, Ints]:
    """Find where white space ends and begins in a span that white space encloses."""
    block = text.array[first - 1 : last]
    white = block - np.uint8(9) < 5
    white |= block == 32
    edges = np.flatnonzero(white[1:] != white[:-1])
    edges += first
    return edges[0::2], edges[1::2]


def _regular(start: Ints, stop: Ints, ends: Ints, least: int, most: int | None) -> _Grid | None:
    """Cut the tokens into lines if every line has the same number of them, else return None."""
    per_line, rest = divmod(start.size, ends.size)
    if rest or per_line < least or (most is not None and per_line > most):
        return None
    grid = _Grid(start.reshape(-1, per_line), stop.reshape(-1, per_line))
    inside = (grid.stop[:, -1] <= ends).all() and (grid.start[1:, 0] > ends[:-1]).all()
    return grid if inside else None


def _irregular(
    text: Text,
    layout: Layout,
    start: Ints,
    stop: Ints,
    lines: tuple[Ints, Ints, NDArray[np.bool_], NDArray[np.bool_] | None],
    columns: tuple[int, int | None],
    faults: Faults,
) -> _Grid:
    begins, ends, comment, spoiled = lines
    least, most = columns
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


def _undecodable(text: Text, first: int, last: int, begins: Ints, ends: Ints) -> NDArray[np.bool_] | None:
    """Tell which lines are not valid UTF-8; None when all are."""
    if text.array[first:last].max() < 128:
        return None
    try:
        text[first:last].decode()
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
