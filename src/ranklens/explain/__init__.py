"""Why did the model put one document above another, and which features move the metric?

Names are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranklens.core.changes import ModelChange as ModelChange
    from ranklens.core.changes import Swap as Swap
    from ranklens.core.explanations import PairwiseExplanation as PairwiseExplanation
    from ranklens.core.explanations import PairwiseExplanations as PairwiseExplanations
    from ranklens.core.importances import ListwiseImportance as ListwiseImportance
    from ranklens.explain.change import explain_change as explain_change
    from ranklens.explain.groups import correlated_groups as correlated_groups
    from ranklens.explain.importance import listwise as listwise
    from ranklens.explain.model_files import load_model as load_model
    from ranklens.explain.models.base import Model as Model
    from ranklens.explain.models.callable import CallableAdapter as CallableAdapter
    from ranklens.explain.models.registry import adapt as adapt
    from ranklens.explain.pairs import pairwise as pairwise
    from ranklens.explain.pairs import pairwise_many as pairwise_many
    from ranklens.io.letor import read_letor as read_letor
    from ranklens.io.query_features import QueryFeatures as QueryFeatures

_HOMES = {
    "core.changes": "ModelChange Swap",
    "core.explanations": "PairwiseExplanation PairwiseExplanations",
    "core.importances": "ListwiseImportance",
    "explain.change": "explain_change",
    "explain.groups": "correlated_groups",
    "explain.importance": "listwise",
    "explain.model_files": "load_model",
    "explain.models.base": "Model",
    "explain.models.callable": "CallableAdapter",
    "explain.models.registry": "adapt",
    "explain.pairs": "pairwise pairwise_many",
    "io.letor": "read_letor",
    "io.query_features": "QueryFeatures",
}
_HOME_OF = {name: f"ranklens.{home}" for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'ranklens.explain' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
