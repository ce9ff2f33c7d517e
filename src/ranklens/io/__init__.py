"""Reading and writing runs, judgements and segments."""

from __future__ import annotations

from typing import Any

from ranklens.io.collection import Qrels, Run
from ranklens.io.reading import as_qrels, as_run, read_qrels, read_run
from ranklens.io.sources import run_name

__all__ = [
    "Qrels",
    "QueryFeatures",
    "Run",
    "Segments",
    "as_qrels",
    "as_run",
    "demo_collection",
    "read_letor",
    "read_qrels",
    "read_run",
    "read_segments",
    "run_name",
    "sha256_of",
]

_LATER = {
    "DemoCollection": "synthetic",
    "QueryFeatures": "query_features",
    "Segments": "segments",
    "demo_collection": "synthetic",
    "read_letor": "letor",
    "read_segments": "segments",
    "sha256_of": "hashing",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'ranklens.io' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"ranklens.io.{_LATER[name]}"), name)
