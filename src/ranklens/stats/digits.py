"""Rounding to fifteen significant decimal digits, what every double holds of a decimal number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut

Floats = NDArray[np.float64]

_DIGITS = 15
_LEAST, _BEYOND = 10.0 ** (_DIGITS - 1), 10.0**_DIGITS
# Beyond 10^22 powers of ten are not doubles, but nearly the sum of two.
_POWERS: Floats = np.array([float(10**k) for k in range(291)])
_REST_OF_POWERS: Floats = np.array([float(10**k - int(float(10**k))) for k in range(291)])
_LARGEST_PLAIN = 22
_SPLITTER = 2.0**27 + 1.0
# Bounds, wide ones, on what sums of two doubles lose of a quotient, relatively, and of a product's fraction.
_SLACK, _OPEN = 2.0**-96, 2.0**-40
# As many at a time as stay in the cache.
_AT_ONCE = 1 << 13


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

    A number x becomes the nearest integer to 10^k x, over 10^k, both of which are known to twice a double's
    digits. What these leave open, and what is smaller than 10^-275, is written out in decimals.
    """
    found = np.empty(len(values))
    for part in cut(range(len(values)), _AT_ONCE):
        some = slice(part.start, part.stop)
        found[some] = _rounded(values[some])
    return found


def _rounded(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        k = _DIGITS - 1 - np.floor(np.log10(values))
    power: Floats = _POWERS[np.clip(k, 0.0, _LARGEST_PLAIN).astype(np.intp)]
    product = values * power
    others = np.flatnonzero(~_has_15_digits(product))
    near = np.rint(product)
    # What the product has lost is less than the step of its fraction, so that it decides halves only.
    half = np.flatnonzero(np.abs(product - near) == 0.5)
    if half.size:
        lost = _lost(values[half], power[half], product[half])
        near[half] = np.where(lost == 0.0, near[half], product[half] + np.copysign(0.5, lost))
    rounded = np.divide(near, power, out=near)
    if others.size:
        rounded[others] = _rounded_small(values[others], k[others])
    return rounded


def _has_15_digits(product: Floats) -> NDArray[np.bool_]:
    """Whether there is no digit too few or too many, as where the logarithm was rounded to an integer."""
    return np.asarray((product >= _LEAST) & (product < _BEYOND))


def _rounded_small(values: Floats, k: Floats) -> Floats:
    """Round numbers whose powers of ten are not doubles."""
    place = np.clip(k, 0.0, len(_POWERS) - 1.0).astype(np.intp)
    power, rest = _POWERS[place], _REST_OF_POWERS[place]
    product = values * power
    near = np.rint(product)
    away = (product - near) + (_lost(values, power, product) + values * rest)
    near += np.rint(away)
    quotient = near / power
    again = quotient * power
    more = ((near - again) - _lost(quotient, power, again) - quotient * rest) / power
    lower, upper = quotient + (more - quotient * _SLACK), quotient + (more + quotient * _SLACK)
    known = _has_15_digits(product) & (np.abs(np.abs(away) - 0.5) > _OPEN) & (lower == upper)
    unknown = np.flatnonzero(~known)
    lower[unknown] = [to_15_digits(value) for value in values[unknown].tolist()]
    return lower


def _lost(x: Floats, y: Floats, product: Floats) -> Floats:
    """Return x y less its rounded value, which is a double (Dekker 1971)."""
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    return ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def _halves(x: Floats) -> tuple[Floats, Floats]:
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high
