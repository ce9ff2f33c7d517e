"""How many flips of each row of a batch are extreme, on NumPy.

Signs are kept as bits: with t the sum of the flipped differences and s that of all, a flip gives s - 2t, so
that a count of extreme flips is a count of t beyond two thresholds. Products of float32 decide about all t
but the few that lie within rounding of a threshold, which are summed again in float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays.budget import cut, rows_within
from ranklens.arrays.host_batch import WordsOf, count_true, flipped_parts, unpack_bits
from ranklens.arrays.narrow import MOST_NARROW, NARROW_EPS, Narrow, reach_of

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_FLOAT_BYTES = 8
# Thresholds of whole numbers are multiples of a quarter, exact in float32 up to here.
_EXACT_REACH = 2.0**22
_BLOCK = 4096
_TRIED, _OFTEN = 512, 8


def count_outside(
    values: Floats, at_most: Floats, at_least: Floats, words_of: WordsOf, resamples: range
) -> Counts:
    """Count the flips whose flipped differences sum to at most one or at least the other threshold.

    Shapes are (rows, n) for the values, (rows,) for the thresholds and the counts.
    """
    if values.shape[1] > MOST_NARROW and not np.all(reach_of(values) < _EXACT_REACH):
        return _counted(values, at_most, at_least, words_of, resamples)
    counts, n_near = _counted_narrowly(values, at_most, at_least, words_of, resamples[:_TRIED])
    # A row of few different sums is often as near as can be.
    often = n_near > _OFTEN
    for rows, counted in ((~often, _narrowly), (often, _counted)):
        some = slice(None) if rows.all() else np.flatnonzero(rows)
        if len(resamples) > _TRIED and rows.any():
            counts[some] += counted(values[some], at_most[some], at_least[some], words_of, resamples[_TRIED:])
    return counts


def _counted(
    values: Floats, at_most: Floats, at_least: Floats, words_of: WordsOf, resamples: range
) -> Counts:
    counts = np.zeros(values.shape[0], dtype=np.int64)
    for rows, _, sums in flipped_parts(values, words_of, resamples):
        outside = sums <= at_most[rows, None]
        outside |= sums >= at_least[rows, None]
        counts[rows] += count_true(outside)
    return counts


def _narrowly(
    values: Floats, at_most: Floats, at_least: Floats, words_of: WordsOf, resamples: range
) -> Counts:
    return _counted_narrowly(values, at_most, at_least, words_of, resamples)[0]


def _counted_narrowly(
    values: Floats, at_most: Floats, at_least: Floats, words_of: WordsOf, resamples: range
) -> tuple[Counts, Counts]:
    """Return the counts, and of how many flips in each row float32 cannot decide."""
    narrow = Narrow.of(values)
    bounds = _Bounds.of(narrow, at_most, at_least)
    counts, near = np.zeros(values.shape[0], dtype=np.int64), [np.empty((2, 0), dtype=np.int64)]
    for rows, some, sums in flipped_parts(narrow.values, words_of, resamples):
        sure, possible = bounds.outside(sums, rows)
        counts[rows] += count_true(sure)
        row, resample = np.divmod(np.flatnonzero(possible ^ sure), len(some))
        near.append(np.stack([row + rows.start, resample + some.start]))
    pairs = np.concatenate(near, axis=1)
    row, sums = pairs[0], _sums_again(values, pairs, words_of, resamples)
    outside = (sums <= at_most[row]) | (sums >= at_least[row])
    counts += np.bincount(row[outside], minlength=len(counts))
    return counts, np.bincount(row, minlength=len(counts))


class _Bounds(NamedTuple):
    """Thresholds (rows, 1) beyond which sums in float32 are outside for certain, and beyond which maybe."""

    surely_at_most: NDArray[np.float32]
    surely_at_least: NDArray[np.float32]
    at_most: NDArray[np.float32]
    at_least: NDArray[np.float32]

    @classmethod
    def of(cls, narrow: Narrow, at_most: Floats, at_least: Floats) -> _Bounds:
        n = narrow.values.shape[1]
        size = np.abs(narrow.values).sum(axis=1, dtype=np.float64)
        # Each value, sum and threshold is rounded.
        slack = np.where(narrow.reach < _EXACT_REACH, 0.0, (0.5 * n + 2.0) * NARROW_EPS * size)
        low, high = np.ldexp(at_most, -narrow.exponent), np.ldexp(at_least, -narrow.exponent)
        both = (low - slack, high + slack, low + slack, high - slack)
        return cls(*(bound.astype(np.float32)[:, None] for bound in both))

    def outside(self, sums: NDArray[Any], rows: slice) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which sums (k, m) of some rows are outside for certain, and which possibly."""
        sure, possible = sums <= self.surely_at_most[rows], sums <= self.at_most[rows]
        sure |= sums >= self.surely_at_least[rows]
        possible |= sums >= self.at_least[rows]
        return sure, possible


def _sums_again(values: Floats, near: Counts, words_of: WordsOf, resamples: range) -> Floats:
    """Sum what single resamples flip of single rows, in float64."""
    n = values.shape[1]
    order = np.argsort(near[1], kind="stable")
    row, resample = near[0][order], near[1][order]
    sums = np.empty(len(order))
    at_once = rows_within(4 * _FLOAT_BYTES * n, max(1, len(order)), share=0.25)
    for block in cut(resamples, _BLOCK):
        begin, end = np.searchsorted(resample, [block.start, block.stop])
        words = words_of(block)
        for some in cut(range(begin, end), at_once):
            part = slice(some.start, some.stop)
            bits = np.empty((len(some), n))
            unpack_bits(words[:, resample[part] - block.start], bits)
            sums[part] = np.einsum("ij,ij->i", bits, values[row[part]])
    again = np.empty(len(order))
    again[order] = sums
    return again
