"""CatBoost models."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ranklens.core import ModelError
from ranklens.explain.models.base import names_for
from ranklens.explain.models.tree_model import TreeModel
from ranklens.explain.trees import TreeEnsemble
from ranklens.explain.trees.catboost_json import parse_catboost


class CatBoostModel(TreeModel):
    """A fitted `catboost.CatBoost`, such as `catboost.CatBoostRanker`, of numeric features.

    Scores are raw formula values. CatBoost rounds features to float32.

    Parameters
    ----------
    model : catboost.CatBoost
    names : iterable of str, optional
        By default the names that the model was trained with.

    Examples
    --------
    >>> import catboost, numpy
    >>> rows = numpy.arange(200.0).reshape(100, 2)
    >>> fitted = catboost.CatBoostRegressor(iterations=5, verbose=False, allow_writing_files=False)
    >>> model = CatBoostModel(fitted.fit(rows, rows[:, 0] > 90), ["bm25", "price"])
    >>> model.trees().n_trees
    5
    """

    kind = "the CatBoost model"

    def __init__(self, model: Any, names: Iterable[str] | None = None) -> None:
        known = model.feature_names_
        super().__init__(names_for(known, names, self.kind))
        if len(self.names) != len(known):
            raise ModelError(
                f"the CatBoost model has {len(known)} features, and names holds {len(self.names)}"
            )
        categorical = [self.names[i] for i in model.get_cat_feature_indices()]
        if categorical:
            raise ModelError(
                f"the CatBoost model has categorical features ({', '.join(categorical)}), which rows of "
                "numbers cannot hold; pass a function that makes them of numbers and asks the model"
            )
        self.model = model

    def predict(self, points: Any) -> Any:
        # The rankers' own predict has no choice of the type.
        predict = importlib.import_module("catboost").CatBoost.predict
        return predict(self.model, points, prediction_type="RawFormulaVal", thread_count=1)

    def read_trees(self) -> TreeEnsemble:
        # The library writes JSON to files only.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            self.model.save_model(str(path), format="json")
            return parse_catboost(path.read_bytes())


def adapt_model(model: Any, names: Iterable[str] | None, params: Any) -> CatBoostModel:
    """Adapt a fitted model."""
    return CatBoostModel(model, names)
