"""Rows of a comparison table from a batch: what `compare` says of each pair, made for all pairs at once."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import current_backend, cut, rows_within
from ranklens.core.comparisons import ComparisonResult
from ranklens.core.per_query import MetricResult
from ranklens.stats.exact.trust import UncertainPValueError
from ranklens.stats.options import Options
from ranklens.stats.pair import Pair
from ranklens.stats.panel import Panel
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.descriptions import PairedRows, means_of
from ranklens.stats.rows.methods import row_statistics
from ranklens.stats.rows.statistics import RowStatistics, enough

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_FLOAT_BYTES = 8
_COPIES = 8
_STATISTICS = ("ci_low", "ci_high", "p_value", "p_error", "log10_p")


class Job(NamedTuple):
    """Two runs to compare on a measure: places in a panel."""

    measure: int
    run_a: int
    run_b: int


@dataclass(frozen=True)
class Experiment:
    """Many jobs on one panel of values, and the names of its runs and measures.

    `results` are the values by query of each run, measure by measure.
    """

    panel: Panel
    jobs: Sequence[Job]
    runs: Sequence[str]
    measures: Sequence[str]
    results: Sequence[Sequence[MetricResult]]

    def within(self, places: NDArray[np.int64]) -> Experiment:
        """Return the same on some of the queries."""
        return dataclasses.replace(self, panel=self.panel.within(places))

    def compared(self, options: Options, segment: str | None = None) -> Iterator[ComparisonResult]:
        """Yield the result of each job; as many are computed at a time as the memory budget holds."""
        row_bytes = _FLOAT_BYTES * (_COPIES * len(self.panel.queries) + options.n_resamples)
        for some in cut(range(len(self.jobs)), rows_within(row_bytes, len(self.jobs), share=0.5)):
            yield from self._compared(self.jobs[some.start : some.stop], options, segment)

    def pair(self, job: Job) -> Pair:
        """Pair the two results of a job by query, on all queries."""
        a, b = (self.results[run][job.measure] for run in (job.run_a, job.run_b))
        return Pair.of(a, b, self.runs[job.run_a], self.runs[job.run_b])

    def rows(self, jobs: Sequence[Job]) -> PairedRows:
        """Return the values of jobs by query; all of them finite."""
        rows = PairedRows.of(self.panel, jobs)
        for i in np.flatnonzero(~np.isfinite(rows.deltas).all(axis=1))[:1].tolist():
            # It knows how to name the run and the query.
            self.pair(jobs[i])
        return rows

    def _compared(
        self, jobs: Sequence[Job], options: Options, segment: str | None
    ) -> Iterator[ComparisonResult]:
        rows = self.rows(jobs)
        backend = current_backend()
        with backend.precise():
            mask = None if rows.mask.all() else rows.mask
            batch = Batch.of(backend.asarray(rows.deltas), mask, backend)
            with self.naming(jobs, segment):
                found = row_statistics(batch, options)
        shared = {
            "segment": segment,
            "alpha": options.alpha,
            "seed": options.seed,
            "alternative": options.alternative,
            "interval": options.interval,
        }
        columns = self._described(jobs, rows) | _tested(rows, found, options)
        fields = (
            columns[item.name]
            if item.name in columns
            else itertools.repeat(shared.get(item.name, item.default), len(jobs))
            for item in dataclasses.fields(ComparisonResult)
        )
        yield from itertools.starmap(ComparisonResult, zip(*fields, strict=True))

    @contextlib.contextmanager
    def naming(self, jobs: Sequence[Job], segment: str | None) -> Iterator[None]:
        """Name the job whose p-value turns out uncertain inside the block by its measure and runs."""
        try:
            yield
        except UncertainPValueError as error:
            job = jobs[error.row or 0]
            where = "" if segment is None else f" in {segment}"
            name = (
                f"{self.measures[job.measure]}, {self.runs[job.run_b]} against {self.runs[job.run_a]}{where}"
            )
            raise error.named(name) from None

    def _described(self, jobs: Sequence[Job], rows: PairedRows) -> dict[str, list[Any]]:
        """Return the columns that say what was compared."""
        measure, run_a, run_b = zip(*jobs, strict=True)
        return {
            "metric": [self.measures[i] for i in measure],
            "run_a": [self.runs[i] for i in run_a],
            "run_b": [self.runs[i] for i in run_b],
            "mean_a": _known(self._means(run_a, measure, rows.a, rows.n)),
            "mean_b": _known(self._means(run_b, measure, rows.b, rows.n)),
        } | rows.counts()

    def _means(self, run: Sequence[int], measure: Sequence[int], values: Floats, n: Counts) -> Floats:
        """Return the mean of each row; most rows are of all queries, and most runs in many of them."""
        n_queries = len(self.panel.queries)
        found = np.full(len(values), math.nan)
        part = np.flatnonzero((n > 0) & (n < n_queries))
        if part.size:
            found[part] = means_of(values[part], n[part])
        whole = np.flatnonzero((n > 0) & (n == n_queries))
        if whole.size:
            keys = np.array(run)[whole] * len(self.measures) + np.array(measure)[whole]
            own, place = np.unique(keys, return_inverse=True)
            own_run, own_measure = np.divmod(own, len(self.measures))
            found[whole] = means_of(self.panel.values[own_run, own_measure])[place]
        return found


def _tested(rows: PairedRows, found: RowStatistics, options: Options) -> dict[str, list[Any]]:
    """Return the columns that a test gives; None in rows with too few queries for one."""
    tested, moments = enough(rows.n, options), rows.moments()
    # What is sampled has means of its own, which are those of its sums.
    delta = np.where(tested & ~np.isnan(found.delta), found.delta, moments.mean)
    columns = {name: _known(np.where(tested, getattr(found, name), math.nan)) for name in _STATISTICS}
    for name, column in (("effect", moments.effect), ("se", moments.se)):
        columns[name] = _known(np.where(tested, column, math.nan))
    columns["delta"] = _known(delta)
    columns["method"] = np.where(tested, found.method, options.method).tolist()
    for name in ("n_resamples", "n_permutations"):
        columns[name] = np.where(tested, getattr(found, name), 0).tolist()
    return columns


def _known(column: Floats) -> list[float | None]:
    return [None if value != value else value for value in column.tolist()]
