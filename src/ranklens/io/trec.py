"""TREC runs and qrels: columns between blanks and tabs, read in blocks of whole lines.

A block becomes arrays in a few dozen vector operations; nothing is made per line. Two threads do not help,
since operations so short lose the gain to the interpreter lock (a million lines, whole process: 0.44 s with
them, 0.36 s without).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.io.decimals import parse_decimals
from ranklens.io.faults import Fault, Faults
from ranklens.io.ids import Codes, IdColumn
from ranklens.io.layout import Layout
from ranklens.io.lines import Columns, Grid, cut_into_columns
from ranklens.io.pairs import Extract, PairTable
from ranklens.io.text import Text

BLOCK = 1 << 18

Ints = NDArray[np.int64]


def read_trec(text: Text, layout: Layout, positions: tuple[int, int, int] | None, faults: Faults) -> Extract:
    """Read the columns at `positions` (by default those of the layout) of every line."""
    columns = Columns(layout, layout.positions if positions is None else positions, positions is None)
    codes = Codes()
    sink = _Sink(text.end - text.begin)
    for first, last in text.blocks(BLOCK):
        queries, found, numbers = _read_block(text, (first, last), columns, faults)
        sink.add(last - first, codes.of(queries), found.start, found.length, numbers)
    query, start, length, values = sink.columns()
    documents = IdColumn(text.array, start, length)

    def locate(row: int) -> tuple[int, str]:
        position = int(documents.start[row])
        return text.line_number(position), text.line_at(position)

    return Extract(PairTable(codes.texts(), query, documents, values), locate)


def _read_block(
    text: Text, span: tuple[int, int], columns: Columns, faults: Faults
) -> tuple[IdColumn, IdColumn, NDArray[np.float64]]:
    """Return the queries, documents and numbers of a span of lines."""
    grid = cut_into_columns(text, span, columns, faults)
    query, document, value = columns.positions
    bounds = (np.ascontiguousarray(bound[:, value]) for bound in (grid.start, grid.stop))
    values, rejected = parse_decimals(text.array, *bounds)
    if np.isnan(values).any():
        _report_numbers(text, grid, values, rejected, columns, faults)
        kept = np.flatnonzero(~np.isnan(values))
        grid, values = Grid(grid.start[kept], grid.stop[kept]), values[kept]
    return _ids(text, grid, query), _ids(text, grid, document), values


def _ids(text: Text, grid: Grid, column: int) -> IdColumn:
    start = np.ascontiguousarray(grid.start[:, column])
    return IdColumn(text.array, start, (grid.stop[:, column] - start).astype(np.int32))


def _report_numbers(
    text: Text,
    grid: Grid,
    values: NDArray[np.float64],
    rejected: NDArray[np.intp],
    columns: Columns,
    faults: Faults,
) -> None:
    wrong = np.flatnonzero(np.isnan(values))
    unread = set(rejected.tolist())

    def fault(i: int) -> Fault:
        row = int(wrong[i])
        position = int(grid.start[row, columns.positions[2]])
        why = f"the {columns.layout.value} is {'not a number' if row in unread else 'NaN'}"
        return Fault(why, text.line_number(position), text.line_at(position))

    faults.found(wrong.size, fault)


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
