"""XGBoost boosters and its scikit-learn estimators."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ranklens.core import ModelError
from ranklens.explain.models.base import names_for
from ranklens.explain.models.tree_model import EnsembleModel, TreeModel
from ranklens.explain.trees import TreeEnsemble, UnsupportedTreesError
from ranklens.explain.trees.xgboost_json import XGBoostJSON, parse_xgboost


class XGBoostModel(TreeModel):
    """An `xgboost.Booster`, or a fitted estimator such as `xgboost.XGBRanker`.

    Scores are margins: base score plus the sum of the trees, before any link function. After early stopping
    an estimator's are those of the best iteration. XGBoost rounds features and scores to float32. An
    estimator's `missing` is honoured: that number is read as a missing value, and so is NaN.

    Parameters
    ----------
    model : xgboost.Booster or estimator
    names : iterable of str, optional
        By default the names that the model was trained with, else f0, f1, ... as XGBoost calls them.

    Examples
    --------
    >>> import numpy, xgboost
    >>> rows = numpy.arange(200.0).reshape(100, 2)
    >>> data = xgboost.DMatrix(rows, rows[:, 0] > 90, feature_names=["bm25", "price"], nthread=1)
    >>> model = XGBoostModel(xgboost.train({"nthread": 1}, data, 5))
    >>> model.names, model.trees().n_trees
    (('bm25', 'price'), 5)
    """

    kind = "the XGBoost model"
    tolerance = 1e-5
    takes_huge = False
    absent = math.nan

    def __init__(self, model: Any, names: Iterable[str] | None = None) -> None:
        booster = _best(model)
        n = booster.num_features()
        known = booster.feature_names or [f"f{i}" for i in range(n)]
        super().__init__(names_for(known, names, self.kind))
        if len(self.names) != n:
            raise ModelError(f"the XGBoost model has {n} features, and names holds {len(self.names)}")
        self.booster = booster
        self.missing = _missing(model)

    @functools.cached_property
    def categories(self) -> Mapping[str, Sequence[Any]]:  # type: ignore[override]
        if "c" not in (self.booster.feature_types or ()):
            return {}
        try:
            found = self._parsed.categories
        except UnsupportedTreesError:
            # It is linear, and splits on no category.
            found = {}
        return {self.names[column]: some for column, some in found.items()}

    def predict(self, points: Any) -> Any:
        booster = self.booster
        data = importlib.import_module("xgboost").DMatrix(
            points,
            missing=self.missing,
            feature_names=booster.feature_names,
            feature_types=booster.feature_types,
        )
        return booster.predict(data, output_margin=True)

    def read_trees(self) -> TreeEnsemble:
        return dataclasses.replace(self._parsed.ensemble, missing=self.missing)

    @functools.cached_property
    def _parsed(self) -> XGBoostJSON:
        return parse_xgboost(self.booster.save_raw("json"))


class XGBoostTrees(EnsembleModel):
    """The trees of one of XGBoost's files."""

    kind = "the XGBoost model"
    absent = math.nan


class XGBoostDump(XGBoostTrees):
    """The trees of a dump whose features have names, of which it holds no order."""

    ordered = False


def _best(model: Any) -> Any:
    """Return the booster of a model, cut to its best iteration where it stopped early."""
    if hasattr(model, "save_raw"):
        return model
    booster = model.get_booster()
    # Known where training stopped early, by whatever means, also after the estimator was saved and loaded.
    best = getattr(model, "best_iteration", None)
    return booster if best is None else booster[: best + 1]


def _missing(model: Any) -> float:
    """Return the number that an estimator takes for a missing value; NaN for a booster, which has none."""
    missing = getattr(model, "missing", None)
    return math.nan if missing is None else float(missing)


def adapt_model(model: Any, names: Iterable[str] | None, params: Any) -> XGBoostModel:
    """Adapt a booster or an estimator."""
    return XGBoostModel(model, names)
