"""Rows of a comparison table under a design of the sample: what `compare` says of each pair."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import current_backend, cut, rows_within
from ranklens.core.comparisons import ComparisonResult
from ranklens.stats.options import Options
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.descriptions import PairedRows
from ranklens.stats.rows.design_moments import group_beside, group_means, group_moments
from ranklens.stats.rows.design_statistics import DesignedBatch, designed_statistics
from ranklens.stats.rows.design_units import Group, QueryDesign, groups_of
from ranklens.stats.rows.results import Experiment, Job
from ranklens.stats.rows.statistics import RowStatistics, enough

Floats = NDArray[np.float64]

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
    """Jobs of an experiment, their values, and the units of these."""

    experiment: Experiment
    jobs: Sequence[Job]
    paired: PairedRows
    designed: DesignedBatch

    @classmethod
    def of(cls, experiment: Experiment, jobs: Sequence[Job], design: QueryDesign) -> _Rows:
        paired = experiment.rows(jobs)
        backend = current_backend()
        with backend.precise():
            mask = None if paired.mask.all() else paired.mask
            batch = Batch.of(backend.asarray(paired.deltas), mask, backend)
        designed = DesignedBatch(batch, design.union(), [*groups_of(batch, design)])
        return cls(experiment, jobs, paired, designed)

    def compared(self, options: Options, segment: str | None) -> Iterator[ComparisonResult]:
        naming = self.experiment.naming(self.jobs, segment)
        with self.designed.batch.backend.precise(), naming:
            found = designed_statistics(self.designed, options)
        fields: list[dict[str, Any]] = [{} for _ in self.jobs]
        for group in self.designed.groups:
            described = self._described(group, found, options)
            for place, row in zip(group.rows.tolist(), described, strict=True):
                fields[place] = row
        counts = self.paired.counts()
        for i, job in enumerate(self.jobs):
            names = _names(self.experiment, job, options, segment)
            counted = {name: column[i] for name, column in counts.items()}
            yield ComparisonResult(**names | counted | fields[i])

    def _described(self, group: Group, found: RowStatistics, options: Options) -> list[dict[str, Any]]:
        """Return what depends on the units of each row of a group."""
        deltas, size = self.paired.deltas[group.rows], self.paired.size[group.rows]
        tested = bool(enough(group.n, options))
        mean_a, mean_b = self._means(group)
        moments = group_moments(group, deltas, size)
        columns: dict[str, list[Any]] = {"mean_a": _known(mean_a), "mean_b": _known(mean_b)}
        columns["delta"] = _known(found.delta[group.rows] if tested else moments.mean)
        if tested:
            for name in _TESTED:
                columns[name] = getattr(found, name)[group.rows].tolist()
            columns["effect"], columns["se"] = _known(moments.effect), _known(moments.se)
            columns |= group_beside(group, deltas, size, moments.mean, moments.se, options)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        units = group.units
        shared = {
            "n_units": None if units is None else units.n,
            "weighted": units is not None and units.is_weighted,
            "clustered": units is not None and units.clustered,
        }
        return [row | shared for row in rows]

    def _means(self, group: Group) -> tuple[Floats, Floats]:
        """Return the means of A and B of each row of a group."""
        values = self.experiment.panel.values
        measure, run_a, run_b = np.array([self.jobs[i] for i in group.rows.tolist()]).T
        if group.inside is not None and group.inside.ndim == 2:
            return group_means(group, values[run_a, measure]), group_means(group, values[run_b, measure])
        # Most runs are in many rows.
        runs, place = np.unique(np.stack([run_a, run_b]) * values.shape[1] + measure, return_inverse=True)
        mean, place = group_means(group, values[np.divmod(runs, values.shape[1])]), place.reshape(2, -1)
        return mean[place[0]], mean[place[1]]


_TESTED = ("ci_low", "ci_high", "n_resamples", "p_value", "p_error", "log10_p", "method", "n_permutations")


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


def _known(column: Floats) -> list[float | None]:
    return [None if math.isnan(value) else value for value in column.tolist()]
