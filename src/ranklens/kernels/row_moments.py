"""What describes each row of a batch of differences."""

from __future__ import annotations

from typing import Any

from ranklens.arrays import namespace

COLUMNS = ("smallest", "largest", "total", "squares", "wins", "losses")
"""What `row_moments` gives, in its order."""


def row_moments(values: Any, rounding: float) -> Any:
    """Return the extremes, the sum, the sum of squares around the mean, and the counts of both signs.

    From shape (rows, n) to (rows, 6). A value that is at most `rounding` times the largest in size has no
    sign.
    """
    xp = namespace(values)
    smallest, largest = xp.min(values, axis=-1), xp.max(values, axis=-1)
    total = xp.sum(values, axis=-1)
    centred = values - (total / values.shape[-1])[:, None]
    band = (xp.maximum(-smallest, largest) * rounding)[:, None]
    wins = xp.sum(xp.astype(values > band, values.dtype), axis=-1)
    losses = xp.sum(xp.astype(values < -band, values.dtype), axis=-1)
    squares = xp.sum(centred * centred, axis=-1)
    return xp.stack([smallest, largest, total, squares, wins, losses], axis=-1)


def compacted(values: Any, order: Any) -> Any:
    """Gather of each row of `values` (rows, n) the places `order` (rows, k), shape (rows, k)."""
    xp = namespace(values)
    start = xp.arange(values.shape[0], dtype=order.dtype, device=values.device)[:, None] * values.shape[1]
    return xp.reshape(xp.take(xp.reshape(values, (-1,)), xp.reshape(order + start, (-1,))), order.shape)
