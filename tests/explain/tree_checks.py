"""What must hold of any model whose trees were read, and of shap's answers to the same question."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray
from tree_games import enumerated

from ranklens.arrays import open_backend
from ranklens.explain.models.tree_model import TreeModel
from ranklens.explain.trees import TreeEnsemble, tree_contributions

Floats = NDArray[np.float64]
HOST = open_backend("numpy")


def check_trees(model: TreeModel, a: Floats, b: Floats, *, atol: float) -> Floats:
    """Check scores and sums of a model's trees, and return the contributions."""
    assert model.without_trees is None
    ensemble = model.trees()
    assert ensemble is not None
    for rows in (a, b):
        np.testing.assert_allclose(ensemble.scores(rows), np.asarray(model.score(rows)), rtol=0, atol=atol)
    found = np.asarray(tree_contributions(ensemble, a, b, HOST))
    moved = ensemble.scores(b) - ensemble.scores(a)
    np.testing.assert_allclose(found.sum(axis=1), moved, rtol=0, atol=1e-12 * ensemble.largest_sum())
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    assert (found[same] == 0.0).all()
    return found


def any_category() -> st.SearchStrategy[float]:
    """Return numbers that are a category, lie between two, or are none: odd, negative, huge, missing."""
    narrow = st.floats(-3.0, 70.0) | st.floats(-1.0, 0.0) | st.integers(-3, 70).map(float)
    large = st.floats(2.0**23, 2.0**65) | st.integers(2**24 - 2, 2**33 + 70).map(float)
    odd = st.sampled_from(
        [math.nan, -0.0, -1e-35, -1e-46, 3.9999999999, 2.0**24 + 3, 2.0**32 + 3, -(2.0**40)]
    )
    return narrow | large | odd


def check_by_coalitions(model: TreeModel, a: Floats, b: Floats, *, k: int, atol: float) -> None:
    """Let only the k most important features of a pair differ, and ask the model itself for all mixtures."""
    ensemble = model.trees()
    assert ensemble is not None
    for row_a, row_b in zip(a, b, strict=True):
        moved = np.asarray(tree_contributions(ensemble, row_a[None, :], row_b[None, :], HOST))[0]
        chosen = np.argsort(-np.abs(moved), kind="stable")[:k]
        near = row_a.copy()
        near[chosen] = row_b[chosen]
        found = np.asarray(tree_contributions(ensemble, row_a[None, :], near[None, :], HOST))[0]
        player_of = np.full(row_a.size, 0)
        player_of[chosen] = np.arange(chosen.size)
        expected = enumerated(model.score, row_a, near, player_of)
        np.testing.assert_allclose(found[chosen], expected, rtol=0, atol=atol)


def interventional(model: Any, a: Floats, b: Floats) -> Floats:
    """Return what shap says of each step from a row of `a` to the row of `b`."""
    shap = pytest.importorskip("shap", reason="shap is not installed, and its answers cannot be compared")
    found = [
        shap.TreeExplainer(model, data=row_a[None, :], feature_perturbation="interventional").shap_values(
            row_b[None, :]
        )[0]
        for row_a, row_b in zip(a, b, strict=True)
    ]
    return np.asarray(found)


def for_shap(ensemble: TreeEnsemble) -> dict[str, Any]:
    """Return trees in the form in which shap takes those of a library that it does not know."""
    nodes = ensemble.nodes
    ends = [*nodes.roots[1:].tolist(), nodes.feature.size]
    trees = []
    for start, end in zip(nodes.roots.tolist(), ends, strict=True):
        leaf = nodes.feature[start:end] < 0
        left, right = (
            np.where(leaf, -1, side[start:end] - start).astype(np.int32) for side in (nodes.left, nodes.right)
        )
        tree = {
            "children_left": left,
            "children_right": right,
            "children_default": np.where(nodes.nan_left[start:end], left, right),
            "features": np.where(leaf, -2, nodes.feature[start:end]),
            "thresholds": nodes.threshold[start:end],
            "values": nodes.value[start:end, None],
            "node_sample_weight": np.ones(end - start),
        }
        trees.append(tree)
    return {"trees": trees}
