"""Models from files that need their own library, or trust, besides those that ranklens reads by itself."""

from __future__ import annotations

import importlib
import io
import os
import pickle
from collections.abc import Callable, Iterable
from typing import Any

from ranklens.core import DataError, MissingDependencyError, RankLensError
from ranklens.explain.models.base import Model
from ranklens.explain.models.files import read_model
from ranklens.explain.models.foreign import said
from ranklens.explain.models.registry import adapt
from ranklens.io.sources import load, source_name, suffix_of

_PICKLES = (".pkl", ".pickle", ".joblib")
_LATEST_PROTOCOL = b"\x05"
_CBM_HEADER = 8
"""Four letters, and the number of bytes that follow at least."""


class UnsafeModelError(RankLensError, ValueError):
    """A pickled model, which may run any code while it is loaded."""


def load_model(
    path: str | os.PathLike[str], names: Iterable[str] | None = None, *, allow_pickle: bool = False
) -> Model:
    """Load a model from a file, compressed or not, recognised by what is in it.

    Parameters
    ----------
    path : str or path
        What `ranklens.explain.models.files.read_model` reads by itself (LightGBM's text, XGBoost's and
        CatBoost's JSON, RankLib's files, ONNX), XGBoost's UBJSON, CatBoost's cbm, or a pickle, of a
        scikit-learn model say.
    names : iterable of str, optional
        The features, where the file does not name them.
    allow_pickle : bool, default False
        Loading a pickle runs whatever code it holds. Allow it only for files that you made yourself.

    Returns
    -------
    Model

    Raises
    ------
    UnsafeModelError
        For a pickle that is not allowed.
    DataError
        When the file is no model that is known here, or damaged.
    MissingDependencyError
        When the model's library is needed and not installed.
    """
    file = source_name(path)
    data = bytes(load(path, file).content())
    kind = _kind_of(data, suffix_of(file))
    if kind is None:
        return read_model(path, names)
    if kind == "pickle" and not allow_pickle:
        raise UnsafeModelError(
            f"{file} is a pickle, and loading it would run whatever code it holds; if you trust it, pass "
            "load_model allow_pickle=True"
        )
    try:
        loaded = _LOADERS[kind](data)
    except (RankLensError, ImportError):
        raise
    except Exception as error:
        why = said(error)
        damaged = "" if kind == "pickle" or "cut off" in why else "; it may be damaged or cut off"
        raise DataError(f"this {kind} file cannot be read: {why}{damaged}", file=file) from error
    try:
        return adapt(loaded, names)
    except TypeError as error:
        raise DataError(str(error), file=file) from error


def _kind_of(data: bytes, suffix: str) -> str | None:
    if data.startswith(b"CBM1"):
        return "CatBoost"
    if data.startswith(b"{L") and b"learner" in data[:64]:
        return "XGBoost"
    pickled = data[:1] == b"\x80" and data[1:2] <= _LATEST_PROTOCOL and data[-1:] == b"."
    return "pickle" if pickled or suffix in _PICKLES else None


def _library(kind: str) -> Any:
    try:
        return importlib.import_module(kind.lower())
    except ImportError as error:
        install = "pip install 'ranklens[explain]'"
        raise MissingDependencyError(kind.lower(), f"a binary model of {kind}", install) from error


def _xgboost(data: bytes) -> Any:
    library = _library("XGBoost")
    # Some of what is cut off takes the whole process down in the library.
    if not data.endswith(b"}"):
        raise ValueError("it is cut off: the end of the model is missing; save it again")
    booster = library.Booster()
    booster.load_model(bytearray(data))
    return booster


def _catboost(data: bytes) -> Any:
    library = _library("CatBoost")
    # The library takes some of what is cut off for a model without features.
    promised = _CBM_HEADER + int.from_bytes(data[4:_CBM_HEADER], "little")
    if len(data) < promised:
        raise ValueError(f"it is cut off: it holds {len(data)} of {promised} bytes; save it again")
    model = library.CatBoost().load_model(blob=data)
    if not model.feature_names_:
        raise ValueError("the model has no features; save it again")
    return model


def _unpickled(data: bytes) -> Any:
    try:
        joblib = importlib.import_module("joblib")
    except ImportError:
        return pickle.loads(data)
    return joblib.load(io.BytesIO(data))


_LOADERS: dict[str, Callable[[bytes], Any]] = {
    "CatBoost": _catboost,
    "XGBoost": _xgboost,
    "pickle": _unpickled,
}
