"""Models from files, recognised by what is in them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ranklens.core import DataError, MissingDependencyError
from ranklens.explain.models.base import Model, names_for
from ranklens.explain.models.lightgbm import LightGBMModel
from ranklens.explain.models.tree_model import EnsembleModel
from ranklens.explain.models.xgboost import XGBoostDump, XGBoostTrees
from ranklens.explain.trees import UnsupportedTreesError
from ranklens.explain.trees.catboost_json import parse_catboost
from ranklens.explain.trees.lightgbm_text import pandas_categories, parse_lightgbm
from ranklens.explain.trees.xgboost_json import parse_xgboost, parse_xgboost_dump
from ranklens.io.compression import compression_of, decompress

Names = tuple[str, ...] | None


def read_model(path: str | os.PathLike[str], names: Iterable[str] | None = None) -> Model:
    """Read a ranking model from a file; trees need no library but this one.

    Read are LightGBM's text format, XGBoost's JSON (models and dumps), CatBoost's JSON, RankLib's files, and
    ONNX (through onnxruntime); any of them may be compressed.

    Parameters
    ----------
    path : str or path
    names : iterable of str, optional
        The features, in the order of the columns. By default those of the file; RankLib's are numbers. A dump
        of XGBoost with names of features does not hold their order: without `names`, rows must have names.

    Raises
    ------
    DataError
        When the file holds no such model.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.txt"
    ...     _ = path.write_text("## Coordinate Ascent\\n1:2.0 2:-1.0\\n")
    ...     model = read_model(path, ["bm25", "price"])
    >>> model.score(np.asarray([[1.0, 0.25]]))
    array([1.75])
    """
    file = Path(path)
    data = file.read_bytes()
    kind = compression_of(data[:8])
    if kind is not None:
        data = decompress(data, kind, str(file))
    given = None if names is None else tuple(names)
    name = file.name.removesuffix(".gz")
    if name.endswith(".onnx"):
        from ranklens.explain.models.onnx import OnnxModel

        return OnnxModel(data, given)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError("no model can be read from this binary file", file=str(file)) from error
    return _reader_of(text, str(file))(text, given, str(file))


Reader = Callable[[str, Names, str], Model]


def _reader_of(text: str, file: str) -> Reader:
    head = text.lstrip()[:200]
    if head.startswith("tree\n"):
        return _lightgbm
    if head.startswith("##"):
        from ranklens.explain.models.ranklib import ranklib_model

        return lambda text, names, file: ranklib_model(text, names, source=file)
    if head.startswith("["):
        return _xgboost_dump
    if head.startswith("{"):
        if '"max_feature_idx"' in text:
            raise DataError(
                "this is what LightGBM's dump_model() gives; save the model with "
                "booster.save_model('model.txt') and read that",
                file=file,
            )
        if '"features_info"' in text or '"learner"' in text:
            return _catboost if '"features_info"' in text else _xgboost
        raise DataError(
            'this JSON holds neither the "learner" of an XGBoost model nor the "features_info" of a CatBoost '
            "model; it is no model, or cut off",
            file=file,
        )
    what = "this is no" if text.strip() else "the file is empty, and no"
    raise DataError(
        f"{what} model of LightGBM (text), XGBoost (JSON), CatBoost (JSON), RankLib or ONNX", file=file
    )


def _lightgbm(text: str, names: Names, file: str) -> Model:
    try:
        parsed = parse_lightgbm(text, source=file)
    except UnsupportedTreesError:
        return LightGBMModel(_lightgbm_library(file).Booster(model_str=text), names)
    return EnsembleModel(
        parsed.ensemble, names_for(parsed.names, names, LightGBMModel.kind), pandas_categories(text)
    )


def _lightgbm_library(file: str) -> Any:
    try:
        return importlib.import_module("lightgbm")
    except ImportError as error:
        raise MissingDependencyError(
            "lightgbm", f"{file}, whose trees have no closed form,", "pip install 'ranklens[lightgbm]'"
        ) from error


def _xgboost(text: str, names: Names, file: str) -> Model:
    parsed = parse_xgboost(text, source=file)
    numbered = tuple(f"f{i}" for i in range(parsed.ensemble.n_features))
    named = names_for(parsed.names or numbered, names, XGBoostTrees.kind)
    return XGBoostTrees(parsed.ensemble, named, parsed.categories)


def _xgboost_dump(text: str, names: Names, file: str) -> Model:
    parsed = parse_xgboost_dump(text, names, source=file)
    return (XGBoostTrees if parsed.ordered else XGBoostDump)(parsed.ensemble, parsed.names)


def _catboost(text: str, names: Names, file: str) -> Model:
    ensemble = parse_catboost(text, source=file)
    return EnsembleModel(ensemble, names or tuple(str(i) for i in range(ensemble.n_features)))
