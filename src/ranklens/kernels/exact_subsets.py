"""Counting subsets by their sum: meeting in the middle.

Flipping the signs of a subset X of the absolute differences turns their sum S into S - 2·sum(X), so a tail of
the sign-flip distribution is a count of subsets. Sums are integers: exact in any order, on every device.
"""

from __future__ import annotations

from typing import Any

from ranklens.arrays import namespace

Array = Any


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


def count_pairs(first: Array, second: Array, limit: int) -> Array:
    """Count the pairs of one sum of each half that stay at or below `limit` together.

    Parameters
    ----------
    first, second : arrays of int64, shape (m,) and (k,)
        Ascending: needles in order walk through memory in order, ten times faster than hopping about.
    limit : int
        Between 0 and 2^62.

    Returns
    -------
    array of int64, shape (1,)
        Exact up to 2^63.
    """
    xp = namespace(first)
    fitting = xp.searchsorted(first, limit - second, side="right")
    return xp.sum(xp.astype(fitting, first.dtype), keepdims=True)


def count_weighted(
    first: Array, first_weights: Array, second: Array, second_weights: Array, limit: int
) -> Array:
    """Add up the products of weights over all pairs of sums that stay at or below `limit`.

    Parameters
    ----------
    first, second : arrays of int64, shape (m,) and (k,)
        Sums of either half, ascending.
    first_weights, second_weights : arrays of float, shape (m,) and (k,)
        How many subsets have each sum.
    limit : int
        Between 0 and 2^62.

    Returns
    -------
    array of float, shape (1,)
        Only positive numbers are added, so the relative error is at most (m + k) eps; none below 2^53.
    """
    xp = namespace(first)
    below = xp.cumulative_sum(first_weights, include_initial=True)
    fitting = xp.searchsorted(first, limit - second, side="right")
    return xp.sum(second_weights * xp.take(below, fitting, axis=0), keepdims=True)
