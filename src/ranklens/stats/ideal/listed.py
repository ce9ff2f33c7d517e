"""Every resample of a small sample, each with its probability."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut, rows_within
from ranklens.stats.ideal.levels import Levels
from ranklens.stats.moments import ROUNDING

Floats = NDArray[np.float64]

LISTED = 8
"""Up to so many differences every multiset of draws is listed: C(15, 8) = 6,435 at most."""

SLACK = 1e-13
"""By how much a level may be missed, since the probabilities are sums of rounded ones."""

_COPIES = 8
_FLOAT_BYTES = 8


@functools.lru_cache(maxsize=LISTED)
def multisets(n: int) -> tuple[NDArray[np.int64], Floats]:
    """Return how often each of `n` values is drawn, shape (resamples, n), and the probabilities of that.

    Examples
    --------
    >>> counts, masses = multisets(2)
    >>> counts.tolist(), masses.tolist()
    ([[2, 0], [1, 1], [0, 2]], [0.25, 0.5, 0.25])
    """
    drawn = np.array(list(itertools.combinations_with_replacement(range(n), n)))
    repeats = np.array([math.factorial(k) for k in range(n + 1)], dtype=np.float64)
    counts = (drawn[:, :, None] == np.arange(n)).sum(axis=1)
    masses = math.factorial(n) / n**n / np.prod(repeats[counts], axis=1)
    counts.flags.writeable = masses.flags.writeable = False
    return counts, masses


def listed_ends(values: Floats, levels: Levels) -> tuple[Floats, Floats]:
    """Return both ends, shape (rows,), of the means of draws from ordered samples (rows, n), n at most 8."""
    low, high = np.empty((2, len(values)))
    counts, _ = multisets(values.shape[1])
    row_bytes = _COPIES * _FLOAT_BYTES * len(counts)
    for part in cut(range(len(values)), rows_within(row_bytes, len(values), share=0.25)):
        some = slice(part.start, part.stop)
        law = _listed_law(values[some])
        below, above = levels.tails(values[some], functools.partial(_share_at_mean, *law, values[some]))
        low[some] = _quantile(*law, below - SLACK)
        high[some] = _quantile(*law, 1.0 - above + SLACK)
    return low, high


def _listed_law(values: Floats) -> tuple[Floats, Floats]:
    """Return all resampled means of each row in ascending order, and the share at or below each."""
    n = values.shape[1]
    counts, masses = multisets(n)
    sums = np.zeros((len(values), len(counts)))
    for j in range(n):
        sums += counts[:, j] * values[:, j, None]
    order = np.argsort(sums, axis=1, kind="stable")
    return np.take_along_axis(sums, order, axis=1) / n, np.cumsum(masses[order], axis=1)


def _quantile(means: Floats, cumulated: Floats, level: Floats) -> Floats:
    place = np.count_nonzero(cumulated < level[:, None], axis=1)
    place = np.minimum(place, means.shape[1] - 1)[:, None]
    return np.asarray(np.take_along_axis(means, place, axis=1)[:, 0])


def _share_at_mean(means: Floats, cumulated: Floats, values: Floats) -> Floats:
    band = ROUNDING * np.maximum(-values[:, 0], values[:, -1])
    mean = np.mean(values, axis=1)
    passed = np.concatenate([np.zeros((len(values), 1)), cumulated], axis=1)
    below = np.count_nonzero(means < (mean - band)[:, None], axis=1)[:, None]
    up_to = np.count_nonzero(means < (mean + band)[:, None], axis=1)[:, None]
    shares = (np.take_along_axis(passed, place, axis=1)[:, 0] for place in (below, up_to))
    return np.asarray(sum(shares) / 2.0)
