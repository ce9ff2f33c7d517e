"""Ends of intervals of means by the laws of sums of whole numbers: on a lattice, or rounded to a grid."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.ideal.convolution import with_sum_laws
from ranklens.stats.ideal.heavy import HeavyUnits
from ranklens.stats.ideal.levels import REACH, Levels, centred_rows
from ranklens.stats.ideal.listed import SLACK
from ranklens.stats.ideal.sums import SumLaws

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_GRID, _FINE_GRID, _FINE = 1 << 14, 1 << 15, range(65, 2049)

_SPLIT = 256
"""Up to so many differences the heavy ones are set aside for the share below the mean."""


def lattice_lengths(multiples: Floats) -> Counts:
    """Return how long a grid the law of the sum of n draws takes, a power of two; of rows (rows, n)."""
    _, spread = centred_rows(multiples)
    least = 2.0 * REACH * spread * math.sqrt(multiples.shape[1]) + 8.0
    return np.asarray(1 << np.maximum(3, np.ceil(np.log2(least))).astype(np.int64))


def lattice_ends(values: Floats, multiples: Floats, length: int, levels: Levels) -> tuple[Floats, Floats]:
    """Return both ends, shape (rows,), of samples (rows, n) that are whole multiples of steps."""
    low, high = np.empty((2, len(values)))

    def read(some: slice, laws: SumLaws) -> None:
        totals = np.sum(multiples[some], axis=1).astype(np.int64)
        below, above = levels.tails(multiples[some], functools.partial(laws.share_at, totals))
        low[some], _ = laws.reached(below - SLACK)
        high[some], _ = laws.reached(1.0 - above + SLACK)

    with_sum_laws(read, multiples, length)
    largest = np.argmax(np.abs(multiples), axis=1)[:, None]
    value, multiple = (np.take_along_axis(x, largest, axis=1)[:, 0] for x in (values, multiples))
    n = values.shape[1]
    return low * value / multiple / n, high * value / multiple / n


def grid_ends(values: Floats, levels: Levels) -> tuple[Floats, Floats]:
    """Return both ends, shape (rows,), of samples (rows, n) that are rounded to a grid.

    Mean and spread of what was rounded are put right afterwards.
    """
    n = values.shape[1]
    # In between, roundings add up and the sums that are possible may still lie visibly apart.
    length = _FINE_GRID if n in _FINE else _GRID
    mean = np.mean(values, axis=1)
    steps, spread = grid_steps(values, length)
    ends = np.empty((2, len(values)))

    def read(some: slice, laws: SumLaws) -> None:
        totals = np.sum(steps[some], axis=1).astype(np.int64)
        own = values[some]
        below, above = levels.tails(own, functools.partial(_share_at_mean, own, laws, totals))
        for end, level in zip(ends, (below, 1.0 - above), strict=True):
            found, part = laws.reached(level)
            # The mass of a grid point stretches half a step to either side of it.
            end[some] = (found - totals) + (part - 0.5)

    with_sum_laws(read, steps, length)
    _, rounded_spread = centred_rows(steps)
    low, high = mean + ends / n * (spread / rounded_spread)
    return low, high


def _share_at_mean(values: Floats, laws: SumLaws, totals: Counts) -> Floats:
    """Return the share of means below that of each sample (rows, n), and half of those equal.

    Beside an outlier small values round to few points of a grid, and all draws with as many outliers as the
    sample would be ties: there the small values get a grid of their own.
    """
    shares = laws.share_at(totals)
    if values.shape[1] <= _SPLIT:
        for row, own in enumerate(values):
            units = HeavyUnits.of(np.abs(own - np.median(own)))
            if units is not None:
                shares[row] = units.share_at_mean(own)
    return shares


def grid_steps(values: Floats, length: int) -> tuple[Floats, Floats]:
    """Round samples (rows, n) less their means to a grid of which `length` steps span 18 standard errors.

    Also returns their standard deviations, shape (rows,).
    """
    centred, spread = centred_rows(values)
    per_spread = length / (2.0 * REACH * math.sqrt(values.shape[1]))
    return np.rint(centred * (per_spread / spread)[:, None]), spread
