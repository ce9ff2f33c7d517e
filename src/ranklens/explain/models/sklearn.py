"""Fitted scikit-learn estimators: trees in closed form, all others by asking."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from ranklens.core import ModelError
from ranklens.explain.models.base import names_for
from ranklens.explain.models.registry import needed
from ranklens.explain.models.tree_model import TreeModel
from ranklens.explain.trees import TreeEnsemble
from ranklens.explain.trees.sklearn_trees import parse_sklearn


class SklearnModel(TreeModel):
    """A fitted estimator or pipeline.

    Scores are the predictions of a regressor, and for a classifier of two classes the decision function, or
    else the probability of the second class.

    Parameters
    ----------
    model : estimator
    names : iterable of str, optional
        By default ``feature_names_in_``, which estimators have that were fitted with a frame.

    Examples
    --------
    >>> import numpy
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> rows = numpy.arange(20.0).reshape(10, 2)
    >>> model = SklearnModel(DecisionTreeRegressor(max_leaf_nodes=3).fit(rows, rows[:, 0]), ["bm25", "price"])
    >>> model.trees().n_trees
    1
    """

    kind = "the scikit-learn model"

    def __init__(self, model: Any, names: Iterable[str] | None = None) -> None:
        known = getattr(model, "feature_names_in_", None)
        if known is None:
            super().__init__(needed(names, "a scikit-learn model that was fitted without a frame"))
        else:
            super().__init__(names_for(known, names, self.kind))
        n = getattr(model, "n_features_in_", len(self.names))
        if len(self.names) != n:
            raise ModelError(f"the scikit-learn model has {n} features, and names holds {len(self.names)}")
        self.model = model
        # Histogram gradient boosting always takes NaN; other trees only where they have seen one.
        self.takes_nan = self.takes_huge = hasattr(model, "_predictors")

    def predict(self, points: Any) -> Any:
        with warnings.catch_warnings():
            # The columns are in the order of the names that the estimator was fitted with.
            warnings.filterwarnings("ignore", message=".*does not have valid feature names")
            return self._scores(points)

    def _scores(self, points: Any) -> Any:
        if not hasattr(self.model, "classes_"):
            return self.model.predict(points)
        if hasattr(self.model, "decision_function"):
            return self.model.decision_function(points)
        probabilities = self.model.predict_proba(points)
        return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities

    def read_trees(self) -> TreeEnsemble:
        return parse_sklearn(self.model)


def adapt_model(model: Any, names: Iterable[str] | None, params: Any) -> SklearnModel:
    """Adapt an estimator."""
    return SklearnModel(model, names)
