"""Bringing numbers of extreme size to where their sums, squares and products stay within the range."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_EXTREME = 500
_EXTREME_TOTAL = 900


def extreme_exponent(values: Floats, *others: float, weight: float = 1.0) -> int:
    """Return e such that values · 2^-e are of moderate size; 0 where they are already.

    Parameters
    ----------
    values : numpy.ndarray of float64, shape (n,)
        Finite.
    others : float
        More numbers in the same unit.
    weight : float
        The sum of what the values are multiplied with.

    Examples
    --------
    >>> extreme_exponent(np.array([0.5, -1e10])), extreme_exponent(np.array([1e300, 2.0**1000]))
    (0, 1001)
    """
    largest = max(float(np.abs(values).max(initial=0.0)), *map(abs, others), 0.0)
    if largest == 0.0:
        return 0
    exponent = math.frexp(largest)[1]
    moderate = abs(exponent) <= _EXTREME and abs(exponent + math.frexp(weight)[1]) <= _EXTREME_TOTAL
    return 0 if moderate else exponent


def extreme_exponents(largest: Floats) -> NDArray[np.int64]:
    """Return `extreme_exponent` of samples whose largest value in size is given."""
    exponents = np.frexp(largest)[1].astype(np.int64)
    return np.asarray(np.where(np.abs(exponents) <= _EXTREME, 0, exponents))


def exponents_of(largest: Floats, weight: float = 1.0) -> NDArray[np.int64] | None:
    """Return `extreme_exponent` of samples whose largest value in size is given; None where all are 0."""
    exponents = np.frexp(largest)[1].astype(np.int64)
    with_weight = np.abs(exponents + math.frexp(weight)[1])
    extreme = (np.abs(exponents) > _EXTREME) | (with_weight > _EXTREME_TOTAL)
    extreme &= largest > 0.0
    return np.where(extreme, exponents, 0) if extreme.any() else None


def scaled_back(value: float, exponent: int) -> float:
    """Return value · 2^exponent; infinite beyond the range.

    Examples
    --------
    >>> scaled_back(0.5, 3), scaled_back(-1.0, 2000)
    (4.0, -inf)
    """
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(value, exponent))
