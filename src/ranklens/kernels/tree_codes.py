"""The codes of one feature's values: which of a tree's thresholds or categories they lie between or are."""

from __future__ import annotations

from typing import Any

from ranklens.arrays import namespace

ZERO_WIDTH = 1.0000000180025095e-35
"""Magnitudes up to float32(1e-35) are zeros to LightGBM."""


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


def category_codes(values: Any, categories: Any) -> Any:
    """Return 0 for NaN, 1 + i for the i-th of the sorted `categories`, and 1 + their number for others.

    A value counts as the integer towards zero.
    """
    xp = namespace(values)
    n = categories.shape[0]
    whole = xp.trunc(values)
    place = xp.clip(xp.searchsorted(categories, whole, side="left"), max=n - 1)
    codes = xp.where(xp.take(categories, place) == whole, place + 1, n + 1)
    return xp.where(xp.isnan(values), 0, codes)
