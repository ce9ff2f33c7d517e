"""RankLib's model files: ensembles of trees, and linear models.

A file is a few lines of comments, the first of which names the method, and then either XML-like ensembles (a
random forest has several, one after another) or the weights of a linear model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from ranklens.core import DataError
from ranklens.explain.trees.ensemble import TreeEnsemble
from ranklens.explain.trees.tree import NO_FEATURE, Tree

_ENSEMBLE = re.compile(r"<ensemble>.*?</ensemble>", re.DOTALL)
_BAGS = re.compile(r"^##\s*No\. of bags\s*=\s*(\d+)", re.MULTILINE)
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_WEIGHT = re.compile(r"(?<!\S)\d+:\S+")
_FRACTION = re.compile(r"\.\d")
_TREES = ("LambdaMART", "MART", "Random Forests")
_LINEAR = ("Linear Regression", "Coordinate Ascent")


@dataclass(frozen=True)
class LinearModel:
    """A score that is a constant and a weighted sum; `weights` has one entry a feature."""

    weights: NDArray[np.float64]
    constant: float

    def scores(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of rows, shape (n, features); RankLib reads NaN as 0."""
        known = np.where(np.isnan(points), 0.0, points)
        return np.asarray(known @ self.weights + self.constant)


@dataclass(frozen=True)
class RankLibModel:
    """A parsed file. Column i is RankLib's feature i + 1."""

    method: str
    n_features: int
    model: TreeEnsemble | LinearModel


def parse_ranklib(text: str, n_features: int | None = None, *, source: str | None = None) -> RankLibModel:
    """Parse a RankLib model of trees or of weights.

    Parameters
    ----------
    text : str
        The file's text.
    n_features : int, optional
        How many features rows have; by default the highest number that occurs.

    Raises
    ------
    DataError
        When the text is no such model, or not all of one, or looks at a feature past `n_features`. Linear
        models have no end: one that is cut off between two weights, or inside a fraction, looks whole.
    """
    method = text.lstrip().partition("\n")[0].lstrip("# ").strip()
    if method in _TREES:
        trees, highest = _trees(text, method, source)
    elif method in _LINEAR:
        weights = _weights(text, source)
        highest = max(weights)
    else:
        known = ", ".join(_TREES + _LINEAR)
        raise DataError(f"no RankLib model of {method!r} can be read; these can: {known}", file=source)
    width = highest if n_features is None else n_features
    if highest > width:
        raise DataError(f"the model looks at feature {highest}, and rows have {width}", file=source)
    if method in _TREES:
        return RankLibModel(method, width, TreeEnsemble.of(trees, width, single=True))
    dense = np.zeros(width)
    for feature, weight in weights.items():
        if feature:
            dense[feature - 1] = weight
    return RankLibModel(method, width, LinearModel(dense, weights.get(0, 0.0)))


def _weights(text: str, source: str | None) -> dict[int, float]:
    """Read ``feature:weight`` pairs. Feature 0 is the constant, as RankLib itself reads its files."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        for pair in line.split():
            feature, _, weight = pair.partition(":")
            try:
                found[int(feature)] = float(weight)
            except ValueError:
                raise DataError(
                    "a weight must be feature:weight", file=source, line=number, text=pair
                ) from None
    if not any(found):
        raise DataError("the model holds no weights", file=source)
    _check_last_weight(text, source)
    return found


def _check_last_weight(text: str, source: str | None) -> None:
    """Raise a `DataError` where the last weight lacks the fraction that the others have.

    RankLib writes no end, and every number with a fraction. What is cut off behind a digit of a fraction
    cannot be told from a whole file.
    """
    weights = _WEIGHT.findall(text)
    fractions = [_FRACTION.search(weight) is not None for weight in weights]
    if not text[-1:].isspace() and len(weights) > 1 and all(fractions[:-1]) and not fractions[-1]:
        raise DataError(
            "this RankLib model seems to be cut off: its last weight has no fraction, and all others have "
            "one; save it again, or end the file with a line break if it is whole",
            file=source,
            text=text.split()[-1],
        )


def _trees(text: str, method: str, source: str | None) -> tuple[list[Tree], int]:
    parts = _ENSEMBLE.findall(text)
    _check_complete(text, len(parts), source)
    try:
        ensembles = [ElementTree.fromstring(part) for part in parts]
        # The mean of a forest's bags is a sum of trees that weigh less.
        share = 1.0 / len(ensembles) if method == "Random Forests" and ensembles else 1.0
        trees = [_tree(tree, share) for ensemble in ensembles for tree in ensemble.findall("tree")]
    except (ElementTree.ParseError, ValueError, KeyError) as error:
        raise DataError(f"a tree cannot be read: {error}", file=source) from error
    if not trees:
        raise DataError("the model holds no trees", file=source)
    return trees, 1 + max(int(tree.feature.max()) for tree in trees)


def _check_complete(text: str, n_ensembles: int, source: str | None) -> None:
    """Raise a `DataError` where the end of an ensemble, or a bag of a forest, is missing.

    Trees are not counted: RankLib drops those behind the best one on its validation data, and writes in the
    header how many it was asked for.
    """
    rest = _COMMENT.sub("", _ENSEMBLE.sub("", text)).strip()
    bags = _BAGS.search(text)
    if rest or (bags and int(bags[1]) != n_ensembles):
        promised = f" of {bags[1]} bags" if bags else " whole ensembles of trees"
        raise DataError(
            f"this RankLib model is cut off or damaged: it holds {n_ensembles}{promised}"
            f"{', and more behind them' if rest else ''}; save it again",
            file=source,
            text=rest or None,
        )


def _tree(tree: ElementTree.Element, share: float) -> Tree:
    weight = float(np.float32(tree.get("weight", "1"))) * share
    nodes, left, right = [_child(tree, "split")], [0], [0]
    feature, threshold, value = [], [], []
    for at, node in enumerate(nodes):
        output = node.find("output")
        feature.append(NO_FEATURE if output is not None else _column(node))
        threshold.append(0.0 if output is not None else float(np.float32(_text(node, "threshold"))))
        value.append(weight * float(_text(node, "output")) if output is not None else 0.0)
        if output is None:
            sides = {child.get("pos"): child for child in node.findall("split")}
            left[at], right[at] = len(nodes), len(nodes) + 1
            nodes += [sides["left"], sides["right"]]
            left += [0, 0]
            right += [0, 0]
    thresholds = np.asarray(threshold)
    return Tree(
        feature=np.asarray(feature),
        threshold=thresholds,
        left=np.asarray(left),
        right=np.asarray(right),
        value=np.asarray(value),
        # An unknown value counts as 0.
        nan_left=thresholds >= 0.0,
    )


def _column(node: ElementTree.Element) -> int:
    number = int(_text(node, "feature"))
    if number < 1:
        raise ValueError(f"features are numbered from 1, and a split looks at {number}")
    return number - 1


def _child(node: ElementTree.Element, tag: str) -> ElementTree.Element:
    found = node.find(tag)
    if found is None:
        raise ValueError(f"a {node.tag} has no {tag}")
    return found


def _text(node: ElementTree.Element, tag: str) -> str:
    return (_child(node, tag).text or "").strip()
