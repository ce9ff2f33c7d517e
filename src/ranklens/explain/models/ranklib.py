"""RankLib's model files: trees in closed form, linear models as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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
    names : iterable of str
    """

    kind = "the RankLib model"

    def __init__(self, linear: LinearModel, names: Iterable[str]) -> None:
        super().__init__(names, open_backend("numpy"))
        self.linear = linear

    def predict(self, points: Any) -> Any:
        return self.linear.scores(points)


class RankLibTrees(EnsembleModel):
    """A LambdaMART, MART or random forest model."""

    kind = "the RankLib model"


def ranklib_model(
    text: str, names: Iterable[str] | None = None, *, source: str | None = None
) -> RankLibLinear | RankLibTrees:
    """Return the model that the text of a RankLib file describes.

    Parameters
    ----------
    text : str
    names : iterable of str, optional
        Column i is RankLib's feature i + 1. By default their numbers, to the highest that the model looks at.
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
    known = given or tuple(str(1 + column) for column in range(parsed.n_features))
    if isinstance(parsed.model, TreeEnsemble):
        return RankLibTrees(parsed.model, known)
    return RankLibLinear(parsed.model, known)
