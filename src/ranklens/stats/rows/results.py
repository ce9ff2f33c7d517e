"""Rows of a comparison table from a batch: what `compare` says of each pair, made for all pairs at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import current_backend, cut, rows_within
from ranklens.core.comparisons import ComparisonResult
from ranklens.core.per_query import MetricResult
from ranklens.stats.moments import mean
from ranklens.stats.options import Options
from ranklens.stats.pair import Pair
from ranklens.stats.panel import Panel
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.descriptions import Moments, PairedRows, means_of
from ranklens.stats.rows.methods import row_statistics
from ranklens.stats.rows.statistics import RowStatistics, enough

Floats = NDArray[np.float64]

_FLOAT_BYTES = 8
_COPIES = 8


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
    means: dict[tuple[int, int], float] = field(default_factory=dict)

    def within(self, places: NDArray[np.int64]) -> Experiment:
        """Return the same on some of the queries."""
        return dataclasses.replace(self, panel=self.panel.within(places), means={})

    def compared(self, options: Options, segment: str | None = None) -> Iterator[ComparisonResult]:
        """Yield the result of each job; as many are computed at a time as the memory budget holds."""
        row_bytes = _FLOAT_BYTES * (_COPIES * len(self.panel.queries) + options.n_resamples)
        for some in cut(range(len(self.jobs)), rows_within(row_bytes, len(self.jobs), share=0.5)):
            yield from self._compared(self.jobs[some.start : some.stop], options, segment)

    def deltas(self, jobs: Sequence[Job]) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the differences and which are measured, shapes (jobs, queries); zeros where they are not."""
        rows = self._rows(jobs)
        return rows.deltas, rows.mask

    def pair(self, job: Job) -> Pair:
        """Pair the two results of a job by query, on all queries."""
        a, b = (self.results[run][job.measure] for run in (job.run_a, job.run_b))
        return Pair.of(a, b, self.runs[job.run_a], self.runs[job.run_b])

    def _rows(self, jobs: Sequence[Job]) -> PairedRows:
        rows = PairedRows.of(self.panel, jobs)
        for i in np.flatnonzero(~np.isfinite(rows.deltas).all(axis=1))[:1].tolist():
            # It knows how to name the run and the query.
            self.pair(jobs[i])
        return rows

    def _compared(
        self, jobs: Sequence[Job], options: Options, segment: str | None
    ) -> Iterator[ComparisonResult]:
        rows = self._rows(jobs)
        backend = current_backend()
        with backend.precise():
            mask = None if rows.mask.all() else rows.mask
            found = row_statistics(Batch.of(backend.asarray(rows.deltas), mask, backend), options)
        moments = Moments.of(rows)
        self._learn_means(jobs)
        for i, job in enumerate(jobs):
            fields = self._names(job, options, segment) | rows.counts(i)
            tested = enough(int(rows.n[i]), options)
            fields |= self._means(job, rows, i, tested)
            if tested:
                fields |= _statistics(found, i) | moments.row(i)
            yield ComparisonResult(**fields)

    def _names(self, job: Job, options: Options, segment: str | None) -> dict[str, Any]:
        return {
            "metric": self.measures[job.measure],
            "run_a": self.runs[job.run_a],
            "run_b": self.runs[job.run_b],
            "segment": segment,
            "alpha": options.alpha,
            "seed": options.seed,
            "alternative": options.alternative,
            "method": options.method,
            "interval": options.interval,
            "ci_low": None,
            "ci_high": None,
            "p_value": None,
            "n_resamples": 0,
            "n_permutations": 0,
        }

    def _means(self, job: Job, rows: PairedRows, i: int, tested: bool) -> dict[str, float | None]:
        """Return the means of a row; that of the differences comes with the test where there is one."""
        if not rows.n[i]:
            return {"mean_a": None, "mean_b": None, "delta": None}
        a, b, deltas = rows.measured(i)
        return {
            "mean_a": self._mean(job.run_a, job.measure, a),
            "mean_b": self._mean(job.run_b, job.measure, b),
            "delta": None if tested else mean(deltas),
        }

    def _mean(self, run: int, measure: int, values: Floats) -> float:
        return self.means[run, measure] if len(values) == len(self.panel.queries) else mean(values)

    def _learn_means(self, jobs: Sequence[Job]) -> None:
        """Compute the mean of each run over all queries, once for all comparisons that take them."""
        wanted = {(run, job.measure) for job in jobs for run in (job.run_a, job.run_b)} - self.means.keys()
        if wanted and self.panel.queries:
            keys = sorted(wanted)
            run, measure = (np.array(column) for column in zip(*keys, strict=True))
            self.means.update(zip(keys, means_of(self.panel.values[run, measure]).tolist(), strict=True))


def _statistics(found: RowStatistics, i: int) -> dict[str, Any]:
    return {
        "delta": float(found.delta[i]),
        "ci_low": float(found.ci_low[i]),
        "ci_high": float(found.ci_high[i]),
        "n_resamples": int(found.n_resamples[i]),
        "p_value": float(found.p_value[i]),
        "p_error": float(found.p_error[i]),
        "log10_p": float(found.log10_p[i]),
        "method": str(found.method[i]),
        "n_permutations": int(found.n_permutations[i]),
    }
