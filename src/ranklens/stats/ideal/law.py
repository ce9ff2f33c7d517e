"""The law of a resampled ratio: infinitely many bootstrap resamples, computed and not drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, to_host
from ranklens.kernels.exact_resampling import resampled_law
from ranklens.stats.exact.steps import known_multiples
from ranklens.stats.ideal.convolution import sum_laws
from ranklens.stats.ideal.grids import grid_steps
from ranklens.stats.ideal.levels import REACH, centred_rows
from ranklens.stats.ideal.listed import SLACK, multisets
from ranklens.stats.moments import ROUNDING

Floats = NDArray[np.float64]

_FINE_GRID, _GRID_OF_MANY, _MANY = 1 << 15, 1 << 14, 1000
_LONGEST_PACKED = 1 << 19
_WITHIN = 0.49
_SAME = 1e-9
_NO_MASS = 1e-17


@dataclass(frozen=True, slots=True)
class SteppedLaw:
    """The distribution of the ratio of n draws with replacement from a sample of totals and sizes.

    Attributes
    ----------
    ratios, cumulated : numpy.ndarray of float64, shape (m,)
        The ratios that occur, ascending, and the probability of what lies at or below each.
    lowest, highest : float
        The extremes of the sample, which no ratio can pass.
    """

    ratios: Floats
    cumulated: Floats
    lowest: float
    highest: float

    def lower(self, tail: float) -> float:
        """Return the smallest ratio at or below which a share `tail` lies."""
        return self._reached(tail - SLACK)

    def upper(self, tail: float) -> float:
        """Return the largest ratio at or above which a share `tail` lies."""
        return self._reached(1.0 - tail + SLACK)

    def _reached(self, level: float) -> float:
        place = int(np.searchsorted(self.cumulated, level))
        ratio = float(self.ratios[min(place, len(self.ratios) - 1)])
        return min(max(ratio, self.lowest), self.highest)

    def share_below(self, ratio: float) -> float:
        """Return the probability of a smaller ratio, and half that of an equal one."""
        band = ROUNDING * max(-self.lowest, self.highest)
        passed = np.concatenate([np.zeros(1), self.cumulated])
        below, up_to = np.searchsorted(self.ratios, (ratio - band, ratio + band))
        return float(passed[below] + passed[up_to]) / 2.0


def listed_law(totals: Floats, sizes: Floats) -> SteppedLaw:
    """List all multisets of n draws of totals and sizes, each with its multinomial probability."""
    counts, masses = multisets(len(totals))
    ratios = counts @ totals / (counts @ sizes)
    order, each = np.argsort(ratios), totals / sizes
    return SteppedLaw(ratios[order], np.cumsum(masses[order]), float(each.min()), float(each.max()))


def lattice_ratio_law(totals: Floats, sizes: Floats, eps: float, backend: Backend) -> SteppedLaw | None:
    """Return the exact law of the ratio of draws where totals and sizes are whole multiples of steps.

    Both sums of a resample are held in one whole number, which has room for that of the sizes below that of
    the totals. None without such steps, or when that takes too long a grid.
    """
    above, below = known_multiples(totals, eps), known_multiples(sizes, eps)
    if above is None or below is None:
        return None
    if not (_are_multiples(totals, above) and _are_multiples(sizes, below)):
        return None
    n = totals.shape[0]
    above, below = above // np.gcd.reduce(above), below // np.gcd.reduce(below)
    least = int(below.min())
    room = n * (int(below.max()) - least) + 1
    packed = above * room + (below - least)
    length = _power_of_two(2.0 * REACH * float(np.std(packed)) * math.sqrt(n) + 2.0 * room)
    if length > _LONGEST_PACKED:
        return None
    first, cumulated = _sum_law(packed, length, backend)
    masses = np.diff(cumulated, prepend=0.0)
    kept = np.flatnonzero(masses > _NO_MASS)
    sums = first + kept
    ratios = (sums // room) / (sums % room + n * least)
    order = np.argsort(ratios)
    largest, whole = int(np.argmax(np.abs(above))), int(np.argmax(below))
    unit = (totals[largest] / float(above[largest])) / (sizes[whole] / float(below[whole]))
    each = totals / sizes
    return SteppedLaw(
        ratios[order] * unit, np.cumsum(masses[kept][order]), float(each.min()), float(each.max())
    )


def _are_multiples(values: Floats, multiples: NDArray[np.int64]) -> bool:
    """Whether each value is its multiple of the step to its own last digits: light units count in a ratio."""
    largest = int(np.argmax(np.abs(values)))
    if multiples[largest] == 0:
        return False
    found = multiples * (values[largest] / float(multiples[largest]))
    return bool((np.abs(found - values) <= _SAME * np.abs(values)).all())


def grid_share(values: Floats, mean: float, length: int | None = None) -> float:
    """Return the share of smaller means of n draws from values (n,), and half that of equal ones.

    The values are rounded to a grid of `length` points; mean and spread of the sum are those of the values.
    """
    scaled, unit = _moderate(values)
    n = scaled.shape[1]
    length = length or (_FINE_GRID if n < _MANY else _GRID_OF_MANY)
    steps, spread = grid_steps(scaled, length)
    total, (_, rounded_spread) = np.sum(steps, axis=1), centred_rows(steps)
    away = (math.ldexp(mean, -unit) - np.mean(scaled, axis=1)) * (rounded_spread / spread) * n
    # The mass of a grid point stretches half a step to either side of it.
    place = np.minimum(np.maximum(away, -_WITHIN * length), _WITHIN * length) + 0.5
    point = np.floor(place)
    share = sum_laws(steps, length).share_at((total + point).astype(np.int64), place - point)
    return float(share[0])


def grid_error(values: Floats, length: int) -> float:
    """Return by how much the mean of draws can differ from that of the rounded values: half a step, and five
    standard deviations of what rounding adds up to."""
    scaled, unit = _moderate(values)
    steps, spread = grid_steps(scaled, length)
    centred, _ = centred_rows(scaled)
    placed, rounded_spread = centred_rows(steps)
    rounding = float(np.std(centred - placed * (spread / rounded_spread)))
    root = math.sqrt(scaled.shape[1])
    return math.ldexp(REACH * float(spread[0]) / root / length + 5.0 * rounding / root, unit)


def _moderate(values: Floats) -> tuple[Floats, int]:
    """Return values · 2^-e as one row, and e, the largest then being in [0.5, 1)."""
    unit = int(np.frexp(np.max(np.abs(values)))[1])
    return np.ldexp(values, -unit)[None, :], unit


def _sum_law(steps: NDArray[np.int64], length: int, backend: Backend) -> tuple[int, Floats]:
    """Return the cumulated law of the sum of n draws from `steps`, and the sum at which it begins."""
    n = steps.shape[0]
    masses = np.bincount(steps % length, minlength=length) / n
    (law,) = to_host(resampled_law(backend.asarray(masses), n))
    first = int(np.rint(steps.mean() * n)) - length // 2
    cumulated = np.cumsum(np.maximum(np.roll(law, -(first % length)), 0.0))
    return first, np.maximum.accumulate(cumulated / cumulated[-1])


def _power_of_two(minimum: float) -> int:
    return 1 << max(3, math.ceil(math.log2(minimum)))
