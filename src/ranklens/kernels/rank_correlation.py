"""Spearman's rank correlation, put together from groups of documents."""

from __future__ import annotations

from typing import Any

from ranklens.arrays import namespace

Array = Any


def average_ranks(values: Array) -> Array:
    """Rank each column from 0, equal values at the mean of their ranks.

    Parameters
    ----------
    values : array, shape (n, k)
        Without NaN.

    Returns
    -------
    array, shape (n, k)
        In the type of `values`.
    """
    xp = namespace(values)
    # Of equal values the forward order ranks the first lowest, the backward order the last: the mean is
    # theirs.
    forward = _ordinal_ranks(values)
    backward = xp.flip(_ordinal_ranks(xp.flip(values, axis=0)), axis=0)
    return xp.astype(forward + backward, values.dtype) / 2.0


def _ordinal_ranks(values: Array) -> Array:
    xp = namespace(values)
    # Adding zero turns -0.0 into 0.0, which some libraries would sort apart.
    order = xp.argsort(values + 0.0, axis=0, stable=True)
    return xp.argsort(order, axis=0, stable=True)


def rank_products(values: Array) -> Array:
    """Return the products of the centred average ranks of each two columns, shape (k, k).

    Sums of these over groups of documents are the pooled covariances of the ranks within the groups, but for
    a factor that a correlation does not have.
    """
    xp = namespace(values)
    ranks = average_ranks(values)
    centred = ranks - xp.mean(ranks, axis=0, keepdims=True)
    return xp.matmul(xp.matrix_transpose(centred), centred)


def common_ranks(values: Array, column: int) -> Array:
    """Rank one column among the rows in which another one has a value too, for each other one.

    Parameters
    ----------
    values : array, shape (n, k)
        NaN where there is none.
    column : int

    Returns
    -------
    array, shape (n, k)
        Entry (d, j): the average rank of row d among the rows where columns `column` and j both have a
        value, less the mean of these ranks; 0 in all other rows.
    """
    xp = namespace(values)
    present = xp.astype(~xp.isnan(values), values.dtype)
    own, ours = values[:, column], present[:, column]
    # What a row is above, and half of what it equals; a comparison with NaN is false.
    below = xp.astype(own[None, :] < own[:, None], values.dtype)
    equal = xp.astype(own[None, :] == own[:, None], values.dtype)
    n_common = xp.sum(ours[:, None] * present, axis=0)
    ranks = xp.matmul(below + equal / 2.0, present)
    return (ranks - n_common[None, :] / 2.0) * ours[:, None] * present
