"""One decision tree as its model's file describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

NO_FEATURE = -1
"""The feature of a leaf."""
ZERO_IS_ORDINARY = -1


@dataclass(frozen=True)
class Tree:
    """A binary tree whose root is node 0; a row goes left where x <= threshold.

    Attributes
    ----------
    feature : int array, shape (nodes,)
        The column that a node looks at; -1 makes it a leaf.
    threshold : float array, shape (nodes,)
    left, right : int array, shape (nodes,)
    value : float array, shape (nodes,)
        What a leaf adds to the score.
    nan_left : bool array, shape (nodes,)
        Whether NaN goes left.
    zero_left : int array, shape (nodes,), optional
        Where zeros are missing values: 1 if they go left, 0 if right; -1 where 0 is a number like any other.
    categories : mapping of int to tuple of int
        The categories that a categorical node sends left; it sends everything else right.
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]
    nan_left: NDArray[np.bool_]
    zero_left: NDArray[np.int64] | None = None
    categories: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Nodes:
    """The nodes of several trees one after another; fields as in `Tree`, and `roots`, shape (trees,)."""

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]
    nan_left: NDArray[np.bool_]
    zero_left: NDArray[np.int64]
    categories: Mapping[int, tuple[int, ...]]
    roots: NDArray[np.int64]


def joined(trees: list[Tree]) -> Nodes:
    """Put trees one after another."""
    sizes = np.asarray([tree.feature.size for tree in trees], dtype=np.int64)
    roots = np.cumsum(sizes) - sizes
    starts = np.repeat(roots, sizes)
    categories = {
        int(root) + node: members
        for root, tree in zip(roots, trees, strict=True)
        for node, members in tree.categories.items()
    }
    return Nodes(
        feature=_column([tree.feature for tree in trees], np.int64),
        threshold=_column([tree.threshold for tree in trees], np.float64),
        left=_column([tree.left for tree in trees], np.int64) + starts,
        right=_column([tree.right for tree in trees], np.int64) + starts,
        value=_column([tree.value for tree in trees], np.float64),
        nan_left=_column([tree.nan_left for tree in trees], np.bool_),
        zero_left=_column([_zero_left(tree) for tree in trees], np.int64),
        categories=categories,
        roots=roots,
    )


def _zero_left(tree: Tree) -> NDArray[np.int64]:
    ordinary = np.full(tree.feature.shape, ZERO_IS_ORDINARY, dtype=np.int64)
    return ordinary if tree.zero_left is None else tree.zero_left


def _column(parts: list[NDArray[np.generic]], dtype: type[np.generic]) -> NDArray:  # type: ignore[type-arg]
    return np.concatenate([np.asarray(part, dtype=dtype) for part in parts] or [np.empty(0, dtype=dtype)])
