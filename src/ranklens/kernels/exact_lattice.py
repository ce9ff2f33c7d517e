"""Counting subsets of integers by their sum, one value at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ranklens.arrays import namespace

Array = Any

STEPS_BETWEEN_SCALINGS = 512
"""Each value at most doubles a count, so 512 of them leave room in float64 after every scaling."""


def subset_counts(start: Array, values: Sequence[int]) -> tuple[Array, int]:
    """Count the subsets of `values` with each sum 0, 1, …, length - 1.

    Parameters
    ----------
    start : array of float, shape (..., length)
        The counts before any value: 1 at sum 0 and zero elsewhere.
    values : sequence of int
        Positive.

    Returns
    -------
    counts : array of float, shape (..., length)
        Divided by two to the power of the second item. Only positive additions: exact below 2^53, else a
        relative error of at most n·eps.
    exponent : int
    """
    xp = namespace(start)
    counts, exponent = start, 0
    for i, value in enumerate(values):
        if value < start.shape[-1]:
            moved = xp.concat([xp.zeros_like(counts[..., :value]), counts[..., :-value]], axis=-1)
            counts = counts + moved
        if (i + 1) % STEPS_BETWEEN_SCALINGS == 0:
            counts = counts * 2.0**-STEPS_BETWEEN_SCALINGS
            exponent += STEPS_BETWEEN_SCALINGS
    return counts, exponent
