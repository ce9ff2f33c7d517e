"""The law of a resampled mean: infinitely many bootstrap resamples, computed and not drawn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, to_host
from ranklens.kernels.exact_resampling import resampled_law
from ranklens.stats.exact.steps import known_multiples
from ranklens.stats.moments import ROUNDING

Floats = NDArray[np.float64]

LISTED = 8
"""Up to so many differences every multiset of draws is listed: C(15, 8) = 6,435 at most."""

_REACH = 9.0
_FINE_GRID, _GRID_OF_MANY, _MANY = 1 << 15, 1 << 14, 1000
_LONGEST_GRID = 1 << 16
_LONGEST_PACKED = 1 << 19
_SLACK = 1e-13
_SAME = 1e-9
_NO_MASS = 1e-17


@dataclass(frozen=True, slots=True)
class IdealLaw:
    """The distribution of the mean (or ratio) of n draws with replacement from a sample.

    Attributes
    ----------
    points, cumulated : numpy.ndarray of float64, shape (m,)
        Ascending coordinates, and the probability of what lies at or below each.
    mean_at : callable
        From coordinates to means.
    stepped : bool
        Whether the law lives on the points alone; otherwise its distribution function is linear in between.
    lowest, highest : float
        The extremes of the sample, which no mean can pass.
    """

    points: Floats
    cumulated: Floats
    mean_at: Callable[[Floats], Floats]
    stepped: bool
    lowest: float
    highest: float

    def lower(self, tail: float) -> float:
        """Return the smallest mean at or below which a share `tail` lies."""
        return self._mean(tail, tail - _SLACK)

    def upper(self, tail: float) -> float:
        """Return the largest mean at or above which a share `tail` lies."""
        return self._mean(1.0 - tail, 1.0 - tail + _SLACK)

    def _mean(self, level: float, beside: float) -> float:
        if self.stepped:
            place = int(np.searchsorted(self.cumulated, beside))
            point = self.points[min(place, len(self.points) - 1)]
        else:
            point = np.interp(level, self.cumulated, self.points)
        return min(max(float(self.mean_at(np.asarray(point))), self.lowest), self.highest)

    def share_below(self, mean: float) -> float:
        """Return the probability of a smaller mean, and half that of an equal one."""
        means = self.mean_at(self.points)
        if not self.stepped:
            return float(np.interp(mean, means, self.cumulated))
        band = ROUNDING * max(-self.lowest, self.highest)
        passed = np.concatenate([np.zeros(1), self.cumulated])
        below, up_to = np.searchsorted(means, (mean - band, mean + band))
        return float(passed[below] + passed[up_to]) / 2.0


def listed_law(
    totals: Floats, sizes: Floats, mean_at: Callable[[Floats], Floats] = lambda means: means
) -> IdealLaw:
    """List all multisets of n draws of totals and sizes, each with its multinomial probability."""
    n = totals.shape[0]
    drawn = np.array(list(itertools.combinations_with_replacement(range(n), n)))
    repeats = np.array([math.factorial(k) for k in range(n + 1)], dtype=np.float64)
    counts = (drawn[:, :, None] == np.arange(n)).sum(axis=1)
    masses = math.factorial(n) / n**n / np.prod(repeats[counts], axis=1)
    ratios = counts @ totals / (counts @ sizes)
    order = np.argsort(ratios)
    each = mean_at(totals / sizes)
    return IdealLaw(
        ratios[order], np.cumsum(masses[order]), mean_at, True, float(each.min()), float(each.max())
    )


def lattice_ratio_law(totals: Floats, sizes: Floats, eps: float, backend: Backend) -> IdealLaw | None:
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
    length = _power_of_two(2.0 * _REACH * float(np.std(packed)) * math.sqrt(n) + 2.0 * room)
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
    return IdealLaw(
        ratios[order],
        np.cumsum(masses[kept][order]),
        lambda points: np.asarray(points * unit),
        True,
        float(each.min()),
        float(each.max()),
    )


def _are_multiples(values: Floats, multiples: NDArray[np.int64]) -> bool:
    """Whether each value is its multiple of the step to its own last digits: light units count in a ratio."""
    largest = int(np.argmax(np.abs(values)))
    if multiples[largest] == 0:
        return False
    found = multiples * (values[largest] / float(multiples[largest]))
    return bool((np.abs(found - values) <= _SAME * np.abs(values)).all())


def grid_law(values: Floats, backend: Backend, length: int | None = None) -> IdealLaw:
    """Return the law of the mean of the rounded values, its mean and spread put right afterwards.

    `length` is the number of points of the grid.
    """
    unit = int(np.frexp(np.max(np.abs(values)))[1])
    scaled = np.ldexp(values, -unit)
    n = scaled.shape[0]
    mean, spread = float(np.mean(scaled)), float(np.std(scaled))
    length = length or (_FINE_GRID if n < _MANY else _GRID_OF_MANY)
    steps = _grid_steps(scaled, length)
    first, cumulated = _sum_law(steps, length, backend)
    # The mass of a grid point stretches half a step to either side of it.
    edges = np.asarray(first + np.arange(cumulated.shape[0]) + 0.5, dtype=np.float64)
    centre, ratio = np.mean(steps), spread / np.std(steps)
    return IdealLaw(
        edges,
        cumulated,
        lambda sums: np.ldexp(mean + (sums / n - centre) * ratio, unit),
        False,
        float(values.min()),
        float(values.max()),
    )


def grid_error(values: Floats, length: int) -> float:
    """Return by how much the mean of draws can differ from that of the rounded values: half a step, and five
    standard deviations of what rounding adds up to."""
    unit = int(np.frexp(np.max(np.abs(values)))[1])
    scaled = np.ldexp(values, -unit)
    n, centred = len(scaled), scaled - float(np.mean(scaled))
    steps = _grid_steps(scaled, length)
    placed = (steps - np.mean(steps)) * (float(np.std(scaled)) / float(np.std(steps)))
    half = _REACH * float(np.std(scaled)) / math.sqrt(n) / length
    return math.ldexp(half + 5.0 * float(np.std(centred - placed)) / math.sqrt(n), unit)


def _grid_steps(values: Floats, length: int) -> NDArray[np.int64]:
    width = 2.0 * _REACH * float(np.std(values)) * math.sqrt(len(values)) / length
    return np.asarray(np.rint((values - float(np.mean(values))) / width).astype(np.int64))


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
