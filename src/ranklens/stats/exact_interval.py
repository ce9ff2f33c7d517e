"""The percentile interval of the ideal bootstrap: infinitely many resamples, computed and not drawn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, resolve_backend, to_host
from ranklens.kernels.exact_resampling import resampled_law
from ranklens.stats.exact_steps import known_multiples
from ranklens.stats.options import ALTERNATIVES, check_choice
from ranklens.stats.power import check_alpha
from ranklens.stats.sample import as_sample, eps_of, require_finite

Floats = NDArray[np.float64]

_REACH = 9.0
_FINE_GRID, _GRID_OF_MANY, _MANY = 1 << 15, 1 << 14, 1000
_LONGEST_GRID = 1 << 16
_LISTED = 8
"""Up to so many differences every multiset of draws is listed: C(15, 8) = 6,435 at most."""

_SLACK = 1e-13


def exact_interval(deltas: Any, alpha: float = 0.05, alternative: str = "two-sided") -> tuple[float, float]:
    """Compute the percentile interval that a bootstrap with infinitely many resamples would give.

    The law of a resampled sum is the n-fold convolution of the sample's own law: one Fourier transform of the
    sample, a power, one transform back. On a lattice (P@10, RR to depth 10) the interval is exact; elsewhere
    it is read from a grid over 18 standard errors whose steps are a thousandth of one. Up to 8 differences
    every resample is listed.

    Parameters
    ----------
    deltas : sequence or array, shape (n,)
        Per-query differences B - A; finite.
    alpha : float, default 0.05
        One minus the confidence, between 0 and 1.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        One-sided intervals have one infinite end: the upper for ``"greater"``.

    Returns
    -------
    low, high : float
        The `alpha`/2 and 1 - `alpha`/2 quantiles of the resampled mean difference.

    Raises
    ------
    ValueError
        For an empty sample, values that are not finite, `alpha` outside (0, 1), or an unknown alternative.

    Examples
    --------
    >>> low, high = exact_interval([0.1, 0.0, -0.1, 0.3, 0.2, 0.1, 0.0, 0.4, 0.1, 0.2])
    >>> round(low, 12), round(high, 12)
    (0.04, 0.22)
    """
    check_alpha(alpha)
    check_choice("alternative", alternative, ALTERNATIVES)
    backend = resolve_backend(deltas)
    with backend.precise():
        (host,) = to_host(as_sample(deltas, backend, minimum=1))
        require_finite(host)
        ordered = np.sort(np.asarray(host, dtype=np.float64))
        tail = 0.5 * alpha if alternative == "two-sided" else alpha
        low, high = _ends(ordered, tail, eps_of(deltas, backend), backend)
    return (-math.inf if alternative == "less" else low), (math.inf if alternative == "greater" else high)


def _ends(ordered: Floats, tail: float, eps: float, backend: Backend) -> tuple[float, float]:
    """Return the `tail` and 1 - `tail` quantiles, without negative zeros."""
    mirrored = -ordered[::-1]
    turned = _precedes(mirrored, ordered)
    # One orientation for a sample and its negative, so that their intervals mirror each other bit for bit.
    sample = mirrored if turned else ordered
    low, high = _quantiles(sample, (tail, 1.0 - tail), eps, backend).tolist()
    return (0.0 - high, 0.0 - low) if turned else (low + 0.0, high + 0.0)


def _precedes(first: Floats, second: Floats) -> bool:
    differ = np.flatnonzero(first != second)
    return bool(differ.size) and bool(first[differ[0]] < second[differ[0]])


def _quantiles(ordered: Floats, levels: Sequence[float], eps: float, backend: Backend) -> Floats:
    n = ordered.shape[0]
    if ordered[0] == ordered[-1]:
        return np.full(len(levels), ordered[0])
    unit = int(np.frexp(max(-ordered[0], ordered[-1]))[1])
    scaled = np.ldexp(ordered, -unit)
    if n <= _LISTED:
        ends = _listed_quantiles(scaled, levels)
    elif (found := _lattice_quantiles(ordered, levels, eps, backend)) is not None:
        return np.clip(found, ordered[0], ordered[-1])
    else:
        ends = _grid_quantiles(scaled, levels, backend)
    return np.ldexp(np.clip(ends, scaled[0], scaled[-1]), unit)


def _listed_quantiles(values: Floats, levels: Sequence[float]) -> Floats:
    """Read quantiles from the list of all multisets of n draws, each with its multinomial probability."""
    n = values.shape[0]
    drawn = np.array(list(itertools.combinations_with_replacement(range(n), n)))
    repeats = np.array([math.factorial(k) for k in range(n + 1)], dtype=np.float64)
    counts = (drawn[:, :, None] == np.arange(n)).sum(axis=1)
    masses = math.factorial(n) / n**n / np.prod(repeats[counts], axis=1)
    means = counts @ values / n
    order = np.argsort(means)
    cumulated = np.cumsum(masses[order])
    return np.array([means[order][_first_at(cumulated, level)] for level in levels])


def _lattice_quantiles(
    values: Floats, levels: Sequence[float], eps: float, backend: Backend
) -> Floats | None:
    """Read quantiles from the exact law on a lattice; None without one, or when it needs too long a grid."""
    multiples = known_multiples(values, eps)
    if multiples is None:
        return None
    n = values.shape[0]
    steps = multiples // np.gcd.reduce(multiples)
    length = _power_of_two(2.0 * _REACH * float(np.std(steps)) * math.sqrt(n) + 8.0)
    if length > _LONGEST_GRID:
        return None
    first, cumulated = _sum_law(steps, length, backend)
    sums = np.array([first + _first_at(cumulated, level) for level in levels], dtype=np.float64)
    largest = int(np.argmax(np.abs(steps)))
    return np.asarray(sums * values[largest] / float(steps[largest]) / n)


def _grid_quantiles(values: Floats, levels: Sequence[float], backend: Backend) -> Floats:
    """Read quantiles from the law of the rounded sample, its mean and spread put right afterwards."""
    n = values.shape[0]
    mean, spread = float(np.mean(values)), float(np.std(values))
    length = _FINE_GRID if n < _MANY else _GRID_OF_MANY
    width = 2.0 * _REACH * spread * math.sqrt(n) / length
    steps = np.rint((values - mean) / width).astype(np.int64)
    first, cumulated = _sum_law(steps, length, backend)
    # The mass of a grid point stretches half a step to either side of it.
    edges = first + np.arange(cumulated.shape[0]) + 0.5
    sums = np.interp(levels, cumulated, edges)
    return np.asarray(mean + (sums / n - np.mean(steps)) * (spread / np.std(steps)))


def _sum_law(steps: NDArray[np.int64], length: int, backend: Backend) -> tuple[int, Floats]:
    """Return the cumulated law of the sum of n draws from `steps`, and the sum at which it begins."""
    n = steps.shape[0]
    masses = np.bincount(steps % length, minlength=length) / n
    (law,) = to_host(resampled_law(backend.asarray(masses), n))
    first = int(np.rint(steps.mean() * n)) - length // 2
    cumulated = np.cumsum(np.maximum(np.roll(law, -(first % length)), 0.0))
    return first, np.maximum.accumulate(cumulated / cumulated[-1])


def _first_at(cumulated: Floats, level: float) -> int:
    position = int(np.searchsorted(cumulated, level - _SLACK))
    return min(position, len(cumulated) - 1)


def _power_of_two(minimum: float) -> int:
    return 1 << max(3, math.ceil(math.log2(minimum)))
