"""NumPy's own way to the ends of percentile intervals of a batch.

A product of matrices rounds differently from the sum of a single sample. The few sums of a row that decide
about its interval are made again as those of a single sample are, so that both intervals are equal to the
last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays.budget import cut, rows_within
from ranklens.arrays.host_batch import count_true
from ranklens.arrays.host_loops import add_resampled_pairs
from ranklens.arrays.threads import for_each, n_cores

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Ranks = tuple[int, int, int, int]

_FLOAT_BYTES = 8
_ROWS_AT_ONCE = 16
_BLOCK = 4096
# Of a pair: the words, indices, places and values of the two draws of eight columns.
_PAIR_COPIES = 64


def ends_of_rows(sums: Floats, ranks: Ranks) -> Floats:
    """Return, of each row of `sums` (rows, m), the elements of four ranks; shape (rows, 4).

    The first two are neighbours or one, as are the last two.
    """
    found = np.empty((sums.shape[0], 4))

    def partition(rows: range) -> None:
        found[rows.start : rows.stop] = _ends(sums[rows.start : rows.stop].copy(), ranks)

    _by_rows(partition, sums.shape[0])
    return found


def ends_as_alone(
    values: Floats, sums: Floats, ends: Floats, ranks: Ranks, seed: int, parts: Sequence[range]
) -> Floats:
    """Return `ends` as they are when each row is resampled alone.

    Parameters
    ----------
    values : array, shape (rows, n)
    sums : array, shape (rows, m)
        Of the resamples 0, 1, ... of `values`, however rounded.
    ends : array, shape (rows, 4)
        What `ends_of_rows` gives for them.
    ranks : four ints
    seed : int
    parts : sequence of range
        The word columns whose sums a single sample adds up one after the other.
    """
    slack = np.abs(values).sum(axis=1) * (values.shape[1] * np.finfo(np.float64).eps)
    near = _near_ends(sums, ends, slack)
    alone = sums_alone(values, near.pairs, seed, parts)
    ordered = alone[np.lexsort((alone, near.pairs[0]))]
    begins = np.searchsorted(near.pairs[0], np.arange(values.shape[0]))
    at = [begins + rank - near.below[:, 0] for rank in ranks[:2]]
    at += [begins + rank - near.below[:, 1] + near.before for rank in ranks[2:]]
    return ordered[np.stack(at, axis=1)]


class _Near(NamedTuple):
    """Row and resample, by row, of the sums near an end (2, pairs).

    `below` (rows, 2) counts the sums of a row below the range of either end, and `before` (rows,) those of
    its pairs that lie below the upper range.
    """

    pairs: Counts
    below: Counts
    before: Counts


def _near_ends(sums: Floats, ends: Floats, slack: Floats) -> _Near:
    n_rows, m = sums.shape
    below, before = np.empty((n_rows, 2), dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    found = {rows.start: np.empty((2, 0), dtype=np.int64) for rows in cut(range(n_rows), _ROWS_AT_ONCE)}

    def look(rows: range) -> None:
        part = slice(rows.start, rows.stop)
        own, edges, margin = sums[part], ends[part], slack[part]
        inside = np.zeros(own.shape, dtype=bool)
        for side in (0, 1):
            reached = own >= (edges[:, 2 * side] - margin)[:, None]
            below[part, side] = m - count_true(reached)
            before[part] = count_true(inside & ~reached)
            inside |= reached & (own <= (edges[:, 2 * side + 1] + margin)[:, None])
        row, resample = np.nonzero(inside)
        found[rows.start] = np.stack([row + rows.start, resample])

    _by_rows(look, n_rows)
    return _Near(np.concatenate(list(found.values()), axis=1), below, before)


def sums_alone(values: Floats, pairs: Counts, seed: int, parts: Sequence[range]) -> Floats:
    """Sum what each resample draws from its row, in the order of a single sample."""
    n = values.shape[1]
    flat = np.ascontiguousarray(values).reshape(-1)
    order = np.argsort(pairs[1], kind="stable")
    row, resample = pairs[0][order], pairs[1][order]
    sums = np.empty(len(order))
    at_once = rows_within(_PAIR_COPIES * _FLOAT_BYTES, max(1, len(order)), share=0.25)
    for some in cut(range(len(order)), at_once):
        part = slice(some.start, some.stop)
        for block in np.unique(resample[part] // _BLOCK).tolist():
            first, last = np.searchsorted(resample[part], [block * _BLOCK, (block + 1) * _BLOCK])
            own = slice(some.start + first, some.start + last)
            local = np.stack([row[own] * n, resample[own] - block * _BLOCK])
            by_part = np.zeros((len(parts), local.shape[1]))
            for columns, total in zip(parts, by_part, strict=True):
                add_resampled_pairs(flat, n, seed, block * _BLOCK, columns, local, total)
            sums[own] = np.sum(by_part, axis=0)
    in_order = np.empty(len(order))
    in_order[order] = sums
    return in_order


def _by_rows(task: Callable[[range], None], n_rows: int) -> None:
    for_each(task, cut(range(n_rows), _ROWS_AT_ONCE), n_threads=n_cores())


def _ends(part: Floats, ranks: Ranks) -> Floats:
    """Partition twice at a single rank: several times faster than once at four."""
    near, low, high, far = ranks
    if not near < low < high < far:
        part.sort(axis=1)
        return part[:, ranks]
    part.partition(low, axis=1)
    rest = part[:, low + 1 :]
    rest.partition(high - low - 1, axis=1)
    ends = part[:, :low].max(axis=1), part[:, low], part[:, high], part[:, high + 1 :].min(axis=1)
    return np.stack(ends, axis=1)
