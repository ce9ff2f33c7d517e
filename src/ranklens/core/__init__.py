"""Types, results and errors; imports nothing else of ranklens."""

from ranklens.core.comparisons import BootstrapInterval, ComparisonResult, PPIComparison
from ranklens.core.errors import (
    CoarseIntervalWarning,
    CoarsePValueWarning,
    DataError,
    DataWarning,
    InsufficientSampleError,
    MissingDependencyError,
    ModelError,
    RankLensError,
    SmallSampleWarning,
    UnknownNameError,
)
from ranklens.core.per_query import MetricResult, QueryId, QueryIndex, QueryValues

__all__ = [
    "BootstrapInterval",
    "CoarseIntervalWarning",
    "CoarsePValueWarning",
    "ComparisonResult",
    "DataError",
    "DataWarning",
    "InsufficientSampleError",
    "MetricResult",
    "MissingDependencyError",
    "ModelError",
    "PPIComparison",
    "QueryId",
    "QueryIndex",
    "QueryValues",
    "RankLensError",
    "SmallSampleWarning",
    "UnknownNameError",
]
