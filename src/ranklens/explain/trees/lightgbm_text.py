"""LightGBM's text model format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core import DataError
from ranklens.explain.trees.ensemble import TreeEnsemble
from ranklens.explain.trees.tree import NO_FEATURE, ZERO_IS_ORDINARY, Tree
from ranklens.explain.trees.unsupported import UnsupportedTreesError
from ranklens.kernels.tree_codes import ZERO_WIDTH

# Bits of decision_type.
_CATEGORICAL = 1
_DEFAULT_LEFT = 2
_MISSING_SHIFT = 2
_MISSING_ZERO = 1
_WORD_BITS = 32
_PANDAS = re.compile(r"^pandas_categorical:(\[.*\])$", re.MULTILINE)
_CATEGORICAL_FEATURES = re.compile(r"^\[categorical_feature: ([\d,]*)\]$", re.MULTILINE)
_END = "\nend of trees"


@dataclass(frozen=True)
class LightGBMText:
    """A parsed model: its feature names, its objective, and its trees where they have a closed form."""

    names: tuple[str, ...]
    objective: str
    ensemble: TreeEnsemble


def pandas_categories(text: str) -> dict[int, tuple[Any, ...]]:
    """Return the categories of pandas that a model was trained on, by column, in the order of their codes.

    The file lists them in the order of the frame's categorical columns. Where these are not just the model's
    categorical features (ordered categories are none), which belongs to which column is not known: then
    every column has the empty tuple.
    """
    found = _PANDAS.search(text, max(text.rfind("\npandas_categorical:"), 0))
    listed = json.loads(found[1]) if found is not None else None
    if not listed:
        return {}
    parameter = _CATEGORICAL_FEATURES.search(text, max(text.rfind(_END), 0))
    columns = sorted({int(column) for column in parameter[1].split(",") if column}) if parameter else []
    if len(columns) != len(listed):
        names = next(line for line in text.splitlines() if line.startswith("feature_names="))
        return dict.fromkeys(range(len(names.split(" "))), ())
    return {column: tuple(some) for column, some in zip(columns, listed, strict=True)}


def parse_lightgbm(text: str, *, source: str | None = None) -> LightGBMText:
    """Parse the text of a LightGBM model file (versions 2 to 4).

    Raises
    ------
    DataError
        When the text is no LightGBM model, or not all of one.
    UnsupportedTreesError
        When its leaves are linear models, or it has one score a class.
    """
    header, *blocks = _sections(text)
    if "feature_names" not in header or "max_feature_idx" not in header:
        raise DataError("this is no LightGBM model; save one with booster.save_model(...)", file=source)
    per_iteration = int(header.get("num_tree_per_iteration", "1"))
    if per_iteration != 1:
        raise UnsupportedTreesError(f"the model has {per_iteration} classes and a score for each")
    names = tuple(header["feature_names"].split(" "))
    _check_complete(text, header, len(blocks), source)
    try:
        trees = [_tree(block) for block in blocks]
    except UnsupportedTreesError:
        raise
    except (KeyError, ValueError, IndexError) as error:
        raise DataError(f"a tree of this LightGBM model cannot be read: {error!r}", file=source) from error
    if "average_output" in header:
        trees = [_scaled(tree, 1.0 / len(trees)) for tree in trees]
    return LightGBMText(names, header.get("objective", ""), TreeEnsemble.of(trees, len(names)))


def _check_complete(text: str, header: dict[str, str], n_trees: int, source: str | None) -> None:
    promised = len(header["tree_sizes"].split()) if "tree_sizes" in header else n_trees
    if n_trees != promised or _END not in text:
        raise DataError(
            f"this LightGBM model is cut off: it holds {n_trees} of {promised} trees"
            f"{'' if _END in text else ', and not its last line'}; save it again",
            file=source,
        )


def _sections(text: str) -> Iterator[dict[str, str]]:
    """Yield the keys and values of the header and of each tree."""
    section: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("Tree="):
            yield section
            section = {}
        elif line.startswith("end of trees"):
            break
        elif line:
            key, _, value = line.partition("=")
            section[key] = value
    yield section


def _tree(block: dict[str, str]) -> Tree:
    if block.get("is_linear", "0") != "0":
        raise UnsupportedTreesError("the leaves of its trees are linear models")
    n_leaves = int(block["num_leaves"])
    n_inner = n_leaves - 1
    feature = np.full(n_inner + n_leaves, NO_FEATURE, dtype=np.int64)
    threshold, value = np.zeros(feature.size), np.zeros(feature.size)
    left, right = np.zeros_like(feature), np.zeros_like(feature)
    value[n_inner:] = _floats(block["leaf_value"])
    nan_left, zero_left = np.zeros(feature.size, dtype=np.bool_), np.full_like(feature, ZERO_IS_ORDINARY)
    categories: dict[int, tuple[int, ...]] = {}
    if n_inner:
        feature[:n_inner] = _ints(block["split_feature"])
        threshold[:n_inner] = _floats(block["threshold"])
        left[:n_inner] = _child(block["left_child"], n_inner)
        right[:n_inner] = _child(block["right_child"], n_inner)
        kind = _ints(block["decision_type"])
        nan_left[:n_inner], zero_left[:n_inner] = _missing(kind, threshold[:n_inner])
        categories = _categories(block, kind, threshold)
        numeric = np.flatnonzero((kind & _CATEGORICAL) == 0)
        threshold[numeric] = _read_zeros_as_zero(threshold[numeric])
    return Tree(feature, threshold, left, right, value, nan_left, zero_left, categories)


def _read_zeros_as_zero(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move thresholds out of the range of numbers that LightGBM reads as 0: below it, or to its upper end.

    A split at float32(-1e-35), which LightGBM puts between the negative numbers and the zeros, so sends
    that number itself to the right, with 0.
    """
    inside = (threshold >= -ZERO_WIDTH) & (threshold <= ZERO_WIDTH)
    moved = np.where(threshold < 0.0, np.nextafter(-ZERO_WIDTH, -np.inf), ZERO_WIDTH)
    return np.where(inside, moved, threshold)


def _missing(
    kind: NDArray[np.int64], threshold: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return where NaN and zeros go: what is not missing by its type is compared, NaN as zero."""
    missing = kind >> _MISSING_SHIFT & 3
    default_left = (kind & _DEFAULT_LEFT) != 0
    nan_left = np.where(missing == 0, threshold >= 0.0, default_left)
    zero_left = np.where(missing == _MISSING_ZERO, default_left, ZERO_IS_ORDINARY)
    # A categorical node sends NaN right, whatever its type of missing values.
    numeric = (kind & _CATEGORICAL) == 0
    return nan_left & numeric, np.where(numeric, zero_left, ZERO_IS_ORDINARY)


def _categories(
    block: dict[str, str], kind: NDArray[np.int64], threshold: NDArray[np.float64]
) -> dict[int, tuple[int, ...]]:
    found = {}
    for node in np.flatnonzero(kind & _CATEGORICAL).tolist():
        bounds, words = _ints(block["cat_boundaries"]), _ints(block["cat_threshold"])
        which = int(threshold[node])
        bits = words[bounds[which] : bounds[which + 1]].astype(np.uint32)
        members = np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little"))
        found[node] = tuple(members.tolist())
    return found


def _child(text: str, n_inner: int) -> NDArray[np.int64]:
    """Number the leaves, which the file counts as -1, -2, ..., after the inner nodes."""
    child = _ints(text)
    return np.where(child < 0, n_inner + ~child, child)


def _scaled(tree: Tree, factor: float) -> Tree:
    fields = vars(tree) | {"value": tree.value * factor}
    return Tree(**fields)


def _ints(text: str) -> NDArray[np.int64]:
    return np.asarray(text.split(), dtype=np.int64)


def _floats(text: str) -> NDArray[np.float64]:
    return np.asarray(text.split(), dtype=np.float64)
