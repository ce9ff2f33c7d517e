"""Pad judged rankings into batches that fit the cache and the memory budget.

Queries with many judgements share batches, so that those with few are not padded to their width. A measure's
value does not depend on the batch (see `ranklens.kernels.measures_sums`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, budget_bytes
from ranklens.kernels.measures_batch import MeasureBatch
from ranklens.metrics.ranking import JudgedPool, JudgedRanking

Indices = NDArray[np.int64]

# A measure holds about eight arrays of the batch's size at a time.
_BYTES_PER_ELEMENT = 8 * 8
# One array of a batch should fit the second-level cache of one core.
_CACHED_ELEMENTS = 2**16


@dataclass(frozen=True)
class Grouped:
    """Values grouped by query: those of query q are ``values[starts[q]:starts[q + 1]]``."""

    starts: Indices
    columns: tuple[NDArray[Any], ...]

    @classmethod
    def by_row(cls, n_queries: int, row: Indices, *columns: NDArray[Any]) -> Grouped:
        """Group columns by an ascending `row`."""
        return cls(np.searchsorted(row, np.arange(n_queries + 1)), columns)

    @property
    def widths(self) -> Indices:
        """How many values each query has."""
        return np.diff(self.starts)

    def fill(self, queries: Indices, *padded: NDArray[np.float64]) -> None:
        """Write the columns of some queries into matrices, a row for each query, from the left."""
        counts = self.widths[queries]
        firsts = np.cumsum(counts) - counts
        offsets = np.arange(counts.sum()) - np.repeat(firsts, counts)
        source = offsets + np.repeat(self.starts[queries], counts)
        rows = np.repeat(np.arange(len(queries)), counts)
        for column, matrix in zip(self.columns, padded, strict=True):
            matrix[rows, offsets] = column[source]


@dataclass(frozen=True)
class Batch:
    """Which runs and queries a `MeasureBatch` holds (its further queries are padding)."""

    runs: slice
    queries: Indices
    arrays: MeasureBatch


def padded_batches(
    rankings: Sequence[JudgedRanking], pool: JudgedPool, depth: int | None, backend: Backend
) -> Iterator[Batch]:
    """Pad rankings of the same judgements, batch by batch.

    Parameters
    ----------
    rankings : sequence of JudgedRanking
        The runs.
    pool : JudgedPool
        The judgements that they all have.
    depth : int or None
        Leave out what lies below this rank, when no measure looks there.
    backend : Backend
        Where the batches' arrays shall lie.
    """
    n_queries = len(pool.query_ids)
    judged = Grouped.by_row(n_queries, pool.row, pool.grade)
    found = [_retrieved(ranking, n_queries, depth) for ranking in rankings]
    n_retrieved = np.stack([ranking.n_retrieved for ranking in rankings]).astype(np.float64)
    positions = np.arange(1.0, _power_of_two(_deepest(found, judged)) + 1.0)
    shared = (backend.asarray(positions), backend.asarray(np.log2(positions + 1.0)))
    max_grade = float(pool.grade.max(initial=0.0))
    widths = np.max([one.widths for one in found], axis=0)
    for runs, queries in _plan(len(rankings), widths, judged.widths, backend):
        rows = _power_of_two(len(queries)) if backend.name == "jax" else len(queries)
        grades, ranks = _ranked(found[runs], queries, rows)
        pooled = np.full((rows, _power_of_two(judged.widths[queries].max())), -np.inf)
        judged.fill(queries, pooled)
        retrieved = np.zeros((len(grades), rows))
        retrieved[:, : len(queries)] = n_retrieved[runs][:, queries]
        padded = (backend.asarray(array) for array in (grades, ranks, retrieved, pooled))
        yield Batch(runs, queries, MeasureBatch._make((*padded, *shared, max_grade)))


def _retrieved(ranking: JudgedRanking, n_queries: int, depth: int | None) -> Grouped:
    row, rank, grade = ranking.row, ranking.rank, ranking.grade
    if depth is not None:
        within = rank < depth
        row, rank, grade = row[within], rank[within], grade[within]
    return Grouped.by_row(n_queries, row, grade, rank)


def _ranked(found: Sequence[Grouped], queries: Indices, rows: int) -> tuple[Any, Any]:
    width = _power_of_two(max(one.widths[queries].max() for one in found))
    grades = np.full((len(found), rows, width), -np.inf)
    ranks = np.full((len(found), rows, width), np.inf)
    for run, one in enumerate(found):
        one.fill(queries, grades[run], ranks[run])
    ranks += 1.0
    return grades, ranks


def _plan(
    n_runs: int, widths: Indices, pool_widths: Indices, backend: Backend
) -> Iterator[tuple[slice, Indices]]:
    order = np.argsort(-np.maximum(widths, pool_widths), kind="stable")
    # The widest query that is still to come, for every place in the order.
    widest = np.maximum.accumulate(widths[order][::-1])[::-1]
    most = budget_bytes() // _BYTES_PER_ELEMENT
    if backend.name in ("numpy", "array_api_strict"):
        most = min(most, _CACHED_ELEMENTS)
    start = 0
    while start < len(order):
        width = _power_of_two(widest[start])
        pool_width = _power_of_two(pool_widths[order[start]])
        n_queries = max(1, most // (n_runs * width + pool_width))
        per_batch = min(n_runs, max(1, most // width))
        for first in range(0, n_runs, per_batch):
            yield slice(first, first + per_batch), order[start : start + n_queries]
        start += n_queries


def _deepest(found: Sequence[Grouped], judged: Grouped) -> int:
    deepest = (int(one.columns[1].max(initial=0)) + 1 for one in found)
    return max(*deepest, int(judged.widths.max(initial=1)))


def _power_of_two(n: int) -> int:
    return 1 << max(0, int(n) - 1).bit_length()
