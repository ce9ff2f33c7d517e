"""The points at which coalitions of features are scored.

A coalition is the set of players whose features come from B; the rest come from A. `slot` tells which of a
pair's k players each feature belongs to, and is k for features that never change.
"""

from __future__ import annotations

from typing import Any

from ranklens.arrays import device_of, namespace

Array = Any


def numbered_points(a: Array, b: Array, slot: Array, start: Any, *, n: int) -> Array:
    """Return the points of `n` coalitions from number `start` on: player i comes from B where bit i is set.

    Parameters
    ----------
    a, b : arrays, shape (pairs, features)
    slot : int32 array, shape (pairs, features)

    Returns
    -------
    array, shape (pairs · n, features)
        Pair by pair.
    """
    xp = namespace(a)
    number = start + xp.arange(n, dtype=xp.int32, device=device_of(slot))
    from_b = ((number[None, :, None] >> slot[:, None, :]) & 1) != 0
    return mixed(a, b, from_b)


def listed_points(a: Array, b: Array, slot: Array, members: Array) -> Array:
    """Return the points of the coalitions `members`: bool (coalitions, k + 1), last column False."""
    xp = namespace(a)
    taken = xp.take(members, xp.reshape(slot, (-1,)), axis=1)
    from_b = xp.permute_dims(xp.reshape(taken, (members.shape[0], *slot.shape)), (1, 0, 2))
    return mixed(a, b, from_b)


def mixed(a: Array, b: Array, from_b: Array) -> Array:
    """Return rows that take from `b` where `from_b` (pairs, coalitions, features) says so, else from `a`."""
    xp = namespace(a)
    return xp.reshape(xp.where(from_b, b[:, None, :], a[:, None, :]), (-1, a.shape[1]))
