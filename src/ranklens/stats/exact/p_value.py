"""The p-value of the sign-flip test over all 2^n sign assignments, computed and not sampled."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranklens.arrays import Backend, resolve_backend, to_host
from ranklens.stats.exact.ladder import estimated_seconds, tail_mass
from ranklens.stats.exact.tail import FlipTail, Mass, SignedSums, signed_sums
from ranklens.stats.options import ALTERNATIVES, check_choice
from ranklens.stats.sample import as_sample, eps_of, require_finite

CLOSED_FORM = "closed form"
"""The step's name where the observed sum is no more extreme than any other."""

_LOG10_2 = math.log10(2.0)
_FLIPPING_SECONDS, _SECONDS_PER_DIFFERENCE = 1e-4, 4.5e-6
"""Of 10,000 flips."""

_UNNOTICED_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class ExactP:
    """A p-value without Monte-Carlo noise.

    Attributes
    ----------
    p_value : float
        Never 0: below the smallest normal number it stays there.
    p_error : float
        A bound of its absolute error; 0 where subsets were counted.
    log10_p : float
        Its logarithm, which goes on below the smallest normal number.
    step : str
        How it was computed: ``"closed form"``, ``"subset count"``, ``"lattice convolution"``, ``"meet in the
        middle"``, ``"characteristic function"`` or ``"tilted characteristic function"``.
    """

    p_value: float
    p_error: float
    log10_p: float
    step: str


def exact_p_value(deltas: Any, alternative: str = "two-sided") -> ExactP:
    """Compute the sign-flip p-value over all sign assignments.

    ``p = #{sign assignments at least as extreme as the observed one} / 2^n``. Zero differences change nothing
    and are dropped; sums that differ by at most 8 · eps · Σ|d| tie.

    Parameters
    ----------
    deltas : sequence or array, shape (n,)
        Per-query differences B - A; finite. Arrays are worked on where they lie. float32 and narrower arrays
        are compared with the tie band of their own type.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        ``"greater"`` tests for B above A.

    Returns
    -------
    ExactP

    Raises
    ------
    ValueError
        For values that are not finite, another shape, or an unknown alternative.

    Notes
    -----
    The first of these that is cheap enough is taken: counting on a lattice; counting the few subsets of |d|
    that fit on the losing side; meeting in the middle up to 44 differences; Fourier inversion, exponentially
    tilted below 1e-6. The last two carry the error bound that was reached.

    Examples
    --------
    >>> exact_p_value([0.1, 0.2, 0.3, -0.2, 0.1, 0.3, -0.1, 0.2]).p_value
    0.171875
    >>> exact_p_value([0.1, 0.2, -0.3], "greater").p_value
    0.625
    >>> round(exact_p_value([0.5] * 2000).log10_p, 4)
    -601.759
    """
    check_choice("alternative", alternative, ALTERNATIVES)
    backend = resolve_backend(deltas)
    with backend.precise():
        sums = _sums(deltas, backend)
        return _CERTAIN if sums is None else _p_value(sums, alternative, backend)


def exact_is_cheap(deltas: Any) -> bool:
    """Whether the exact p-value costs no more than 10,000 sign flips, or at most 5 ms, which nobody notices.

    Parameters
    ----------
    deltas : sequence or array, shape (n,)
        As for `exact_p_value`.

    Examples
    --------
    >>> exact_is_cheap([0.1, 0.2, -0.3, 0.0])
    True
    """
    backend = resolve_backend(deltas)
    with backend.precise():
        sums = _sums(deltas, backend)
    if sums is None:
        return True
    tail = FlipTail(sums, strict=False)
    flipping = _FLIPPING_SECONDS + _SECONDS_PER_DIFFERENCE * tail.n
    return bool(estimated_seconds(tail) <= max(flipping, _UNNOTICED_SECONDS))


def _sums(deltas: Any, backend: Backend) -> SignedSums | None:
    (host,) = to_host(as_sample(deltas, backend, minimum=1))
    require_finite(host)
    host = np.asarray(host, dtype=np.float64)
    return signed_sums(host, eps_of(deltas, backend)) if host.any() else None


def _p_value(sums: SignedSums, alternative: str, backend: Backend) -> ExactP:
    if alternative == "two-sided":
        if abs(sums.observed) <= sums.band:
            return _CERTAIN
        mass = tail_mass(FlipTail(sums, strict=False), backend)
        return _finish(mass._replace(ways=2 * mass.ways, error=2 * mass.error))
    signed = sums.observed if alternative == "greater" else -sums.observed
    if signed > sums.band:
        return _finish(tail_mass(FlipTail(sums, strict=False), backend))
    return _finish(_complement(tail_mass(FlipTail(sums, strict=True), backend)))


def _complement(mass: Mass) -> Mass:
    if isinstance(mass.ways, int):
        return mass._replace(ways=2**mass.exponent - mass.ways)
    error = math.ldexp(mass.error, -mass.exponent)
    return Mass(1.0 - math.ldexp(mass.ways, -mass.exponent), 0, error, mass.step)


def _finish(mass: Mass) -> ExactP:
    smallest = sys.float_info.min
    if isinstance(mass.ways, int):
        p = mass.ways / 2**mass.exponent
    else:
        p = min(math.ldexp(mass.ways, -mass.exponent), 1.0)
    log10_p = math.log10(mass.ways) - mass.exponent * _LOG10_2
    error = math.ldexp(mass.error, -mass.exponent)
    if p < smallest:
        p, error = smallest, smallest
    return ExactP(p, error, min(log10_p, 0.0), mass.step)


_CERTAIN = ExactP(1.0, 0.0, 0.0, CLOSED_FORM)
