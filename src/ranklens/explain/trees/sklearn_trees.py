"""Trees of fitted scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.explain.trees.ensemble import TreeEnsemble
from ranklens.explain.trees.tree import NO_FEATURE, Tree
from ranklens.explain.trees.unsupported import UnsupportedTreesError

_FORESTS = {
    "RandomForestRegressor",
    "RandomForestClassifier",
    "ExtraTreesRegressor",
    "ExtraTreesClassifier",
}
_SINGLE = {"DecisionTreeRegressor", "DecisionTreeClassifier", "ExtraTreeRegressor", "ExtraTreeClassifier"}
_BOOSTED = {"GradientBoostingRegressor", "GradientBoostingClassifier"}
_HISTOGRAM = {"HistGradientBoostingRegressor", "HistGradientBoostingClassifier"}


def parse_sklearn(model: Any) -> TreeEnsemble:
    """Return the trees of a fitted tree, forest or gradient boosting model.

    Scores are predictions of regressors, decision functions of boosted classifiers, and the probability of
    the second class for the other classifiers.

    Raises
    ------
    UnsupportedTreesError
        When the estimator is no sum of trees, or splits on categories.
    """
    name = type(model).__name__
    if name in _SINGLE:
        return _ensemble([model], model, 1.0)
    if name in _FORESTS:
        return _ensemble(model.estimators_, model, 1.0 / len(model.estimators_))
    if name in _BOOSTED:
        return _boosted(model)
    if name in _HISTOGRAM:
        return _histogram(model)
    raise UnsupportedTreesError(f"a {name} is no sum of trees")


def _ensemble(estimators: Iterable[Any], model: Any, weight: float) -> TreeEnsemble:
    classes = hasattr(model, "classes_")
    trees = [_tree(estimator.tree_, classes, weight) for estimator in estimators]
    return TreeEnsemble.of(trees, int(model.n_features_in_), single=True)


def _boosted(model: Any) -> TreeEnsemble:
    if model.estimators_.shape[1] != 1:
        raise UnsupportedTreesError(
            f"the model has {model.estimators_.shape[1]} classes and a score for each"
        )
    if type(model.init_).__name__ not in ("DummyRegressor", "DummyClassifier", "str"):
        raise UnsupportedTreesError(f"the model starts from a {type(model.init_).__name__}")
    trees = [
        _tree(estimator.tree_, False, float(model.learning_rate)) for estimator in model.estimators_[:, 0]
    ]
    return TreeEnsemble.of(trees, int(model.n_features_in_), offset=_start(model), single=True)


def _start(model: Any) -> float:
    """Return the raw score before the first tree, which the estimator computes from its initial model."""
    row = np.zeros((1, int(model.n_features_in_)), dtype=np.float32)
    raw = model._raw_predict_init(row)
    return float(raw[0, 0])


def _histogram(model: Any) -> TreeEnsemble:
    if getattr(model, "is_categorical_", None) is not None:
        raise UnsupportedTreesError("its trees split on categories")
    if type(model._loss.link).__name__ == "LogLink":
        raise UnsupportedTreesError("its prediction is the exponential of a sum of trees")
    stages = model._predictors
    if any(len(stage) != 1 for stage in stages):
        raise UnsupportedTreesError(f"the model has {len(stages[0])} classes and a score for each")
    offset = float(np.ravel(model._baseline_prediction)[0])
    trees = [_histogram_tree(stage[0].nodes) for stage in stages]
    return TreeEnsemble.of(trees, int(model.n_features_in_), offset=offset)


def _tree(tree: Any, classes: bool, weight: float) -> Tree:
    leaf = tree.children_left == -1
    values = tree.value[:, 0, :]
    if tree.value.shape[1] != 1 or (classes and values.shape[1] != 2):
        raise UnsupportedTreesError("the model has several classes or targets and a score for each")
    value = values[:, 1] / values.sum(axis=1) if classes else values[:, 0]
    missing = getattr(tree, "missing_go_to_left", None)
    nan_left = np.zeros(leaf.size, dtype=np.bool_) if missing is None else missing.astype(np.bool_)
    return Tree(
        feature=np.where(leaf, NO_FEATURE, tree.feature),
        threshold=np.where(leaf, 0.0, tree.threshold),
        left=np.where(leaf, 0, tree.children_left),
        right=np.where(leaf, 0, tree.children_right),
        value=np.where(leaf, value * weight, 0.0),
        nan_left=nan_left,
    )


def _histogram_tree(nodes: NDArray[Any]) -> Tree:
    leaf = nodes["is_leaf"].astype(np.bool_)
    if nodes["is_categorical"].any():
        raise UnsupportedTreesError("its trees split on categories")
    return Tree(
        feature=np.where(leaf, NO_FEATURE, nodes["feature_idx"].astype(np.int64)),
        threshold=np.where(leaf, 0.0, nodes["num_threshold"]),
        left=np.where(leaf, 0, nodes["left"].astype(np.int64)),
        right=np.where(leaf, 0, nodes["right"].astype(np.int64)),
        value=np.where(leaf, nodes["value"], 0.0),
        nan_left=nodes["missing_go_to_left"].astype(np.bool_),
    )
