"""Rows of a sample whose resampled sums give the resampled ratios and their standard errors."""

from __future__ import annotations

from typing import Any

from ranklens.arrays import device_of, namespace


def mean_rows(totals: Any, n: Any) -> Any:
    """Return e and e², shape (2, ...), with e the deviations of the first n totals from their mean."""
    xp = namespace(totals)
    place = xp.arange(totals.shape[0], dtype=xp.int64, device=device_of(totals))
    away = xp.where(place < n, totals - xp.sum(totals) / n, 0.0)
    return xp.stack([away, away * away])


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
