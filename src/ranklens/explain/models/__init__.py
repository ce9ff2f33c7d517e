"""Adapters: one for each kind of model, under the same file name as the library.

Names are loaded on first use, and no model library is imported before a model of it is met.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranklens.explain.models.base import Model as Model
    from ranklens.explain.models.callable import CallableAdapter as CallableAdapter
    from ranklens.explain.models.catboost import CatBoostModel as CatBoostModel
    from ranklens.explain.models.files import read_model as read_model
    from ranklens.explain.models.jax import JaxModel as JaxModel
    from ranklens.explain.models.lightgbm import LightGBMModel as LightGBMModel
    from ranklens.explain.models.onnx import OnnxModel as OnnxModel
    from ranklens.explain.models.registry import adapt as adapt
    from ranklens.explain.models.sklearn import SklearnModel as SklearnModel
    from ranklens.explain.models.torch import TorchModel as TorchModel
    from ranklens.explain.models.tree_model import EnsembleModel as EnsembleModel
    from ranklens.explain.models.xgboost import XGBoostModel as XGBoostModel

_HOMES = {
    "base": "Model",
    "callable": "CallableAdapter",
    "catboost": "CatBoostModel",
    "files": "read_model",
    "jax": "JaxModel",
    "lightgbm": "LightGBMModel",
    "onnx": "OnnxModel",
    "registry": "adapt",
    "sklearn": "SklearnModel",
    "torch": "TorchModel",
    "tree_model": "EnsembleModel",
    "xgboost": "XGBoostModel",
}
_HOME_OF = {
    name: f"ranklens.explain.models.{home}" for home, names in _HOMES.items() for name in names.split()
}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'ranklens.explain.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
