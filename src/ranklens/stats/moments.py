"""Mean, spread and counts of a sample of differences, at any scale."""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import to_host
from ranklens.stats.sample import check_deltas

ROUNDING = 8.0 * sys.float_info.epsilon
"""Relative size below which a difference is taken for rounding."""


class Outcomes(NamedTuple):
    """On how many queries B is above, equal to and below A."""

    wins: int
    ties: int
    losses: int


def standard_deviation(deltas: Any) -> float:
    """Return the standard deviation of the differences (ddof 1): what the power formulas ask for.

    Parameters
    ----------
    deltas : array or sequence of float, shape (n,)
        The per-query differences; at least two, all finite.

    Returns
    -------
    float
        In the measure's unit; exactly 0 when all differences are equal up to rounding.

    Raises
    ------
    InsufficientSampleError
        For fewer than two differences.
    ValueError
        For another shape, or a value that is not finite.

    Examples
    --------
    >>> standard_deviation([1.0, 2.0, 4.0, 5.0])
    1.8257418583505538
    """
    (values,) = to_host(check_deltas(deltas, minimum=2))
    return spread(np.asarray(values, dtype=np.float64))


def mean(values: NDArray[np.float64]) -> float:
    """Return the mean by an exactly rounded sum, and 0.0 rather than -0.0.

    Examples
    --------
    >>> mean(np.array([1e16, 1.0, -1e16]))
    0.3333333333333333
    """
    scale = _scale(values)
    return math.fsum((values / scale).tolist()) / len(values) * scale + 0.0


def spread(values: NDArray[np.float64], *, size: float = 0.0) -> float:
    """Return the standard deviation (ddof 1), and 0 for values that are equal up to rounding.

    `size` is the largest of the numbers that the values were computed from: their rounding is relative to it.

    Examples
    --------
    >>> spread(np.array([0.1 + 0.2, 0.3, 0.3])), spread(np.array([1e300, -1e300]))
    (0.0, 1.4142135623730952e+300)
    """
    scale = _scale(values)
    scaled = values / scale
    if float(scaled.max() - scaled.min()) <= ROUNDING * max(float(abs(scaled).max()), size / scale):
        return 0.0
    centred = scaled - math.fsum(scaled.tolist()) / len(scaled)
    return math.sqrt(math.fsum((centred * centred).tolist()) / (len(scaled) - 1)) * scale


def effect_size(deltas: NDArray[np.float64], *, size: float = 0.0) -> float | None:
    """Return mean / standard deviation (ddof 1); None without spread or with fewer than two values.

    `size` is the largest of the values that were subtracted, as for `spread`.

    Examples
    --------
    >>> effect_size(np.array([1.0, 2.0, 3.0])), effect_size(np.array([0.3, 0.3]))
    (2.0, None)
    """
    if len(deltas) < 2:
        return None
    scale = _scale(deltas)
    sd = spread(deltas / scale, size=size / scale)
    return None if sd == 0.0 else mean(deltas / scale) / sd


def outcomes(deltas: NDArray[np.float64], *, size: float = 0.0) -> Outcomes:
    """Count wins, ties and losses; a difference that is rounding alone is a tie.

    `size` is the largest of the values that were subtracted: their rounding is relative to it.

    Examples
    --------
    >>> outcomes(np.array([0.5, -0.25, 0.1 + 0.2 - 0.3]))
    Outcomes(wins=1, ties=1, losses=1)
    """
    band = ROUNDING * max(size, float(abs(deltas).max())) if len(deltas) else 0.0
    wins = int(np.count_nonzero(deltas > band))
    losses = int(np.count_nonzero(deltas < -band))
    return Outcomes(wins, len(deltas) - wins - losses, losses)


def _scale(values: NDArray[np.float64]) -> float:
    # A power of two, so that dividing by it and multiplying again are exact.
    largest = float(abs(values).max()) if len(values) else 0.0
    exponent = max(math.frexp(largest)[1], -1021)
    return math.ldexp(1.0, min(exponent, 1023)) if largest else 1.0
