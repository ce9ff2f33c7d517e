"""Documents whose features are shuffled: the points to score, and the grades in the order of the scores."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ranklens.arrays import device_of, namespace

Array = Any


def moved_points(features: Array, rows: Array, sources: Array, moved: Array, owners: Array) -> Array:
    """Give documents the features of one player from other documents.

    Parameters
    ----------
    features : array, shape (documents, k)
    rows, sources : int64 arrays, shape (points,)
        The documents that are changed, and those that give.
    moved : bool array, shape (players, k)
        Which features each player has.
    owners : int64 array, shape (points,)
        The player whose features are given.

    Returns
    -------
    array, shape (points, k)
    """
    xp = namespace(features)
    given = xp.take(moved, owners, axis=0)
    return xp.where(given, xp.take(features, sources, axis=0), xp.take(features, rows, axis=0))


class Ranked(NamedTuple):
    """Judged documents in ranking order, their ranks from 1; the padding is -inf and inf."""

    grades: Array
    ranks: Array


def ranked_grades(scores: Array, grades: Array, *, depth: int, compact: bool) -> Ranked:
    """Sort the grades of each row of documents by score descending, and cut at `depth`.

    Parameters
    ----------
    scores : array, shape (repeats, rows, width)
        The documents of a row come in the order that breaks ties; the padding, at the end, is -inf.
    grades : array, shape (rows, width)
        -inf for unjudged documents and for the padding.
    depth : int
        How many ranks to keep.
    compact : bool
        Whether there may be unjudged documents, which must not lie between judged ones.

    Returns
    -------
    Ranked
        Arrays of shape (repeats, rows, depth).
    """
    xp, device = namespace(scores), device_of(scores)
    # Adding zero turns -0.0 into 0.0, which some libraries would sort apart.
    order = xp.argsort(0.0 - scores, axis=-1, stable=True)[..., :depth]
    n_rows, width = grades.shape
    first = xp.arange(n_rows, dtype=order.dtype, device=device) * width
    index = xp.reshape(order + first[None, :, None], (-1,))
    found = xp.reshape(xp.take(xp.reshape(grades, (-1,)), index, axis=0), order.shape)
    positions = xp.arange(1, order.shape[-1] + 1, dtype=grades.dtype, device=device)
    ranks = xp.where(xp.isfinite(found), positions, math.inf)
    if not compact:
        return Ranked(found, ranks)
    by_rank = xp.argsort(ranks, axis=-1, stable=True)
    return Ranked(_along(found, by_rank), _along(ranks, by_rank))


def _along(values: Array, order: Array) -> Array:
    """Reorder the last axis of `values`; both of shape (..., width)."""
    xp, device = namespace(values), device_of(values)
    width = values.shape[-1]
    flat = xp.reshape(order, (-1, width))
    first = xp.arange(flat.shape[0], dtype=order.dtype, device=device) * width
    index = xp.reshape(flat + first[:, None], (-1,))
    return xp.reshape(xp.take(xp.reshape(values, (-1,)), index, axis=0), values.shape)
