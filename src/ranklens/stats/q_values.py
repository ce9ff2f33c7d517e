"""From the p-values of a family to q-values: what each p-value is worth among so many."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any

from ranklens.arrays import is_array, to_host

_ULPS = 4 * sys.float_info.epsilon


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the q-values of Benjamini and Hochberg: rejecting q < a bounds the false discovery rate by a.

    With the p-values sorted, ``q(i) = min over j >= i of (m / j) p(j)``, capped at 1. Values that are equal
    up to rounding are made equal, so that a verdict ``q < alpha`` never hangs on the last bit.

    Parameters
    ----------
    p_values : sequence of float
        The m p-values of one family, shape (m,), in any order. A value at most 4 ulp above 1 counts as 1.

    Returns
    -------
    tuple of float
        The q-values in the order of the input; empty for an empty input.

    Raises
    ------
    ValueError
        For NaN or a value outside [0, 1]; the message names its position.

    References
    ----------
    Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, J. R. Statist. Soc. B 57 (1995).

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.5])
    (0.03, 0.06, 0.5)
    """
    return _step_up(checked_p_values(p_values), 1.0)


def benjamini_yekutieli(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the q-values of Benjamini and Yekutieli, whose bound holds however the tests depend on another.

    Those of `benjamini_hochberg` times ``1 + 1/2 + ... + 1/m``, capped at 1.

    Parameters
    ----------
    p_values : sequence of float
        The m p-values of one family, shape (m,), in any order. A value at most 4 ulp above 1 counts as 1.

    Returns
    -------
    tuple of float
        The q-values in the order of the input; empty for an empty input.

    Raises
    ------
    ValueError
        For NaN or a value outside [0, 1]; the message names its position.

    References
    ----------
    Y. Benjamini and D. Yekutieli, The control of the false discovery rate in multiple testing under
    dependency, Annals of Statistics 29 (2001).

    Examples
    --------
    >>> benjamini_yekutieli([0.01, 0.04, 0.5])
    (0.055, 0.11, 0.916666666666667)
    """
    p = checked_p_values(p_values)
    return _step_up(p, harmonic_number(len(p)))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return Holm's adjusted p-values: rejecting q < a bounds the chance of any false rejection by a.

    With the p-values sorted, ``q(i) = max over j <= i of (m - j + 1) p(j)``, capped at 1.

    Parameters
    ----------
    p_values : sequence of float
        The m p-values of one family, shape (m,), in any order. A value at most 4 ulp above 1 counts as 1.

    Returns
    -------
    tuple of float
        The adjusted p-values in the order of the input; empty for an empty input.

    Raises
    ------
    ValueError
        For NaN or a value outside [0, 1]; the message names its position.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6 (1979).

    Examples
    --------
    >>> holm([0.01, 0.02, 0.03])
    (0.03, 0.04, 0.04)
    """
    p = checked_p_values(p_values)
    q = [1.0] * len(p)
    largest = 0.0
    for place, i in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        remaining = len(p) - place
        candidate = p[i] if remaining == 1 else to_15_digits(p[i] * remaining)
        if candidate > largest * (1.0 + _ULPS):
            largest = min(candidate, 1.0)
        q[i] = largest
    return tuple(q)


Q_VALUES: dict[str, Callable[[Sequence[float]], tuple[float, ...]]] = {
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
    "holm": holm,
}
"""The corrections of p-values by name."""


def smallest_factor(correction: str, n_comparisons: int) -> float:
    """Return what a correction multiplies the smallest p-value of a family by when all others are 1.

    Examples
    --------
    >>> smallest_factor("holm", 4), smallest_factor("by", 2)
    (4.0, 3.0)
    """
    return n_comparisons * (harmonic_number(n_comparisons) if correction == "by" else 1.0)


@functools.lru_cache(maxsize=64)
def harmonic_number(m: int) -> float:
    """Return 1 + 1/2 + ... + 1/m.

    Examples
    --------
    >>> harmonic_number(0), harmonic_number(2)
    (0.0, 1.5)
    """
    return math.fsum(1.0 / j for j in range(1, m + 1))


def checked_p_values(p_values: Any) -> list[float]:
    """Return p-values as floats between 0 and 1; ValueError names the position of any other."""
    if is_array(p_values):
        (p_values,) = to_host(p_values)
        if p_values.ndim != 1:
            shape = p_values.shape
            raise ValueError(
                f"p_values must be one-dimensional, got shape {shape}; pass one family at a time"
            )
    if isinstance(p_values, str) or not isinstance(p_values, Iterable):
        raise TypeError(f"p_values must be a sequence of p-values, got {p_values!r}")
    checked = []
    for i, value in enumerate(p_values):
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"p_values[{i}] must be a number in [0, 1], got {value!r}")
        p = float(value)
        if not 0.0 <= p <= 1.0 + _ULPS:
            raise ValueError(f"p_values[{i}] must lie in [0, 1], got {p!r}")
        checked.append(min(p, 1.0))
    return checked


def to_15_digits(value: float) -> float:
    """Round so that products that decimal arithmetic calls equal are equal.

    They differ in the 16th or 17th digit only.
    """
    return float(f"{value:.15g}")


def _step_up(p: list[float], factor: float) -> tuple[float, ...]:
    m = len(p)
    q = [1.0] * m
    smallest = math.inf
    for rank, i in zip(range(m, 0, -1), sorted(range(m), key=p.__getitem__, reverse=True), strict=True):
        multiple = factor * m / rank
        candidate = p[i] if multiple == 1.0 else min(to_15_digits(p[i] * multiple), 1.0)
        if candidate < smallest * (1.0 - _ULPS):
            smallest = candidate
        q[i] = smallest
    return tuple(q)
