"""Rows of a sample whose resampled sums give the resampled ratios and their standard errors."""

from __future__ import annotations

from typing import Any

from ranklens.arrays import namespace


def ratio_rows(totals: Any, sizes: Any) -> Any:
    """Return totals and sizes, shape (2, n)."""
    return namespace(totals).stack([totals, sizes])


def centred_rows(totals: Any, sizes: Any) -> Any:
    """Return e, y, e², ey and y², shape (5, n), with e = x - r y for totals x of ratio r to their sizes y.

    Zeros behind the sample stay zeros. In a resample Σe / Σy is how far its ratio lies from r, and the
    squares are what its own standard error is made of.
    """
    xp = namespace(totals)
    away = totals - xp.sum(totals) / xp.sum(sizes) * sizes
    return xp.stack([away, sizes, away * away, away * sizes, sizes * sizes])
