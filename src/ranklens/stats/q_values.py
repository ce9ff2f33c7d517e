"""From the p-values of a family to q-values: what each p-value is worth among so many."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import is_array, to_host
from ranklens.stats.digits import all_to_15_digits

Floats = NDArray[np.float64]
Correction = Callable[[Sequence[float]], tuple[float, ...]]
Documented = TypeVar("Documented", bound=Callable[..., Any])

_ULPS = 4 * sys.float_info.epsilon


_SECTIONS = """Parameters
    ----------
    p_values : sequence of float
        The m p-values of one family, shape (m,), in any order. A value at most 4 ulp above 1 counts as 1.

    Returns
    -------
    tuple of float
        The q-values, which are adjusted p-values, in the order of the input; empty for an empty input.

    Raises
    ------
    ValueError
        For NaN or a value outside [0, 1]; the message names its position."""


def _with_sections(correction: Documented) -> Documented:
    """Say of a correction what holds for all of them."""
    # Under -OO there is nothing to say.
    if correction.__doc__ is not None:
        correction.__doc__ = correction.__doc__.replace("{sections}", _SECTIONS)
    return correction


@_with_sections
def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the q-values of Benjamini and Hochberg: rejecting q < a bounds the false discovery rate by a.

    With the p-values sorted, ``q(i) = min over j >= i of (m / j) p(j)``, capped at 1. Values that are equal
    up to rounding are made equal, so that a verdict ``q < alpha`` never hangs on the last bit.

    {sections}

    References
    ----------
    Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, J. R. Statist. Soc. B 57 (1995).

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.5])
    (0.03, 0.06, 0.5)
    """
    return _step_up(checked_p_values(p_values), 1.0)


@_with_sections
def benjamini_yekutieli(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the q-values of Benjamini and Yekutieli, whose bound holds however the tests depend on another.

    Those of `benjamini_hochberg` times ``1 + 1/2 + ... + 1/m``, capped at 1.

    {sections}

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


@_with_sections
def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return Holm's adjusted p-values: rejecting q < a bounds the chance of any false rejection by a.

    With the p-values sorted, ``q(i) = max over j <= i of (m - j + 1) p(j)``, capped at 1.

    {sections}

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6 (1979).

    Examples
    --------
    >>> holm([0.01, 0.02, 0.03])
    (0.03, 0.04, 0.04)
    """
    p = checked_p_values(p_values)
    order = np.argsort(p)
    candidates = _multiplied(p[order], np.arange(len(p), 0.0, -1.0))
    return _in_order(_running(candidates, np.maximum, 1.0 + _ULPS), order)


Q_VALUES: dict[str, Correction] = {
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


def checked_p_values(p_values: Any) -> Floats:
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
    p = _as_floats(p_values)
    wrong = np.flatnonzero(~((p >= 0.0) & (p <= 1.0 + _ULPS)))
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(f"p_values[{i}] must lie in [0, 1], got {float(p[i])!r}")
    return np.minimum(p, 1.0, out=p)


def _as_floats(p_values: Any) -> Floats:
    if isinstance(p_values, np.ndarray) and p_values.dtype.kind in "fiu":
        return p_values.astype(np.float64)
    values = list(p_values)
    # Most are floats, and a look at each type is quick.
    if set(map(type, values)) - {float}:
        for i, value in enumerate(values):
            if isinstance(value, bool) or not isinstance(value, Real):
                raise TypeError(f"p_values[{i}] must be a number in [0, 1], got {value!r}")
        values = [float(value) for value in values]
    return np.fromiter(values, dtype=np.float64, count=len(values))


def _step_up(p: Floats, factor: float) -> tuple[float, ...]:
    order = np.argsort(p)[::-1]
    ranks = np.arange(len(p), 0.0, -1.0)
    candidates = _multiplied(p[order], np.divide(factor * len(p), ranks, out=ranks))
    return _in_order(_running(candidates, np.minimum, 1.0 - _ULPS), order)


def _multiplied(p: Floats, multiples: Floats) -> Floats:
    """Return products of at most 1; those that decimal arithmetic calls equal are equal.

    Times 1 a value stays as it is.
    """
    once = np.flatnonzero(multiples == 1.0)
    found = all_to_15_digits(np.multiply(p, multiples, out=multiples))
    found[once] = p[once]
    return np.minimum(found, 1.0, out=found)


def _running(candidates: Floats, extreme: np.ufunc, factor: float) -> Floats:
    """Return the extreme of each value and all before it; one beyond it by rounding alone does not count.

    A value counts when it lies beyond `factor` times the former extreme.
    """
    found: Floats = extreme.accumulate(candidates)
    places = np.flatnonzero(found[1:] != found[:-1]) + 1
    steps = found[places]
    before = np.concatenate([found[:1], steps[:-1]])
    # Rounded to 15 digits, values that differ lie further apart, so that there are at most two of these.
    for i in np.flatnonzero(extreme(steps, before * factor) == before * factor).tolist():
        bound = before[i] * factor
        if steps[i] == bound or extreme(steps[i], bound) == bound:
            end = places[i + 1] if i + 1 < len(places) else len(found)
            found[places[i] : end] = before[i]
            before[i + 1 : i + 2] = before[i]
    return found


def _in_order(q: Floats, order: NDArray[np.int64]) -> tuple[float, ...]:
    placed = np.empty(len(q))
    placed[order] = q
    return tuple(placed.tolist())
