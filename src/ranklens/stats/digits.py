"""Rounding to fifteen significant decimal digits, what every double holds of a decimal number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DIGITS = 15
# Beyond 10^22 powers of ten are not doubles.
_POWERS: Floats = np.array([10.0**k for k in range(23)])
_SPLITTER = 2.0**27 + 1.0


def to_15_digits(value: float) -> float:
    """Round so that products that decimal arithmetic calls equal are equal.

    They differ in the 16th or 17th digit only.

    Examples
    --------
    >>> 0.1 * 3, to_15_digits(0.1 * 3)
    (0.30000000000000004, 0.3)
    """
    return float(f"{value:.15g}")


def all_to_15_digits(values: Floats) -> Floats:
    """Do so for numbers of at least 0, shape (n,), to the same bits.

    A number x between 10^-7 and 10^15 becomes the nearest integer to 10^k x, over 10^k, the product being
    known exactly as the sum of two doubles (Dekker 1971).
    """
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log10(values))
    k = _DIGITS - 1 - exponent
    plain = (k >= 0) & (k < len(_POWERS))
    power: Floats = _POWERS[np.where(plain, k, 0).astype(np.int64)]
    product, lost = _exact_product(np.where(plain, values, 0.0), power)
    # Where the logarithm was rounded to the next integer there is a digit too few or too many.
    plain &= (product >= _POWERS[_DIGITS - 1]) & (product < _POWERS[_DIGITS])
    rounded = _nearest_integer(product, lost) / power
    others = np.flatnonzero(~plain)
    rounded[others] = [to_15_digits(value) for value in values[others].tolist()]
    return rounded


def _exact_product(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return x y rounded, and what the rounding took away."""
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def _halves(x: Floats) -> tuple[Floats, Floats]:
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high


def _nearest_integer(high: Floats, low: Floats) -> Floats:
    """Round high + low to an integer, halves to an even one."""
    near = np.rint(high)
    away = high - near
    above, below = (away - 0.5) + low, (away + 0.5) + low
    odd = near % 2.0 != 0.0
    up = (above > 0.0) | ((above == 0.0) & odd)
    down = (below < 0.0) | ((below == 0.0) & odd)
    return np.asarray(near + up - down)
