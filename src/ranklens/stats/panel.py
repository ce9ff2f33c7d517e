"""The values of many runs on many measures as one array over the union of their queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.core.per_query import MetricResult, QueryId, QueryValues
from ranklens.stats.paired import values_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Panel:
    """Values by run, measure and query, in the order of the queries' text.

    Attributes
    ----------
    queries : tuple of str, shape (n_queries,)
        Every query that some run has.
    values : numpy.ndarray of float64, shape (runs, measures, n_queries)
        Zero where a run lacks a query.
    measured : numpy.ndarray of bool, shape (runs, measures, n_queries)
        Where a run has a value.
    """

    queries: tuple[QueryId, ...]
    values: Floats
    measured: NDArray[np.bool_]

    @classmethod
    def of(cls, results: Sequence[Sequence[MetricResult]]) -> Panel:
        """Put the results of each run, measure by measure, side by side."""
        flat = [result for run in results for result in run]
        shared = _shared_index(flat)
        if shared is not None:
            return cls._of_one_index(shared, results)
        queries = tuple(sorted({query for result in flat for query in result.per_query}, key=str))
        place = {query: i for i, query in enumerate(queries)}
        shape = (len(results), len(results[0]), len(queries))
        values, measured = np.zeros(shape), np.zeros(shape, dtype=bool)
        for r, run in enumerate(results):
            for m, result in enumerate(run):
                inside = [place[query] for query in result.per_query]
                values[r, m, inside] = _values(result)
                measured[r, m, inside] = True
        return cls(queries, values, measured)

    @classmethod
    def _of_one_index(cls, ids: Sequence[QueryId], results: Sequence[Sequence[MetricResult]]) -> Panel:
        order = sorted(range(len(ids)), key=lambda i: str(ids[i]))
        values = np.empty((len(results), len(results[0]), len(ids)))
        for run, own in zip(results, values, strict=True):
            for result, row in zip(run, own, strict=True):
                row[:] = result.values
        if order != list(range(len(ids))):
            values = values[:, :, order]
        return cls(tuple(ids[i] for i in order), values, np.broadcast_to(np.True_, values.shape))

    def within(self, places: NDArray[np.int64]) -> Panel:
        """Return the panel on some of its queries."""
        queries = tuple(self.queries[i] for i in places.tolist())
        return Panel(queries, self.values[:, :, places], self.measured[:, :, places])


def _shared_index(results: Sequence[MetricResult]) -> Sequence[QueryId] | None:
    first = results[0].per_query
    if not isinstance(first, QueryValues):
        return None
    index = first.index
    for result in results:
        values: Mapping[QueryId, float] = result.per_query
        if not isinstance(values, QueryValues) or values.index is not index:
            return None
    return index


def _values(result: MetricResult) -> Floats:
    if isinstance(result.per_query, QueryValues):
        return result.per_query.values_array
    return values_of(result.per_query, tuple(result.per_query))
