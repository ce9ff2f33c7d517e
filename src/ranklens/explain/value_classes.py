"""Which documents of a query have the same value of a feature: no model can tell these apart by it.

A tree ensemble tells even less apart: only on which side of its thresholds a value lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


def value_classes(values: NDArray[Any]) -> Codes:
    """Number the distinct values of each column, ascending from 0; two NaNs are equal, as are 0.0 and -0.0.

    Parameters
    ----------
    values : array, shape (n, k)

    Returns
    -------
    int64 array, shape (k, n)

    Examples
    --------
    >>> value_classes(np.asarray([[0.5], [np.nan], [-0.0], [np.nan], [0.0]])).tolist()
    [[1, 2, 0, 2, 0]]
    """
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    differs = ordered[1:] != ordered[:-1]
    if ordered.dtype.kind == "f":
        differs &= ~(np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))
    ranks = np.zeros(values.shape, dtype=np.int64)
    np.cumsum(differs, axis=0, out=ranks[1:])
    codes = np.empty_like(ranks)
    np.put_along_axis(codes, order, ranks, axis=0)
    return codes.T


def distinguishable(points: NDArray[Any], trees: Any) -> NDArray[Any]:
    """Return `points` (n, k) with every value replaced by what `trees` can tell of it.

    Without trees they stay as they are. A column that no tree looks at becomes constant.
    """
    if trees is None:
        return points
    found = np.zeros(points.shape, dtype=np.int64)
    columns = [feature.column for feature in trees.coding.features]
    found[:, columns] = trees.coding.on_host(points).T
    return found


def player_classes(classes: Codes, members: Sequence[tuple[int, ...]]) -> Codes:
    """Number the distinct rows of each player's features.

    Parameters
    ----------
    classes : int64 array, shape (k, n)
        Those of the features.
    members : sequence of tuples of int
        The features of each player.

    Returns
    -------
    int64 array, shape (players, n)
    """
    n = classes.shape[1]
    found = np.empty((len(members), n), dtype=np.int64)
    for row, features in zip(found, members, strict=True):
        row[:] = classes[features[0]]
        for feature in features[1:]:
            # Below n squared, so that no class of two features is mistaken for another.
            row[:] = value_classes((row * n + classes[feature])[:, None])[0]
    return found
