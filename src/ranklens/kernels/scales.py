"""Units in which numbers can be squared, however large or small they are."""

from __future__ import annotations

from typing import Any

from ranklens.arrays import namespace

Array = Any


def own_unit(values: Array, axis: int | tuple[int, ...]) -> Array:
    """Return the power of two just below the largest size along `axis`, which stays with length 1.

    Numbers over it are below 2, so that their squares neither overflow nor vanish, and have the same digits
    as before. It is 1 where all are zero.
    """
    xp = namespace(values)
    largest = xp.max(xp.abs(values), axis=axis, keepdims=True)
    exponent = xp.floor(xp.log2(xp.where(largest > 0, largest, 1.0)))
    # Where a float is normal.
    return 2.0 ** xp.minimum(xp.maximum(exponent, -1022.0), 1023.0)
