"""CatBoost's JSON export: oblivious trees, and trees of other growing policies."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ranklens.explain.trees.damage import parsing
from ranklens.explain.trees.ensemble import TreeEnsemble
from ranklens.explain.trees.tree import NO_FEATURE, Tree
from ranklens.explain.trees.unsupported import UnsupportedTreesError


def parse_catboost(text: str | bytes, *, source: str | None = None) -> TreeEnsemble:
    """Parse a model as ``model.save_model("model.json", format="json")`` writes it.

    Scores are raw formula values.

    Raises
    ------
    DataError
        When the text is no CatBoost model.
    UnsupportedTreesError
        When its splits look at categories, texts or embeddings, or it has a score a class.
    """
    with parsing("CatBoost model in JSON", "save one with model.save_model(path, format='json')", source):
        return _parsed(json.loads(text))


def _parsed(model: dict[str, Any]) -> TreeEnsemble:
    features = model["features_info"]
    scale, bias = model["scale_and_bias"]
    grown = model["oblivious_trees"] if "oblivious_trees" in model else model["trees"]
    columns = {f["feature_index"]: f for f in features.get("float_features", ())}
    parse = _oblivious if "oblivious_trees" in model else _nested
    kinds = [kind for kind in features if kind != "float_features" and features[kind]]
    if kinds:
        raise UnsupportedTreesError(f"the model has {', '.join(kinds).replace('_', ' ')}")
    if len(bias) > 1:
        raise UnsupportedTreesError(f"the model has {len(bias)} classes and a score for each")
    offset = float(bias[0]) if bias else 0.0
    trees = [parse(tree, columns, float(scale)) for tree in grown]
    if not columns:
        raise ValueError("it has no features")
    n_features = 1 + max(int(f["flat_feature_index"]) for f in columns.values())
    return TreeEnsemble.of(trees, n_features, offset=offset, single=True)


def _oblivious(tree: dict[str, Any], columns: dict[int, Any], scale: float) -> Tree:
    """Unfold a tree with one split a level: the last split is at the root, the first above the leaves."""
    splits, values = tree.get("splits") or [], np.asarray(tree["leaf_values"], dtype=np.float64)
    if values.size != 2 ** len(splits):
        raise UnsupportedTreesError(f"its leaves hold {values.size // 2 ** len(splits)} values each")
    n_inner = values.size - 1
    node = np.arange(n_inner + values.size)
    inner = node < n_inner
    # Heap order: the children of node i are 2i + 1 and 2i + 2, and depth d starts at 2^d - 1.
    level = len(splits) - 1 - np.floor(np.log2(node[:n_inner] + 1)).astype(np.int64)
    read = [_split(split, columns) for split in splits]
    feature = np.full(node.size, NO_FEATURE, dtype=np.int64)
    threshold, nan_left = np.zeros(node.size), np.zeros(node.size, dtype=np.bool_)
    if n_inner:
        for target, index in ((feature, 0), (threshold, 1), (nan_left, 2)):
            target[:n_inner] = np.asarray([split[index] for split in read])[level]
    value = np.zeros(node.size)
    value[n_inner:] = values * scale
    return Tree(
        feature=feature,
        threshold=threshold,
        left=np.where(inner, 2 * node + 1, 0),
        right=np.where(inner, 2 * node + 2, 0),
        value=value,
        nan_left=nan_left,
    )


def _nested(root: dict[str, Any], columns: dict[int, Any], scale: float) -> Tree:
    nodes, left, right = [root], [0], [0]
    for at, node in enumerate(nodes):
        if "split" in node:
            left[at], right[at] = len(nodes), len(nodes) + 1
            nodes += [node["left"], node["right"]]
            left += [0, 0]
            right += [0, 0]
    read = [_split(node["split"], columns) if "split" in node else (NO_FEATURE, 0.0, False) for node in nodes]
    if any(isinstance(node.get("value"), list) for node in nodes):
        raise UnsupportedTreesError("its leaves hold several values")
    return Tree(
        feature=np.asarray([split[0] for split in read]),
        threshold=np.asarray([split[1] for split in read]),
        left=np.asarray(left),
        right=np.asarray(right),
        value=np.asarray([node.get("value", 0.0) for node in nodes], dtype=np.float64) * scale,
        nan_left=np.asarray([split[2] for split in read]),
    )


def _split(split: dict[str, Any], columns: dict[int, Any]) -> tuple[int, float, bool]:
    """Return the column, the border as float32, and whether NaN goes left (x <= border)."""
    if split["split_type"] != "FloatFeature":
        raise UnsupportedTreesError(f"a split is of type {split['split_type']}")
    feature = columns[split["float_feature_index"]]
    nan_left = feature["nan_value_treatment"] != "AsTrue"
    return int(feature["flat_feature_index"]), float(np.float32(split["border"])), nan_left
