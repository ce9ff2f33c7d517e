"""Measure rankings, compare them honestly, and understand why.

The public names are loaded on first use: ``import ranklens`` costs little more than ``import numpy``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranklens.arrays import memory_budget as memory_budget
    from ranklens.arrays import use_backend as use_backend
    from ranklens.core import BootstrapInterval as BootstrapInterval
    from ranklens.core import ComparisonResult as ComparisonResult
    from ranklens.core import DataError as DataError
    from ranklens.core import DataWarning as DataWarning
    from ranklens.core import InsufficientSampleError as InsufficientSampleError
    from ranklens.core import MetricResult as MetricResult
    from ranklens.core import MissingDependencyError as MissingDependencyError
    from ranklens.core import PPIComparison as PPIComparison
    from ranklens.core import RankLensError as RankLensError
    from ranklens.core import SmallSampleWarning as SmallSampleWarning
    from ranklens.core import UnknownNameError as UnknownNameError
    from ranklens.core.comparison_table import ComparisonTable as ComparisonTable
    from ranklens.core.evaluation import Evaluation as Evaluation
    from ranklens.core.evaluation import Evaluations as Evaluations
    from ranklens.io import Qrels as Qrels
    from ranklens.io import Run as Run
    from ranklens.io import demo_collection as demo_collection
    from ranklens.io import read_qrels as read_qrels
    from ranklens.io import read_run as read_run
    from ranklens.io import read_segments as read_segments
    from ranklens.metrics import evaluate as evaluate
    from ranklens.metrics import evaluate_many as evaluate_many
    from ranklens.metrics import mean_with_coverage as mean_with_coverage
    from ranklens.metrics import parse_measure as parse_measure
    from ranklens.metrics import rbo as rbo
    from ranklens.stats import adjust as adjust
    from ranklens.stats import benjamini_hochberg as benjamini_hochberg
    from ranklens.stats import benjamini_yekutieli as benjamini_yekutieli
    from ranklens.stats import compare as compare
    from ranklens.stats import compare_deltas as compare_deltas
    from ranklens.stats import compare_many as compare_many
    from ranklens.stats import compare_segments as compare_segments
    from ranklens.stats import holm as holm
    from ranklens.stats import mde as mde
    from ranklens.stats import minimum_detectable_effect as minimum_detectable_effect
    from ranklens.stats import paired_bootstrap as paired_bootstrap
    from ranklens.stats import paired_deltas as paired_deltas
    from ranklens.stats import permutation_test as permutation_test
    from ranklens.stats import ppi_compare as ppi_compare
    from ranklens.stats import required_queries as required_queries
    from ranklens.stats import simultaneous as simultaneous
    from ranklens.stats import standard_deviation as standard_deviation

__version__ = "0.1.0"

_HOMES = {
    "arrays": "memory_budget use_backend",
    "core": (
        "BootstrapInterval ComparisonResult DataError DataWarning InsufficientSampleError MetricResult "
        "MissingDependencyError PPIComparison RankLensError SmallSampleWarning UnknownNameError"
    ),
    "core.comparison_table": "ComparisonTable",
    "core.evaluation": "Evaluation Evaluations",
    "io": "Qrels Run demo_collection read_qrels read_run read_segments",
    "metrics": "evaluate evaluate_many mean_with_coverage parse_measure rbo",
    "stats": (
        "adjust benjamini_hochberg benjamini_yekutieli compare compare_deltas compare_many "
        "compare_segments holm mde minimum_detectable_effect paired_bootstrap paired_deltas "
        "permutation_test ppi_compare required_queries simultaneous standard_deviation"
    ),
}
_HOME_OF = {name: f"ranklens.{home}" for home, names in _HOMES.items() for name in names.split()}
_ROOMS = ("arrays", "core", "explain", "io", "kernels", "metrics", "stats")

__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(importlib.import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value
    if name in _ROOMS:
        return importlib.import_module(f"ranklens.{name}")
    raise AttributeError(f"module 'ranklens' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS})
