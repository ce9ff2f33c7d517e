"""Counting the few subsets of absolute differences that fit on the losing side, row after row."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import budget_bytes
from ranklens.arrays.threads import for_each, n_cores
from ranklens.kernels.ties import BAND

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_FIXED_POINT_BITS = 61
_MOST_SUMS = 1 << 17
_BYTES_PER_SUM = 64
_LONGEST_BITS = 13.0
"""The binary logarithm of how many sums of repeated values are listed before a common step is sought."""


def few_subsets(deltas: Floats, eps: float) -> Floats:
    """Count the subsets of |d| that sum to at most (Σ|d| - |Σd|) / 2, the ties within 8 eps Σ|d| included.

    Parameters
    ----------
    deltas : numpy.ndarray of float64, shape (rows, n)
        At least one of each row is not zero.
    eps : float
        The rounding unit of the type in which they were computed.

    Returns
    -------
    numpy.ndarray of float64, shape (rows,)
        NaN where either half of a row has too many sums to list.
    """
    fixed, band = _fixed_point(deltas, eps)
    magnitudes = np.sort(np.abs(fixed), axis=1)[:, ::-1]
    limits = (magnitudes.sum(axis=1) - np.abs(fixed.sum(axis=1)) + band) // 2
    most = min(_MOST_SUMS, budget_bytes() // (_BYTES_PER_SUM * n_cores()))
    found = np.empty(len(deltas))

    def count(i: int) -> None:
        found[i] = _count(magnitudes[i][magnitudes[i] > 0], int(limits[i]), most)

    for_each(count, range(len(deltas)), n_threads=n_cores())
    return found


def _fixed_point(deltas: Floats, eps: float) -> tuple[Counts, Counts]:
    """Round to the 61st binary digit of Σ|d|, and return the band of ties in that unit."""
    largest = np.abs(deltas).max(axis=1)
    scaled = np.ldexp(deltas, -np.frexp(largest)[1][:, None])
    bits = _FIXED_POINT_BITS - np.frexp(np.abs(scaled).sum(axis=1))[1]
    fixed = np.rint(np.ldexp(scaled, bits[:, None])).astype(np.int64)
    band = np.ceil(BAND * eps * np.abs(fixed).sum(axis=1).astype(np.float64))
    return fixed, band.astype(np.int64)


def _count(descending: Counts, limit: int, most: int) -> float:
    fitting = descending[descending <= limit]
    if 4 * np.count_nonzero(fitting[1:] == fitting[:-1]) > len(fitting):
        return _count_repeated(fitting, limit, most)
    halves = [np.zeros(1, dtype=np.int64)] * 2
    for value in fitting.tolist():
        smaller = int(len(halves[0]) > len(halves[1]))
        sums = halves[smaller]
        halves[smaller] = np.concatenate([sums, sums[sums <= limit - value] + value])
        if len(halves[smaller]) > most:
            return math.nan
    first, second = np.sort(halves[0]), np.sort(halves[1])
    return float(np.searchsorted(first, limit - second, side="right").sum())


def _count_repeated(descending: Counts, limit: int, most: int) -> float:
    """List each sum once for all choices among equal values, with the number of these choices."""
    starts = np.flatnonzero(descending[1:] != descending[:-1]) + 1
    bounds = [0, *starts.tolist(), len(descending)]
    choices = 1.0 + np.minimum(np.diff(bounds), limit // descending[bounds[:-1]])
    if 0.5 * np.log2(choices).sum() > _LONGEST_BITS:
        return math.nan
    halves = [(np.zeros(1, dtype=np.int64), np.ones(1)) for _ in range(2)]
    for begin, end in itertools.pairwise(bounds):
        value, most_chosen = int(descending[begin]), end - begin
        smaller = int(len(halves[0][0]) > len(halves[1][0]))
        sums, weights = halves[smaller]
        chosen = np.arange(min(most_chosen, limit // value) + 1)
        grown = (sums[:, None] + value * chosen).ravel()
        kept = grown <= limit
        ways = (weights[:, None] * _binomials(most_chosen)[: len(chosen)]).ravel()
        halves[smaller] = grown[kept], ways[kept]
        if len(halves[smaller][0]) > most:
            return math.nan
    (first, first_ways), (second, second_ways) = halves
    order = np.argsort(first)
    below = np.concatenate([np.zeros(1), np.cumsum(first_ways[order])])
    return float(second_ways @ below[np.searchsorted(first[order], limit - second, side="right")])


@functools.lru_cache(maxsize=256)
def _binomials(n: int) -> Floats:
    return np.array([math.comb(n, k) for k in range(n + 1)], dtype=np.float64)
