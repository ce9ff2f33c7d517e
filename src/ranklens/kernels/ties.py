"""Sums that should be equal and differ in their last bits: how comparisons of them stay right.

Where the differences are whole multiples of a step they become integers, whose sums are exact in any order.
Elsewhere two sums count as equal when they differ by at most 8 eps Σ|d|: a band relative to the size of the
terms, so that no scaling of the differences changes a verdict, and not to the observed sum, which cancels.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ranklens.arrays import backend_of, cut, device_of, namespace, rows_within
from ranklens.arrays.parts import where_needed

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
"""Steps per unit that are tried, coarsest first: dyadic and decimal cutoffs, rounded scores, and 2520 for
reciprocal ranks to depth 10."""

BAND = 8.0
"""Sums that differ by this much eps Σ|d| count as equal."""
ROUNDING_SLACK = 4.0
"""By how much eps · max(1, max|d|) each difference may miss a multiple."""
_WIDEST_SLACK = 0.05
"""In steps: beyond it anything could pass for a multiple."""
BAND_SLACK = 3.4
"""How much eps Σ|d| multiples may move a sum: half of the band, less the rounding of products."""
LARGEST_ON_LATTICE = 2.0**53
_MOST_STEPS = 2.0**49
"""The largest sum of multiples whose step is wider than the band."""
EXACT_BAND = 0.5
"""Between integers, whose sums are exact."""
_FLOAT_BYTES = 8
_SPLITTER = 2.0**13 + 1.0
_EPS_OF_FLOAT32 = 2.0**-23
# Temporaries of one scale, in units of the differences.
_FIT_COPIES = 4
# Above the first multiply by the second, below the third by the fourth.
_SAFE64 = (2.0**500, 2.0**-600, 2.0**-500, 2.0**600)
_SAFE32 = (2.0**60, 2.0**-80, 2.0**-40, 2.0**100)


class Comparable(NamedTuple):
    """Differences times `factor`, whose sums can be compared; shapes (..., n), (...) and (...).

    A sum that falls short of the observed one by no more than `band` counts as equal to it.
    """

    values: Any
    factor: Any
    band: Any


def comparable(deltas: Any, eps: float) -> Comparable:
    """Bring differences of shape (..., n) to the coarsest lattice that fits each row.

    Rows that none fits are multiplied by a power of two, if need be, so that no sum over- or underflows.
    `eps` is that of the type in which the differences were computed.
    """
    xp = namespace(deltas)
    largest = xp.max(xp.abs(deltas), axis=-1)
    scale = lattice_scale(deltas, largest, eps)
    exact = scale < math.inf
    factor = xp.where(exact, scale, safe_factor(largest))
    scaled = deltas * factor[..., None]
    values = xp.where(exact[..., None], xp.round(scaled), scaled)
    return Comparable(values, factor, xp.where(exact, EXACT_BAND, tie_band(values, eps)))


def lattice_scale(deltas: Any, largest: Any, eps: float) -> Any:
    """Return the coarsest of `SCALES` that fits each row, infinity where none does; shape (...)."""
    xp, device = namespace(deltas), device_of(deltas)
    scales = xp.asarray(SCALES, dtype=deltas.dtype, device=device)
    at_once = rows_within(_FIT_COPIES * _FLOAT_BYTES * math.prod(deltas.shape), len(SCALES), share=0.5)
    coarsest = xp.full_like(largest, math.inf)
    # Beyond 2^53 every float is an integer, and its multiples may overflow.
    modest = largest < LARGEST_ON_LATTICE
    deltas, largest = xp.where(modest[..., None], deltas, 0.0), xp.where(modest, largest, 0.0)
    unit = rounding_unit(deltas, eps)
    backend = backend_of(deltas)

    def fitting(few: Any) -> Any:
        return lattice_fits(deltas, largest, few, unit)

    def near(few: Any) -> Any:
        return may_fit(deltas, few, rounding_slack(deltas, unit))

    for some in cut(range(len(SCALES)), at_once):
        few = scales[some.start : some.stop]
        fits = where_needed(fitting, near, few, backend)
        few = xp.reshape(few, (-1, *[1] * largest.ndim))
        coarsest = xp.minimum(coarsest, xp.min(xp.where(fits, few, math.inf), axis=0))
    return coarsest


def lattice_fits(deltas: Any, largest: Any, scales: Any, eps: Any) -> Any:
    """Whether each row of `deltas` (..., n) holds multiples of one over each scale, shape (scales, ...).

    A difference of two values of size 1 carries a rounding error of eps / 2 however small it is itself, so
    differences are multiples where each is one to within 4 eps · max(1, max|d|), which must be a small part
    of the step, and none that is not zero becomes zero. They are as well, whatever becomes zero, where what
    all of one sign lack together is at most 3.4 eps Σ|d|: sums which the lattice makes equal then lie within
    the band of ties anyway. A row of multiples that are all 0, or whose sums could leave the exact integers,
    does not fit.
    """
    xp = namespace(deltas)
    scales = xp.reshape(scales, (-1, *[1] * largest.ndim))
    scaled = deltas * scales[..., None]
    multiples = xp.round(scaled)
    off = scaled - multiples
    error = xp.abs(off)
    own = xp.finfo(deltas.dtype).eps
    vanishes = xp.any((multiples == 0.0) != (deltas == 0.0), axis=-1)
    slack = (ROUNDING_SLACK * eps) * xp.where(largest > 1.0, largest, 1.0) * scales
    each = (xp.max(error, axis=-1) <= slack) & (slack <= _WIDEST_SLACK)
    moved = 0.5 * (xp.sum(error, axis=-1) + xp.abs(xp.sum(off, axis=-1)))
    within = moved <= xp.sum(xp.abs(multiples), axis=-1) * (BAND_SLACK * own)
    most = largest * scales
    summable = most * deltas.shape[-1] < min(2.0 / own, _MOST_STEPS)
    return (each & ~vanishes | within) & summable & (most > 0.5)


def may_fit(deltas: Any, scales: Any, slack: Any) -> Any:
    """Whether all differences of any row are near enough to multiples of each step, shape (scales,)."""
    xp = namespace(deltas)
    scales = xp.reshape(scales, (-1, *[1] * slack.ndim))
    scaled = deltas * scales[..., None]
    error = xp.max(xp.abs(scaled - xp.round(scaled)), axis=-1)
    return xp.any(xp.reshape(error <= slack * scales, (scales.shape[0], -1)), axis=-1)


def rounding_slack(deltas: Any, eps: Any) -> Any:
    """Bound by how much a difference may miss a multiple, shape (...); see `lattice_fits`."""
    xp = namespace(deltas)
    total = xp.sum(xp.abs(deltas), axis=-1)
    return xp.where(total > 1.0, total, 1.0) * (ROUNDING_SLACK * eps)


def rounding_unit(deltas: Any, eps: float) -> Any:
    """Return the rounding unit of the type that each row of `deltas` (..., n) came from, shape (...).

    Differences of float32 values that were widened before they were subtracted have at most 40 significant
    digits, but for 2^-20 of their range; those of float64 values have up to 53.
    """
    xp = namespace(deltas)
    # Veltkamp's splitting: what the leading 40 digits leave.
    spread = deltas * _SPLITTER
    is_narrow = xp.all(spread - (spread - deltas) == deltas, axis=-1)
    return xp.astype(is_narrow, deltas.dtype) * (max(eps, _EPS_OF_FLOAT32) - eps) + eps


def safe_factor(largest: Any) -> Any:
    """Return a power of two that keeps sums from over- and underflowing; 1 for all ordinary magnitudes."""
    xp = namespace(largest)
    wide = xp.finfo(largest.dtype).bits == 64
    high, down, low, up = _SAFE64 if wide else _SAFE32
    factor = xp.where(largest > high, down, xp.ones_like(largest))
    return xp.where((largest < low) & (largest > 0.0), up, factor)


def tie_band(values: Any, eps: float) -> Any:
    """Return 8 eps Σ|values|, shape (...)."""
    xp = namespace(values)
    return xp.sum(xp.abs(values), axis=-1) * (BAND * eps)
