"""RankLib's model files: trees in closed form, linear models as they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from ranklens.arrays import open_backend
from ranklens.explain.models.base import Model
from ranklens.explain.models.tree_model import EnsembleModel
from ranklens.explain.trees import TreeEnsemble
from ranklens.explain.trees.ranklib import LinearModel, parse_ranklib


class RankLibLinear(Model):
    """A linear regression or coordinate ascent model.

    Parameters
    ----------
    linear : LinearModel
    names : iterable of str, optional
        By default their numbers.
    """

    kind = "the RankLib model"
    first_feature = 1

    def __init__(self, linear: LinearModel, names: Iterable[str] | None = None) -> None:
        super().__init__(numbered(linear.weights.size) if names is None else names, open_backend("numpy"))
        self.linear = linear
        self._open = names is None

    def widened(self, n_features: int) -> RankLibLinear:
        more = n_features - len(self.names)
        if not self._open or more <= 0:
            return self
        weights = np.append(self.linear.weights, np.zeros(more))
        return RankLibLinear(dataclasses.replace(self.linear, weights=weights))

    def predict(self, points: Any) -> Any:
        return self.linear.scores(points)


class RankLibTrees(EnsembleModel):
    """A LambdaMART, MART or random forest model.

    Parameters
    ----------
    ensemble : TreeEnsemble
    names : iterable of str, optional
        By default their numbers.
    """

    kind = "the RankLib model"
    first_feature = 1

    def __init__(self, ensemble: TreeEnsemble, names: Iterable[str] | None = None) -> None:
        super().__init__(ensemble, numbered(ensemble.n_features) if names is None else names)
        self._open = names is None

    def widened(self, n_features: int) -> Self:
        if not self._open or n_features <= len(self.names):
            return self
        return type(self)(dataclasses.replace(self.ensemble, n_features=n_features))


def numbered(n_features: int) -> tuple[str, ...]:
    """Return RankLib's own names of features: their numbers, from 1."""
    return tuple(str(number) for number in range(1, n_features + 1))


def ranklib_model(
    text: str, names: Iterable[str] | None = None, *, source: str | None = None
) -> RankLibLinear | RankLibTrees:
    """Return the model that the text of a RankLib file describes.

    Parameters
    ----------
    text : str
    names : iterable of str, optional
        Column i is RankLib's feature i + 1. By default their numbers, to the highest that the model looks at,
        and on where the data have more: a feature that the model never reads is harmless.
    source : str, optional
        What error messages call the file.

    Examples
    --------
    >>> model = ranklib_model("## Linear Regression\\n0:0.5 1:2.0 2:-1.0", ["bm25", "price"])
    >>> model.predict([[1.0, 0.25]])
    array([2.25])
    """
    given = None if names is None else tuple(names)
    parsed = parse_ranklib(text, None if given is None else len(given), source=source)
    if isinstance(parsed.model, TreeEnsemble):
        return RankLibTrees(parsed.model, given)
    return RankLibLinear(parsed.model, given)
