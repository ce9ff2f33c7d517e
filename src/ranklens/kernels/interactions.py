"""What stands in the way of contributions: interactions of three players, and effects of the size.

Write a coalition as signs x, -1 for its members and 1 for the others. The game of a triple T is the product
χ_T(x) = x_i x_j x_l, whose Shapley values are -2/3 for each of the three. Summed over all triples, χ_T(x)
χ_T(y) is the third elementary symmetric polynomial of the products x_i y_i, which depends on u = Σ x_i y_i
alone: (u³ - 3 k u + 2 u) / 6 (Newton's identities).

What depends on the size of a coalition alone, as in a score that saturates, belongs to all players alike: no
player's contribution differs from the others' by it.
"""

from __future__ import annotations

from typing import Any

from ranklens.arrays import namespace

Array = Any


def triples(overlap: Array, k: int) -> Array:
    """Return the sum of the products of three of k signs that sum to `overlap`."""
    return overlap * (overlap * overlap - (3 * k - 2)) / 6


def among_themselves(signs: Array) -> Array:
    """Return Σ_T χ_T(x) χ_T(y) for all pairs of rows of `signs` (n, k): shape (n, n)."""
    return triples(signs @ namespace(signs).permute_dims(signs, (1, 0)), signs.shape[1])


def beyond_contributions(signs: Array, others: Array) -> Array:
    """Return Σ_T χ_T(x) χ̃_T(y), χ̃_T being χ_T less what its Shapley values explain of it.

    Parameters
    ----------
    signs, others : arrays, shapes (m, k) and (n, k)
        The x and the y.

    Returns
    -------
    array, shape (m, n)
    """
    xp, k = namespace(signs), signs.shape[1]
    overlap = signs @ xp.permute_dims(others, (1, 0))
    mine, theirs = xp.sum(signs, axis=1)[:, None], xp.sum(others, axis=1)[None, :]
    explained = (mine * mine - (k - 2)) * (overlap - mine * theirs / k) / 6
    return triples(overlap, k) - theirs / k * triples(mine, k) - explained


def same_size(signs: Array, others: Array) -> Array:
    """Return 1 where two rows have as many members, shape (m, n), and 0 for halves of the players.

    A coalition is explained beside its complement, and of a half that has the same size.
    """
    xp = namespace(signs)
    mine, theirs = xp.sum(signs, axis=1)[:, None], xp.sum(others, axis=1)[None, :]
    return xp.astype((mine == theirs) & (mine != 0), signs.dtype)
