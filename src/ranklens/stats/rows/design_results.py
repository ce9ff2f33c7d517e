"""Rows of a comparison table under a design of the sample: what `compare` says of each pair."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import current_backend, cut, rows_within
from ranklens.core.comparisons import ComparisonResult
from ranklens.stats.moments import ROUNDING
from ranklens.stats.options import Options
from ranklens.stats.panel import Panel
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.design_moments import group_beside, group_effects, group_errors, group_means
from ranklens.stats.rows.design_statistics import DesignedBatch, designed_statistics
from ranklens.stats.rows.design_units import Group, QueryDesign, groups_of
from ranklens.stats.rows.results import Experiment, Job
from ranklens.stats.rows.statistics import RowStatistics, enough

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_FLOAT_BYTES = 8
_COPIES = 16


def designed_rows(
    experiment: Experiment, options: Options, segment: str | None = None
) -> Iterator[ComparisonResult]:
    """Yield the result of each job; as many are computed at a time as the memory budget holds.

    The design of the options must speak of queries by their ids.
    """
    queries = experiment.panel.queries
    design = QueryDesign.of(options.design, queries)
    row_bytes = _FLOAT_BYTES * (_COPIES * len(queries) + 2 * options.n_resamples)
    for some in cut(range(len(experiment.jobs)), rows_within(row_bytes, len(experiment.jobs), share=0.5)):
        jobs = experiment.jobs[some.start : some.stop]
        yield from _Rows.of(experiment, jobs, design).compared(options, segment)


class _Rows(NamedTuple):
    """Jobs of an experiment, their differences, and the units of these."""

    experiment: Experiment
    jobs: Sequence[Job]
    designed: DesignedBatch
    deltas: Floats

    @classmethod
    def of(cls, experiment: Experiment, jobs: Sequence[Job], design: QueryDesign) -> _Rows:
        deltas, measured = experiment.deltas(jobs)
        backend = current_backend()
        with backend.precise():
            mask = None if measured.all() else measured
            batch = Batch.of(backend.asarray(deltas), mask, backend)
        return cls(
            experiment, jobs, DesignedBatch(batch, design.union(), [*groups_of(batch, design)]), deltas
        )

    def compared(self, options: Options, segment: str | None) -> Iterator[ComparisonResult]:
        naming = self.experiment.naming(self.jobs, segment)
        with self.designed.batch.backend.precise(), naming:
            found = designed_statistics(self.designed, options)
        fields: list[dict[str, Any]] = [{} for _ in self.jobs]
        for group in self.designed.groups:
            described = self._described(group, found, options)
            for place, row in zip(group.rows.tolist(), described, strict=True):
                fields[place] = row
        counts = _Counts.of(self.experiment.panel, self.jobs, self.deltas, self.designed.batch.mask)
        for i, job in enumerate(self.jobs):
            names = _names(self.experiment, job, options, segment)
            yield ComparisonResult(**names | counts.row(i) | fields[i])

    def _described(self, group: Group, found: RowStatistics, options: Options) -> list[dict[str, Any]]:
        """Return what depends on the units of each row of a group."""
        deltas, tested = self.deltas[group.rows], bool(enough(group.n, options))
        mean_a, mean_b, size = self._means(group)
        mean = group_means(group, deltas)
        columns: dict[str, list[Any]] = {"mean_a": _known(mean_a), "mean_b": _known(mean_b)}
        columns["delta"] = _known(found.delta[group.rows] if tested else mean)
        if tested:
            for name in _TESTED:
                columns[name] = getattr(found, name)[group.rows].tolist()
            error = group_errors(group, deltas, size)
            columns["effect"] = _known(group_effects(group, deltas, size))
            columns["se"] = _known(error)
            columns |= group_beside(group, deltas, size, mean, error, options)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        units = group.units
        shared = {
            "n_units": None if units is None else units.n,
            "weighted": units is not None and units.is_weighted,
            "clustered": units is not None and units.clustered,
        }
        return [row | shared for row in rows]

    def _means(self, group: Group) -> tuple[Floats, Floats, Floats]:
        """Return the means of A and B, and the largest value in size, of each row of a group."""
        values = self.experiment.panel.values
        measure, run_a, run_b = np.array([self.jobs[i] for i in group.rows.tolist()]).T
        if group.inside is not None and group.inside.ndim == 2:
            a, b = values[run_a, measure], values[run_b, measure]
            return (
                group_means(group, a),
                group_means(group, b),
                np.maximum(_sizes(group, a), _sizes(group, b)),
            )
        # Most runs are in many rows.
        runs, place = np.unique(np.stack([run_a, run_b]) * values.shape[1] + measure, return_inverse=True)
        own, place = values[runs // values.shape[1], runs % values.shape[1]], place.reshape(2, -1)
        mean, size = group_means(group, own), _sizes(group, own)
        return mean[place[0]], mean[place[1]], size[place].max(axis=0)


_TESTED = ("ci_low", "ci_high", "n_resamples", "p_value", "p_error", "log10_p", "method", "n_permutations")


class _Counts(NamedTuple):
    """What is counted in each row: queries of both runs and of one only, wins, ties and losses."""

    n_queries: Counts
    n_only_a: Counts
    n_only_b: Counts
    wins: Counts
    ties: Counts
    losses: Counts

    @classmethod
    def of(cls, panel: Panel, jobs: Sequence[Job], deltas: Floats, mask: NDArray[np.bool_] | None) -> _Counts:
        measure, run_a, run_b = np.array(jobs).T
        in_a, in_b = panel.measured[run_a, measure], panel.measured[run_b, measure]
        both = in_a & in_b if mask is None else mask
        n = np.count_nonzero(both, axis=1)
        size = np.abs(deltas).max(axis=1, initial=0.0)
        for run in (run_a, run_b):
            own = np.where(both, np.abs(panel.values[run, measure]), 0.0)
            size = np.maximum(size, own.max(axis=1, initial=0.0))
        band = (ROUNDING * size)[:, None]
        wins, losses = np.count_nonzero(deltas > band, axis=1), np.count_nonzero(deltas < -band, axis=1)
        only_a, only_b = np.count_nonzero(in_a, axis=1) - n, np.count_nonzero(in_b, axis=1) - n
        return cls(n, only_a, only_b, wins, n - wins - losses, losses)

    def row(self, i: int) -> dict[str, int]:
        return {name: int(column[i]) for name, column in self._asdict().items()}


def _names(experiment: Experiment, job: Job, options: Options, segment: str | None) -> dict[str, Any]:
    return {
        "metric": experiment.measures[job.measure],
        "run_a": experiment.runs[job.run_a],
        "run_b": experiment.runs[job.run_b],
        "segment": segment,
        "alpha": options.alpha,
        "seed": options.seed,
        "alternative": options.alternative,
        "method": options.method,
        "interval": options.interval,
        "margin": options.design.margin,
        "ci_low": None,
        "ci_high": None,
        "p_value": None,
        "n_resamples": 0,
        "n_permutations": 0,
    }


def _sizes(group: Group, values: Floats) -> Floats:
    return np.asarray(np.abs(group.measured(values)).max(axis=1, initial=0.0))


def _known(column: Floats) -> list[float | None]:
    return [None if math.isnan(value) else value for value in column.tolist()]
