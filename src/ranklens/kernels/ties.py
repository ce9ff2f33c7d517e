"""Sums that should be equal and differ in their last bits: how comparisons of them stay right.

Where the differences are whole multiples of a step they become integers, whose sums are exact in any order.
Elsewhere two sums count as equal when they differ by at most 8 eps Σ|d|: a band relative to the size of the
terms, so that no scaling of the differences changes a verdict, and not to the observed sum, which cancels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ranklens.arrays import namespace

SCALES = (
    1,
    2,
    4,
    5,
    8,
    10,
    16,
    20,
    25,
    32,
    50,
    64,
    100,
    128,
    200,
    250,
    256,
    500,
    1000,
    2000,
    2520,
    5000,
    10000,
)
"""Steps per unit that are tried: dyadic and decimal cutoffs, rounded scores, reciprocal ranks to depth 10."""

LATTICE_SLACK = 4.0
BAND = 8.0
# Above the first multiply by the second, below the third by the fourth.
_SAFE64 = (2.0**500, 2.0**-600, 2.0**-500, 2.0**600)
_SAFE32 = (2.0**60, 2.0**-80, 2.0**-40, 2.0**100)


class Comparable(NamedTuple):
    """Differences times `factor`, whose sums can be compared; shapes (..., n), (...) and (...).

    `exact` says that they are integers with exact sums.
    """

    values: Any
    factor: Any
    exact: Any


def comparable(deltas: Any, scales: tuple[int, ...] = SCALES) -> Comparable:
    """Bring differences of shape (..., n) to the coarsest of `scales` that fits each row.

    Rows that no scale fits are multiplied by a power of two, if need be, so that no sum over- or underflows.
    """
    xp = namespace(deltas)
    largest = xp.max(xp.abs(deltas), axis=-1)
    factor = safe_factor(largest)
    values = deltas * factor[..., None]
    exact = xp.zeros_like(largest, dtype=xp.bool)
    for scale in reversed(scales):
        multiples, fits = lattice_multiples(deltas, largest, scale)
        values = xp.where(fits[..., None], multiples, values)
        factor = xp.where(fits, 1.0 * scale, factor)
        exact = exact | fits
    return Comparable(values, factor, exact)


def lattice_multiples(deltas: Any, largest: Any, scale: int) -> tuple[Any, Any]:
    """Return ``deltas * scale`` rounded to integers, and whether that is what each row holds.

    A difference of two values of size 1 carries a rounding error of eps / 2 however small it is itself, so a
    difference is a multiple of the step when it is one to within 4 eps · max(1, max|d|). A row of multiples
    that are all 0, or whose sums could leave the exact integers, does not fit.
    """
    xp = namespace(deltas)
    eps = xp.finfo(deltas.dtype).eps
    scaled = deltas * scale
    multiples = xp.round(scaled)
    slack = xp.where(largest > 1.0, largest, 1.0) * (LATTICE_SLACK * eps * scale)
    error = xp.max(xp.abs(scaled - multiples), axis=-1)
    summable = largest * (scale * deltas.shape[-1]) < 2.0 / eps
    return multiples, (error <= slack) & summable & xp.any(multiples != 0.0, axis=-1)


def safe_factor(largest: Any) -> Any:
    """Return a power of two that keeps sums from over- and underflowing; 1 for all ordinary magnitudes."""
    xp = namespace(largest)
    wide = xp.finfo(largest.dtype).bits == 64
    high, down, low, up = _SAFE64 if wide else _SAFE32
    factor = xp.where(largest > high, down, xp.ones_like(largest))
    return xp.where((largest < low) & (largest > 0.0), up, factor)


def reach(values: Any, exact: Any) -> Any:
    """Return how far a sum may fall short of the observed one and still count as equal to it, shape (...)."""
    xp = namespace(values)
    eps = xp.finfo(values.dtype).eps
    return xp.where(exact, 0.5, BAND * eps * xp.sum(xp.abs(values), axis=-1))
