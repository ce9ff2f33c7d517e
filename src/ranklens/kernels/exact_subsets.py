"""Counting subsets by their sum: meeting in the middle.

Flipping the signs of a subset X of the absolute differences turns their sum S into S - 2·sum(X), so a tail of
the sign-flip distribution is a count of subsets. Sums are integers: exact in any order, on every device.
"""

from __future__ import annotations

from typing import Any

from ranklens.arrays import cut, namespace

Array = Any

_AT_ONCE = 1 << 16
"""Keys that stay in a cache while they are counted."""


def subset_sums(values: Array) -> Array:
    """Return the sums of all subsets along the last axis.

    Parameters
    ----------
    values : array of int64, shape (..., m)

    Returns
    -------
    array of int64, shape (..., 2^m)
        The empty subset first.
    """
    xp = namespace(values)
    sums = xp.zeros((*values.shape[:-1], 1), dtype=values.dtype, device=values.device)
    for i in range(values.shape[-1]):
        sums = xp.concat([sums, sums + values[..., i : i + 1]], axis=-1)
    return sums


def count_pairs(first: Array, second: Array, limit: Array) -> Array:
    """Count the pairs of one sum of each half that stay at or below `limit` together.

    One sort of both merges them: an even key for a sum of the first half, an odd one for what a sum of the
    second leaves of the limit. The places of the odd keys tell how many even ones go before.

    Parameters
    ----------
    first, second : arrays of int64, shape (..., m) and (..., k)
        Between 0 and 2^61, in any order.
    limit : array of int64, shape (...)
        Between 0 and 2^61.

    Returns
    -------
    array of int64, shape (...)
        Exact up to 2^63.
    """
    xp = namespace(first)
    left = limit[..., None] - second
    keys = xp.sort(xp.concat([first + first, left + left + 1], axis=-1), axis=-1)
    behind = limit * 0 - second.shape[-1] * (second.shape[-1] - 1) // 2
    for part in cut(range(keys.shape[-1]), _AT_ONCE):
        some = keys[..., part.start : part.stop] & 1
        places = xp.arange(part.start, part.stop, dtype=keys.dtype, device=keys.device)
        behind = behind + xp.sum(some * places, axis=-1)
    return behind


def count_weighted(
    first: Array, first_weights: Array, second: Array, second_weights: Array, limit: int
) -> Array:
    """Add up the products of weights over all pairs of sums that stay at or below `limit`.

    Parameters
    ----------
    first, second : arrays of int64, shape (m,) and (k,)
        Sums of either half, the first ascending.
    first_weights, second_weights : arrays of float, shape (m,) and (k,)
        How many subsets have each sum.
    limit : int
        Between 0 and 2^62.

    Returns
    -------
    array of float, shape ()
        Only positive numbers are added, so the relative error is at most (m + k) eps; none below 2^53.
    """
    xp = namespace(first)
    below = xp.cumulative_sum(first_weights, include_initial=True)
    fitting = xp.searchsorted(first, limit - second, side="right")
    return xp.sum(second_weights * xp.take(below, fitting, axis=0))
