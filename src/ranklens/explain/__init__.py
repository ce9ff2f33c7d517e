"""Why did the model put one document above another, and which features move the metric?

Names are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranklens.core.explanations import PairwiseExplanation as PairwiseExplanation
    from ranklens.core.explanations import PairwiseExplanations as PairwiseExplanations
    from ranklens.explain.models.base import Model as Model
    from ranklens.explain.models.callable import CallableAdapter as CallableAdapter
    from ranklens.explain.models.registry import adapt as adapt

_HOMES = {
    "core.explanations": "PairwiseExplanation PairwiseExplanations",
    "explain.models.base": "Model",
    "explain.models.callable": "CallableAdapter",
    "explain.models.registry": "adapt",
}
_HOME_OF = {name: f"ranklens.{home}" for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'ranklens.explain' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
