"""NumPy's own way to the ends of percentile intervals of a batch.

A product of matrices rounds differently from the sum of a single sample. The few sums of a row that decide
about its interval are made again as those of a single sample are, so that both intervals are equal to the
last bit; the product itself may therefore be one of float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays.budget import cut, rows_within
from ranklens.arrays.host_batch import count_true, drawn_sums
from ranklens.arrays.host_loops import add_resampled_pairs
from ranklens.arrays.narrow import MOST_NARROW, NARROW_EPS, Narrow, reach_of
from ranklens.arrays.threads import for_each, n_cores

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Ranks = tuple[int, int, int, int]

_FLOAT_BYTES = 8
_ROWS_AT_ONCE = 16
_BLOCK = 4096
# Of a pair: the words, indices, places and values of the two draws of eight columns.
_PAIR_COPIES = 64
_EPS = 2.0**-52


def ends_of_rows(sums: Floats, ranks: Ranks) -> Floats:
    """Return, of each row of `sums` (rows, m), the elements of four ranks; shape (rows, 4).

    The first two are neighbours or one, as are the last two.
    """
    found = np.empty((sums.shape[0], 4))

    def partition(rows: range) -> None:
        found[rows.start : rows.stop] = _ends(sums[rows.start : rows.stop].copy(), ranks)

    _by_rows(partition, sums.shape[0])
    return found


def ends_of_resamples(
    values: Floats, seed: int, n_resamples: int, ranks: Ranks, parts: Sequence[range]
) -> Floats:
    """Return the elements of four ranks among the resampled sums of each row, as it has them alone.

    Parameters
    ----------
    values : array, shape (rows, n)
    seed, n_resamples : int
    ranks : four ints
        The first two are neighbours or one, as are the last two.
    parts : sequence of range
        The word columns whose sums a single sample adds up one after the other.

    Returns
    -------
    array, shape (rows, 4)
    """
    if ranks[2] < ranks[0]:
        # One-sided ends at levels beyond 1/2: what lies between two ranges is counted from below.
        turned = (*ranks[2:], *ranks[:2])
        return ends_of_resamples(values, seed, n_resamples, turned, parts)[:, [2, 3, 0, 1]]
    scaled = _Scaled.of(values)
    near = _Near.of(drawn_sums(scaled.values, seed, range(n_resamples)), scaled.slack, ranks)
    ends = np.ldexp(near.ends, scaled.exponent[:, None])
    inexact = np.flatnonzero(scaled.slack > 0.0)
    if inexact.size:
        ends[inexact] = near.mended(inexact, sums_alone(values, near.pairs, seed, parts), ranks)
    return ends


class _Scaled(NamedTuple):
    """Rows (rows, n) times 2^-exponent, and twice what sums of n draws can be off; 0 where they are exact."""

    values: NDArray[Any]
    exponent: Counts
    slack: Floats

    @classmethod
    def of(cls, values: Floats) -> _Scaled:
        n = values.shape[1]
        if n > MOST_NARROW:
            slack = np.abs(values).sum(axis=1) * (n * _EPS)
            exact = reach_of(values) < 2.0 / _EPS
            return cls(values, np.zeros(len(values), np.int64), np.where(exact, 0.0, slack))
        narrow, exponent, reach = Narrow.of(values)
        # Each value, product and sum is rounded, all at most n in size, and the bounds that sums are held to.
        return cls(narrow, exponent, np.where(reach < 2.0 / NARROW_EPS, 0.0, n * (n + 4) * NARROW_EPS))


class _Near(NamedTuple):
    """The ends (rows, 4) of rows of sums, and all sums that lie near them, of rows with slack.

    `pairs` (2, pairs) are rows and resamples of the latter, by row; `below` (rows, 2) counts the sums of a
    row below the range of either end, and `before` (rows,) those of its pairs below the upper range.
    """

    ends: Floats
    pairs: Counts
    below: Counts
    before: Counts

    @classmethod
    def of(cls, sums: NDArray[Any], slack: Floats, ranks: Ranks) -> _Near:
        n_rows, m = sums.shape
        ends, below = np.empty((n_rows, 4)), np.empty((n_rows, 2), dtype=np.int64)
        before = np.empty(n_rows, dtype=np.int64)
        found = {rows.start: np.empty((2, 0), dtype=np.int64) for rows in cut(range(n_rows), _ROWS_AT_ONCE)}

        def look(rows: range) -> None:
            part = slice(rows.start, rows.stop)
            own, margin = sums[part], slack[part, None]
            ends[part] = _ends(own.copy(), ranks)
            if not margin.any():
                return
            lowest = np.where(margin > 0.0, ends[part, ::2] - margin, np.inf).astype(sums.dtype)
            highest = (ends[part, 1::2] + margin).astype(sums.dtype)
            inside = np.zeros(own.shape, dtype=bool)
            for side in (0, 1):
                reached = own >= lowest[:, side, None]
                below[part, side] = m - count_true(reached)
                before[part] = count_true(inside & ~reached)
                inside |= reached & (own <= highest[:, side, None])
            # Of two dimensions nonzero is several times slower.
            row, resample = np.divmod(np.flatnonzero(inside), m)
            found[rows.start] = np.stack([row + rows.start, resample])

        _by_rows(look, n_rows)
        return cls(ends, np.concatenate(list(found.values()), axis=1), below, before)

    def mended(self, rows: Counts, sums: Floats, ranks: Ranks) -> Floats:
        """Return the ends of some rows when `sums` are those of the pairs."""
        ordered = sums[np.lexsort((sums, self.pairs[0]))]
        begins = np.searchsorted(self.pairs[0], rows)
        at = [begins + rank - self.below[rows, 0] for rank in ranks[:2]]
        at += [begins + rank - self.below[rows, 1] + self.before[rows] for rank in ranks[2:]]
        return np.asarray(ordered[np.stack(at, axis=1)])


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


def _ends(part: NDArray[Any], ranks: Ranks) -> NDArray[Any]:
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
