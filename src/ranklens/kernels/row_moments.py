"""What describes each row of a batch of differences."""

from __future__ import annotations

from typing import Any

from ranklens.arrays import device_of, namespace

COLUMNS = ("smallest", "largest", "total", "squares", "wins", "losses")
"""What `row_moments` gives, in its order."""


def row_moments(values: Any, rounding: float, n: Any = None) -> Any:
    """Return the extremes, the sum, the sum of squares around the mean, and the counts of both signs.

    From shape (rows, n) to (rows, 6). A value that is at most `rounding` times the largest in size has no
    sign. With `n` given, zeros follow the first n.
    """
    xp = namespace(values)
    total = xp.sum(values, axis=-1)
    centred = values - (total / (values.shape[-1] if n is None else n))[:, None]
    known = values
    if n is not None:
        first = xp.arange(values.shape[-1], dtype=xp.int64, device=device_of(values)) < n
        centred, known = xp.where(first, centred, 0.0), xp.where(first, values, values[:, :1])
    smallest, largest = xp.min(known, axis=-1), xp.max(known, axis=-1)
    band = (xp.maximum(-smallest, largest) * rounding)[:, None]
    wins = xp.sum(xp.astype(values > band, values.dtype), axis=-1)
    losses = xp.sum(xp.astype(values < -band, values.dtype), axis=-1)
    squares = xp.sum(centred * centred, axis=-1)
    return xp.stack([smallest, largest, total, squares, wins, losses], axis=-1)


def compacted(values: Any, rows: Any, places: Any) -> Any:
    """Gather from some `rows` (k,) of `values` their places (k, size); zeros for places of -1."""
    xp = namespace(values)
    flat = xp.reshape(places + rows[:, None] * values.shape[1], (-1,))
    found = xp.reshape(xp.take(xp.reshape(values, (-1,)), xp.where(flat < 0, 0, flat)), places.shape)
    return xp.where(places < 0, 0.0, found)


def measured_rows(values: Any, wanted: Any) -> tuple[Any, Any]:
    """Return `values` (rows, n) with zeros for what is not wanted or not finite, and how many of the wanted
    values of each row are not finite; all are wanted where `wanted` is None.
    """
    xp = namespace(values)
    finite = xp.isfinite(values)
    kept, bad = (finite, ~finite) if wanted is None else (wanted & finite, wanted & ~finite)
    return xp.where(kept, values, 0.0), xp.sum(xp.astype(bad, values.dtype), axis=-1)
