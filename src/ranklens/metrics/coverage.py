"""The mean of values of which some are missing, told with what the missing ones could change."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ranklens.core import DataError, InsufficientSampleError, UnknownNameError
from ranklens.core.presentation import Presentable, fixed

_MISSING = ("raise", "exclude")


@dataclass(frozen=True, slots=True, repr=False)
class CoveredMean(Presentable):
    """A mean over the queries that have a value.

    Attributes
    ----------
    mean : float
        Over the measured queries.
    n_measured, n_queries : int
        Queries with a value, and all.
    coverage : float
        The first divided by the second.
    low, high : float
        The mean over all queries if every missing value were the least, or the largest, possible one.
    """

    mean: float
    n_measured: int
    n_queries: int
    coverage: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"{fixed(self.mean)} over {self.n_measured} of {self.n_queries} queries "
            f"(coverage {self.coverage:.0%}; over all queries between {fixed(self.low)} and "
            f"{fixed(self.high)})"
        )


def mean_with_coverage(
    values: Mapping[str, float | None] | Sequence[float | None],
    *,
    missing: str = "raise",
    bounds: tuple[float, float] = (0.0, 1.0),
) -> CoveredMean:
    """Average values by query, of which some may be missing.

    Parameters
    ----------
    values : mapping of query id to value, or sequence
        None and NaN are missing. The queries of a sequence are named by their position, from 1.
    missing : {"raise", "exclude"}
        A missing value is an error unless its exclusion is asked for.
    bounds : (low, high)
        The least and the largest value that is possible.

    Raises
    ------
    DataError
        When values are missing and not excluded (all are named), or lie outside `bounds`.
    InsufficientSampleError
        When no value is left.

    Examples
    --------
    >>> judged = {"q1": 1.0, "q2": 0.5, "q3": None, "q4": None}
    >>> print(mean_with_coverage(judged, missing="exclude"))
    0.7500 over 2 of 4 queries (coverage 50%; over all queries between 0.3750 and 0.8750)
    """
    if missing not in _MISSING:
        raise UnknownNameError("missing", missing, _MISSING)
    low, high = bounds
    if not low < high:
        raise ValueError(f"bounds must be a smaller and a larger number, got {bounds}")
    named = values if isinstance(values, Mapping) else {str(i): v for i, v in enumerate(values, start=1)}
    present = {query: float(v) for query, v in named.items() if v is not None and not math.isnan(v)}
    absent = [query for query in named if query not in present]
    if absent and missing == "raise":
        raise DataError(
            f"{len(absent)} of {len(named)} queries have no value: {', '.join(map(str, absent))}; provide "
            'them, or leave them out with missing="exclude"'
        )
    for query, value in present.items():
        if not low <= value <= high:
            raise DataError(f"the value {value} of query {query!r} lies outside [{low}, {high}]; set bounds=")
    if not present:
        raise InsufficientSampleError(0, 1, "queries with a value")
    total, n = math.fsum(present.values()), len(named)
    return CoveredMean(
        mean=total / len(present),
        n_measured=len(present),
        n_queries=n,
        coverage=len(present) / n,
        low=(total + len(absent) * low) / n,
        high=(total + len(absent) * high) / n,
    )
