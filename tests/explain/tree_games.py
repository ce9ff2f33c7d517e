"""Random trees, and the Shapley values of their games by enumeration of every coalition."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.explain.trees import Tree, TreeEnsemble
from ranklens.explain.trees.tree import ZERO_IS_ORDINARY

VALUES = (np.nan, -1.0, -0.0, 0.0, 1e-36, 0.5, 1.0, 1.5, 2.0, 7.0)
THRESHOLDS = (-1.0, 0.0, 1.0000000180025095e-35, 0.5, 1.0, 1.75)


def stump(feature: int = 2, threshold: float = 0.5, low: float = 2.0, high: float = 7.0) -> Tree:
    """Split one feature once."""
    return Tree(
        feature=np.asarray([feature, -1, -1]),
        threshold=np.asarray([threshold, 0.0, 0.0]),
        left=np.asarray([1, 0, 0]),
        right=np.asarray([2, 0, 0]),
        value=np.asarray([0.0, low, high]),
        nan_left=np.asarray([True, False, False]),
    )


def random_tree(
    rng: np.random.Generator, n_features: int, n_inner: int, *, categorical: bool = False
) -> Tree:
    """Grow a tree by splitting leaves at random; feature 0 is categorical if asked for."""
    n = 2 * n_inner + 1
    feature = np.full(n, -1)
    left, right = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    leaves = [0]
    categories = {}
    for step in range(n_inner):
        node = leaves.pop(int(rng.integers(len(leaves))))
        feature[node] = rng.integers(n_features)
        left[node], right[node] = 2 * step + 1, 2 * step + 2
        leaves += [2 * step + 1, 2 * step + 2]
        if categorical and feature[node] == 0:
            categories[node] = tuple(sorted(rng.choice(5, int(rng.integers(1, 4)), replace=False).tolist()))
    # Zeros are missing values of every other feature.
    zero = np.where((feature % 2 == 1) & (feature > 0), rng.integers(0, 2, n), ZERO_IS_ORDINARY)
    nan_left = rng.random(n) < 0.5
    nan_left[list(categories)] = False
    return Tree(
        feature=feature,
        threshold=rng.choice(THRESHOLDS, n),
        left=left,
        right=right,
        value=np.where(feature < 0, rng.normal(size=n), 0.0),
        nan_left=nan_left,
        zero_left=zero,
        categories=categories,
    )


def random_ensemble(
    seed: int, n_features: int, *, n_trees: int = 4, n_inner: int = 7, categorical: bool = False
) -> TreeEnsemble:
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, n_features, n_inner, categorical=categorical) for _ in range(n_trees)]
    return TreeEnsemble.of(trees, n_features, offset=0.25)


def random_rows(seed: int, n: int, n_features: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).choice(VALUES, (n, n_features))


def walked(tree: Tree, row: NDArray[np.float64]) -> float:
    """Walk one row down one tree by the words of its definition."""
    node = 0
    while tree.feature[node] >= 0:
        x = row[tree.feature[node]]
        if node in tree.categories:
            left = not np.isnan(x) and int(x) in tree.categories[node]
        elif np.isnan(x):
            left = bool(tree.nan_left[node])
        elif tree.zero_left is not None and tree.zero_left[node] >= 0 and abs(x) <= 1.0000000180025095e-35:
            left = tree.zero_left[node] == 1
        else:
            left = x <= tree.threshold[node]
        node = int(tree.left[node] if left else tree.right[node])
    return float(tree.value[node])


def enumerated(
    scores: object, a: NDArray[np.float64], b: NDArray[np.float64], player_of: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return one pair's Shapley values from the scores of all 2^k mixtures of A and B."""
    player_of = np.arange(a.size) if player_of is None else player_of
    k = int(player_of.max()) + 1
    coalition = np.arange(2**k)
    joined = coalition[:, None] >> player_of & 1 == 1
    value = np.asarray(scores(np.where(joined, b, a)), dtype=np.float64)  # type: ignore[operator]
    size = np.asarray([c.bit_count() for c in coalition.tolist()])
    found = np.empty(k)
    for player in range(k):
        without = coalition[coalition >> player & 1 == 0]
        s = size[without]
        weight = np.asarray([math.factorial(i) * math.factorial(k - i - 1) / math.factorial(k) for i in s])
        found[player] = (weight * (value[without | 1 << player] - value[without])).sum()
    return found
