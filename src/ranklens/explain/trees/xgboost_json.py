"""XGBoost's JSON: the model format, and the older dump of trees."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core import DataError
from ranklens.explain.trees.damage import parsing
from ranklens.explain.trees.ensemble import TreeEnsemble
from ranklens.explain.trees.tree import NO_FEATURE, Tree
from ranklens.explain.trees.unsupported import UnsupportedTreesError

_NUMBERED = re.compile(r"f(0|[1-9]\d{0,6})")
_LOGIT = {"binary:logistic", "binary:logitraw", "reg:logistic"}
_LOG = {"count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"}


@dataclass(frozen=True)
class XGBoostJSON:
    """A parsed model; `names` is empty where it was trained without.

    `ordered` is False where the text has names of features and not their order. `categories` are those that a
    frame gave to it, by column, in the order of their codes; the empty tuple stands for texts that XGBoost
    damages. It keeps them since version 3.1.
    """

    names: tuple[str, ...]
    ensemble: TreeEnsemble
    ordered: bool = True
    categories: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)


def parse_xgboost(text: str | bytes | bytearray, *, source: str | None = None) -> XGBoostJSON:
    """Parse a model as ``booster.save_model("model.json")`` writes it; scores are margins.

    Raises
    ------
    DataError
        When the text is no XGBoost model.
    UnsupportedTreesError
        When it is linear, or has several scores a row.
    """
    with parsing("XGBoost model in JSON", "save one with booster.save_model('model.json')", source):
        return _parsed(json.loads(text)["learner"])


def _parsed(learner: dict[str, Any]) -> XGBoostJSON:
    booster = learner["gradient_booster"]
    parameters = learner["learner_model_param"]
    classes = max(int(parameters.get("num_class", 0)), int(parameters.get("num_target", 1)))
    if classes > 1:
        raise UnsupportedTreesError(f"the model has {classes} classes or targets and a score for each")
    if booster["name"] == "gblinear":
        raise UnsupportedTreesError("the model is linear (booster gblinear)")
    grown = booster["gbtree"]["model"] if "gbtree" in booster else booster["model"]
    weights = booster.get("weight_drop") or [1.0] * len(grown["trees"])
    trees = [_tree(tree, weight) for tree, weight in zip(grown["trees"], weights, strict=True)]
    offset = _margin(str(parameters["base_score"]), learner["objective"]["name"])
    n_features = int(parameters["num_feature"])
    if not n_features:
        raise ValueError("it has no features")
    ensemble = TreeEnsemble.of(trees, n_features, offset=offset, single=True, downwards=True)
    names = tuple(learner.get("feature_names", ()))
    return XGBoostJSON(names, ensemble, categories=_trained_categories(grown))


def _trained_categories(grown: dict[str, Any]) -> dict[int, tuple[Any, ...]]:
    kept = (grown.get("cats") or {}).get("enc", ())
    return {column: _encoded(some) for column, some in enumerate(kept) if some["values"]}


def _encoded(kept: dict[str, Any]) -> tuple[Any, ...]:
    """Return numbers as they are, and texts cut from their bytes; nothing where these may be cut wrongly."""
    if "offsets" not in kept:
        return tuple(kept["values"])
    # Of pandas' texts XGBoost counts the characters, and so cuts off bytes of those beyond ASCII.
    if min(kept["values"], default=0) < 0:
        return ()
    letters = bytes(kept["values"]).decode("ascii")
    return tuple(letters[start:stop] for start, stop in pairwise(kept["offsets"]))


def parse_xgboost_dump(
    text: str, names: Sequence[str] | None = None, *, source: str | None = None
) -> XGBoostJSON:
    """Parse the trees of ``booster.dump_model("trees.json", dump_format="json")``.

    A dump holds no base score: the scores are sums of leaves. Its features are those of `names`, in that
    order; by default f0, f1, ... up to the last of them that occurs, or other names that occur in it, sorted.
    """
    try:
        nodes = [_flattened(root) for root in json.loads(text)]
        found = {node["split"] for tree in nodes for node in tree if "split" in node}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError("this is no dump of XGBoost's trees in JSON", file=source) from error
    if not nodes:
        raise DataError("this is no dump of XGBoost's trees in JSON: there is no tree", file=source)
    numbered = all(_NUMBERED.fullmatch(name) for name in found)
    columns = tuple(names) if names is not None else _in_order(found, numbered)
    unknown = sorted(found - set(columns))
    if unknown:
        raise DataError(
            f"the trees look at {', '.join(unknown)}, which names does not hold; give every feature",
            file=source,
        )
    place = {name: column for column, name in enumerate(columns)}
    trees = [_dumped_tree(tree, place) for tree in nodes]
    ensemble = TreeEnsemble.of(trees, len(columns), single=True)
    return XGBoostJSON(columns, ensemble, names is not None or numbered)


def _tree(tree: dict[str, Any], weight: float) -> Tree:
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise UnsupportedTreesError("its leaves hold several values")
    left = np.asarray(tree["left_children"], dtype=np.int64)
    right = np.asarray(tree["right_children"], dtype=np.int64)
    leaf = left == -1
    condition = np.asarray(tree["split_conditions"], dtype=np.float32)
    feature = np.where(leaf, NO_FEATURE, np.asarray(tree["split_indices"], dtype=np.int64))
    nan_left = np.asarray(tree["default_left"], dtype=np.bool_)
    categories = _categories(tree)
    # What is listed goes right in XGBoost, and left in a `Tree`.
    turned = np.zeros(leaf.size, dtype=np.bool_)
    turned[list(categories)] = True
    return Tree(
        feature=feature,
        threshold=np.where(leaf, 0.0, below(condition)),
        left=np.where(leaf, 0, np.where(turned, right, left)),
        right=np.where(leaf, 0, np.where(turned, left, right)),
        value=np.where(leaf, condition.astype(np.float64) * weight, 0.0),
        nan_left=nan_left ^ turned,
        categories=categories,
    )


def _categories(tree: dict[str, Any]) -> dict[int, tuple[int, ...]]:
    listed = tree.get("categories", ())
    spans = zip(
        tree.get("categories_nodes", ()),
        tree.get("categories_segments", ()),
        tree.get("categories_sizes", ()),
        strict=True,
    )
    return {node: tuple(listed[start : start + size]) for node, start, size in spans}


def below(threshold: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the largest float32 below each threshold, so that x < threshold becomes x <= that."""
    return np.nextafter(threshold, np.float32(-math.inf)).astype(np.float64)


def _margin(base_score: str, objective: str) -> float:
    base = float(base_score.strip("[]").split(",")[0])
    if objective in _LOGIT:
        return math.log(base / (1.0 - base)) if objective != "binary:logitraw" else base
    return math.log(base) if objective in _LOG else base


def _flattened(root: dict[str, Any]) -> list[dict[str, Any]]:
    nodes, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        waiting.extend(node.get("children", ()))
    return sorted(nodes, key=lambda node: int(node["nodeid"]))


def _dumped_tree(nodes: list[dict[str, Any]], place: dict[str, int]) -> Tree:
    index = {node["nodeid"]: i for i, node in enumerate(nodes)}
    for node in nodes:
        if "leaf" not in node and not isinstance(node.get("split_condition"), (int, float)):
            raise UnsupportedTreesError(
                f"a split on {node['split']} has no threshold (a category or indicator)"
            )
    split = ["leaf" not in node for node in nodes]
    condition = np.asarray([node.get("split_condition", 0.0) for node in nodes], dtype=np.float32)
    leaves = np.asarray([node.get("leaf", 0.0) for node in nodes], dtype=np.float32)

    def child(name: str) -> NDArray[np.int64]:
        return np.asarray([index[node[name]] if name in node else 0 for node in nodes], dtype=np.int64)

    return Tree(
        feature=np.asarray([place[node["split"]] if "split" in node else NO_FEATURE for node in nodes]),
        threshold=np.where(split, below(condition), 0.0),
        left=child("yes"),
        right=child("no"),
        value=leaves.astype(np.float64),
        nan_left=child("missing") == child("yes"),
    )


def _in_order(names: set[str], numbered: bool) -> tuple[str, ...]:
    """Return f0, f1, ... as far as the names go, or any other names sorted."""
    if not numbered:
        return tuple(sorted(names))
    return tuple(f"f{i}" for i in range(max((int(name[1:]) for name in names), default=0) + 1))
