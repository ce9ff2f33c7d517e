"""The codes of features' values: which of a tree's thresholds or categories they lie between or are."""

from __future__ import annotations

from typing import Any, NamedTuple

from ranklens.arrays import device_of, namespace

ZERO_WIDTH = 1.0000000180025095e-35
"""Magnitudes up to float32(1e-35) are zeros to LightGBM."""


class ThresholdArrays(NamedTuple):
    """The thresholds of all features in one row.

    Attributes
    ----------
    thresholds : float64 array, shape (thresholds,)
    owner : int32 array, shape (thresholds,)
        The feature of each, ascending.
    first, last : int32 array, shape (features,)
        How many thresholds come before the feature's own, and before the next one's.
    n_special : int32 array, shape (features, 1)
        Codes that are not for numbers.
    zero : bool array, shape (features, 1)
        Whether code 1 is for zeros.
    """

    thresholds: Any
    owner: Any
    first: Any
    last: Any
    n_special: Any
    zero: Any


def threshold_codes(values: Any, tables: ThresholdArrays) -> Any:
    """Return `number_codes` of all features at once, as int32; `values` has shape (features, m)."""
    xp = namespace(values)
    above = xp.take(values, tables.owner, axis=0) > tables.thresholds[:, None]
    none = xp.zeros((1, values.shape[1]), dtype=xp.int32, device=device_of(values))
    before = xp.cumulative_sum(xp.astype(above, xp.int32), axis=0, dtype=xp.int32)
    before = xp.concat([none, before], axis=0)
    counts = xp.take(before, tables.last, axis=0) - xp.take(before, tables.first, axis=0)
    codes = xp.where(tables.zero & (xp.abs(values) <= ZERO_WIDTH), 1, counts + tables.n_special)
    return xp.where(xp.isnan(values), 0, codes)


def number_codes(values: Any, thresholds: Any, zero: bool) -> Any:
    """Return 0 for NaN, 1 for zeros if `zero`, else the special codes plus the thresholds below the value.

    `values` has shape (m,) and `thresholds` is sorted; both are float64.
    """
    xp = namespace(values)
    n_special = 2 if zero else 1
    codes = xp.searchsorted(thresholds, values, side="left") + n_special
    if zero:
        codes = xp.where(xp.abs(values) <= ZERO_WIDTH, 1, codes)
    return xp.where(xp.isnan(values), 0, codes)


def category_codes(values: Any, categories: Any, *, downwards: bool) -> Any:
    """Return 0 for NaN, 1 + i for the i-th of the sorted `categories`, and 1 + their number for others.

    A value counts as the integer towards zero, or the next lower one if `downwards`.
    """
    xp = namespace(values)
    n = categories.shape[0]
    whole = xp.floor(values) if downwards else xp.trunc(values)
    place = xp.minimum(xp.searchsorted(categories, whole, side="left"), n - 1)
    codes = xp.where(xp.take(categories, place) == whole, place + 1, n + 1)
    return xp.where(xp.isnan(values), 0, codes)
