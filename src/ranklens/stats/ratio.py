"""A mean of values by query under a design: the ratio of the units' totals to their sizes, and its spread."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.moments import effect_size, mean, spread
from ranklens.stats.scaling import extreme_exponent, scaled_back
from ranklens.stats.units import Units

Floats = NDArray[np.float64]


def mean_of(values: Floats, units: Units | None = None) -> float:
    """Return Σ weight · value / Σ weight, by exactly rounded sums; the plain mean without units.

    Examples
    --------
    >>> mean_of(np.array([1.0, 2.0]), Units.of(np.array([3.0, 1.0]), None))
    1.25
    """
    if units is None:
        return mean(values)
    weight = math.fsum(units.sizes.tolist())
    exponent = extreme_exponent(values, weight=weight)
    totals = units.totals(np.ldexp(values, -exponent))
    return scaled_back(math.fsum(totals.tolist()) / weight, exponent) + 0.0


def standard_error(deltas: Floats, units: Units | None = None, *, size: float = 0.0) -> float | None:
    """Return the standard error of the mean difference; None with fewer than two units.

    Without units this is the standard deviation (ddof 1) over √n. A ratio r of totals x to sizes y has, to
    first order, √(m / (m - 1) · Σ(x - r y)²) / Σy over m units (Cochran 1977, "Sampling techniques", ch. 6).
    `size` is the largest of the values that were subtracted: their rounding is relative to it.

    Examples
    --------
    >>> standard_error(np.array([1.0, 2.0, 4.0, 5.0]))
    0.9128709291752769
    """
    if units is None:
        return None if len(deltas) < 2 else spread(deltas, size=size) / math.sqrt(len(deltas))
    if units.n < 2:
        return None
    weight = math.fsum(units.sizes.tolist())
    exponent = extreme_exponent(deltas, size, weight=weight)
    scaled = np.ldexp(deltas, -exponent)
    residuals = units.totals(scaled) - mean_of(scaled, units) * units.sizes
    largest = max(float(np.abs(scaled).max(initial=0.0)), math.ldexp(size, -exponent))
    # The residuals have mean 0, so that their spread is their size.
    sd = spread(residuals, size=largest * float(units.sizes.max()))
    return scaled_back(sd / weight * math.sqrt(units.n), exponent)


def effect_of(deltas: Floats, units: Units | None = None, *, size: float = 0.0) -> float | None:
    """Return the mean difference over the standard deviation between queries; None without spread.

    With weights both are weighted, the variance by n / (n - 1) larger than Σw(d - mean)²/Σw over the n
    queries of positive weight. Clusters do not enter: the effect speaks of a query.

    Examples
    --------
    >>> effect_of(np.array([1.0, 2.0, 3.0]))
    2.0
    """
    if units is None or not units.is_weighted:
        return effect_size(deltas, size=size)
    counted = units.place >= 0
    exponent = extreme_exponent(deltas, size, weight=math.fsum(units.sizes.tolist()))
    if exponent:
        return effect_of(np.ldexp(deltas, -exponent), units, size=math.ldexp(size, -exponent))
    weights, kept = units.weights[counted], deltas[counted]
    if len(kept) < 2 or spread(kept, size=size) == 0.0:
        return None
    centre = mean_of(deltas, units)
    scale = float(np.abs(kept - centre).max())
    squares = math.fsum((weights * ((kept - centre) / scale) ** 2).tolist()) / math.fsum(weights.tolist())
    return centre / (scale * math.sqrt(squares * len(kept) / (len(kept) - 1)))
