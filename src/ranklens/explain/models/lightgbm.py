"""LightGBM boosters and its scikit-learn estimators."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ranklens.core import ModelError
from ranklens.explain.models.base import names_for
from ranklens.explain.models.tree_model import TreeModel
from ranklens.explain.trees import TreeEnsemble
from ranklens.explain.trees.lightgbm_text import pandas_categories, parse_lightgbm


class LightGBMModel(TreeModel):
    """A `lightgbm.Booster`, or a fitted estimator such as `lightgbm.LGBMRanker`.

    Scores are raw scores: the sum of the trees (their mean for a random forest), before any link function.
    After early stopping they are those of the best iteration, as in LightGBM. Trees with linear leaves have
    no closed form here.

    Parameters
    ----------
    model : lightgbm.Booster or estimator
    names : iterable of str, optional
        By default the names that the model was trained with.

    Examples
    --------
    >>> import lightgbm, numpy
    >>> rows = numpy.arange(200.0).reshape(100, 2)
    >>> data = lightgbm.Dataset(rows, rows[:, 0] > 90, feature_name=["bm25", "price"])
    >>> model = LightGBMModel(lightgbm.train({"verbose": -1, "num_threads": 1}, data, 5))
    >>> model.names, model.trees().n_trees
    (('bm25', 'price'), 5)
    """

    kind = "the LightGBM model"

    def __init__(self, model: Any, names: Iterable[str] | None = None) -> None:
        booster = model if hasattr(model, "model_to_string") else model.booster_
        super().__init__(names_for(booster.feature_name(), names, self.kind))
        if len(self.names) != booster.num_feature():
            raise ModelError(
                f"the LightGBM model has {booster.num_feature()} features, and names holds {len(self.names)}"
            )
        self.booster = booster

    @functools.cached_property
    def categories(self) -> Mapping[str, Sequence[Any]]:  # type: ignore[override]
        if not self.booster.pandas_categorical:
            return {}
        found = pandas_categories(self.booster.model_to_string())
        return {self.names[column]: some for column, some in found.items()}

    def predict(self, points: Any) -> Any:
        return self.booster.predict(points, raw_score=True) / self._averaged

    @functools.cached_property
    def _averaged(self) -> int:
        """How many trees a random forest averages, of which the raw score is the sum; else 1."""
        header = self.booster.model_to_string().partition("\nTree=0")[0]
        sizes = next(line for line in header.splitlines() if line.startswith("tree_sizes="))
        return len(sizes.split()) if "\naverage_output\n" in header else 1

    def read_trees(self) -> TreeEnsemble:
        return parse_lightgbm(self.booster.model_to_string()).ensemble


def adapt_model(model: Any, names: Iterable[str] | None, params: Any) -> LightGBMModel:
    """Adapt a booster or an estimator."""
    return LightGBMModel(model, names)
