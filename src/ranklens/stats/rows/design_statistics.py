"""The statistics of a batch under a design of the sample: as `row_statistics` has them of plain queries."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, cut, rows_within
from ranklens.stats.exact.trust import require_certain, uncertain
from ranklens.stats.options import QUANTILES, Options
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.design_exact import computed_ends
from ranklens.stats.rows.design_flips import PValues, exact_p_values, sampled_p_values
from ranklens.stats.rows.design_resampling import sampled_ends
from ranklens.stats.rows.design_sample import Ends
from ranklens.stats.rows.design_units import Group
from ranklens.stats.rows.exact import cheap_rows
from ranklens.stats.rows.jobs import Job, combined, together
from ranklens.stats.rows.statistics import RowStatistics, enough
from ranklens.stats.units import Units

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]

_FLOAT_BYTES = 8
# Arrays of the shapes of the differences and of the resampled sums that are held at once.
_COPIES = {"mean": 8, "percentile": 10, "expanded": 10, "bca": 10, "studentized": 18}
_SUM_COPIES = {"mean": 1, "percentile": 3, "expanded": 3, "bca": 5, "studentized": 12}
_EXACT_COPIES = 16


@dataclasses.dataclass(frozen=True, slots=True)
class DesignedBatch:
    """Rows, the units that all of them flip together, and those that each group of them resamples.

    Attributes
    ----------
    batch : Batch
        The differences and which of them are measured.
    union : Units or None
        The units of all queries; None where these are single queries of one weight.
    groups : list of Group
        Every row is in one.
    """

    batch: Batch
    union: Units | None
    groups: list[Group]

    @property
    def n_units(self) -> Counts:
        """The number of units of each row."""
        found = np.zeros(self.batch.shape[0], dtype=np.int64)
        for group in self.groups:
            found[group.rows] = group.n
        return found

    def take(self, rows: Counts) -> DesignedBatch:
        """Return some rows, in ascending order."""
        if len(rows) == self.batch.shape[0]:
            return self
        return DesignedBatch(self.batch.take(rows), self.union, [*_taken(self.groups, rows)])

    def within(self, span: range) -> DesignedBatch:
        """Return consecutive rows."""
        rows = np.arange(span.start, span.stop)
        return DesignedBatch(self.batch.within(span), self.union, [*_taken(self.groups, rows)])

    def on_host(self, rows: Floats) -> DesignedBatch:
        """Return the same with the rows on the host, zeros where nothing is measured."""
        return DesignedBatch(self.batch.on_host(rows), self.union, self.groups)


def designed_statistics(designed: DesignedBatch, options: Options) -> RowStatistics:
    """Make the p-value and the interval of every row that has enough units; the rest of a row is left out."""
    host = None if options.method == "monte-carlo" else designed.batch.host_rows()
    (found,) = together([statistics_job(designed, host, options)])
    return cast(RowStatistics, found)


def statistics_job(designed: DesignedBatch, host: Floats | None, options: Options) -> Job[RowStatistics]:
    """Do what `designed_statistics` does, in one transfer with other jobs.

    Exact methods need the rows on the `host`, zeros where nothing is measured.
    """
    found = RowStatistics.empty(designed.batch.n_queries, options.method)
    tested = np.flatnonzero(enough(designed.n_units, options))
    if not tested.size:
        yield ()
    elif host is None:
        found.put(tested, (yield from _sampled(designed, tested, options)))
    else:
        there = designed.on_host(host).take(tested)
        found.put(tested, (yield from _chosen(designed.take(tested), there, tested, options)))
    return found


def _chosen(
    designed: DesignedBatch, host: DesignedBatch, numbers: Counts, options: Options
) -> Job[RowStatistics]:
    """Compute what is cheap, or everything, and sample the rest; `numbers` are what errors call the rows.

    Of rows beyond the memory budget each part but the last has a transfer of its own.
    """
    exact = np.ones(designed.batch.shape[0], dtype=bool)
    if options.method == "auto":
        exact = _cheap(host)
    found = RowStatistics.empty(designed.batch.n_queries, "exact")
    others, chosen = np.flatnonzero(~exact), np.flatnonzero(exact)
    jobs = [(others, _sampled(designed, others, options))] if others.size else []
    row_bytes = _FLOAT_BYTES * _EXACT_COPIES * designed.batch.shape[1]
    for part in cut(range(chosen.size), rows_within(row_bytes, max(1, chosen.size), share=0.375)):
        some = chosen[part.start : part.stop]
        job = _computed(designed, host, some, numbers[some], options)
        if part.stop < chosen.size:
            found.put(some, together([job])[0])
        else:
            jobs.append((some, job))
    parts = yield from combined([job for _, job in jobs])
    for (rows, _), own in zip(jobs, parts, strict=True):
        found.put(rows, own)
    return found


def _cheap(host: DesignedBatch) -> Rows:
    exact = np.empty(host.batch.shape[0], dtype=bool)
    for group in host.groups:
        values = host.batch.deltas[group.rows]
        exponents = group.exponents(values)
        if exponents is not None:
            values = np.ldexp(values, -exponents[:, None])
        exact[group.rows] = cheap_rows(group.totals(values, host.batch.backend), host.batch.eps)
    return exact


def _computed(
    designed: DesignedBatch, host: DesignedBatch, rows: Counts, numbers: Counts, options: Options
) -> Job[RowStatistics]:
    designed, host = designed.take(rows), host.take(rows)
    found = RowStatistics.empty(host.batch.n_queries, "exact")
    backend = designed.batch.backend
    jobs: list[Job[Any]] = [_put_exact_p_values(found, host, numbers, backend, options)]
    if options.interval == "studentized":
        jobs.append(_put_sampled_ends(found, designed, np.arange(len(rows)), options))
    else:
        jobs += [_put_computed_ends(found, group, host, backend, options) for group in host.groups]
    yield from combined(jobs)
    lacking = np.flatnonzero(np.isnan(found.delta))
    if lacking.size:
        together([_put_sampled_ends(found, host, lacking, options)])
    return found


def _put_exact_p_values(
    found: RowStatistics, host: DesignedBatch, numbers: Counts, backend: Backend, options: Options
) -> Job[None]:
    _put_p_values(found, (yield from exact_p_values(host.batch, host.union, options, backend)))
    _mend_uncertain(found, host, numbers, options)


def _put_computed_ends(
    found: RowStatistics, group: Group, host: DesignedBatch, backend: Backend, options: Options
) -> Job[None]:
    """Write down the intervals whose law is certain."""
    ends = yield from computed_ends(group, host.batch.deltas, options, host.batch.eps, backend)
    sure = np.flatnonzero(~np.isnan(ends.low))
    _put_ends(found, group.rows[sure], Ends(*(column[sure] for column in ends)), options, 0)


def _mend_uncertain(found: RowStatistics, designed: DesignedBatch, numbers: Counts, options: Options) -> None:
    """Sample the p-values that came out uncertain, if the method is ours to choose."""
    rows = np.flatnonzero(uncertain(found.p_value, found.p_error))
    if options.method == "exact":
        require_certain(found.p_value[rows], found.p_error[rows], numbers[rows])
    if rows.size:
        batch = designed.batch.take(rows)
        (sampled,) = together([sampled_p_values(batch, designed.union, options)])
        for name, column in sampled._asdict().items():
            getattr(found, name)[rows] = column
        found.n_permutations[rows] = options.n_permutations


def _sampled(designed: DesignedBatch, rows: Counts, options: Options) -> Job[RowStatistics]:
    designed = designed.take(rows)
    found = RowStatistics.empty(designed.batch.n_queries, "monte-carlo")
    found.n_permutations[:] = options.n_permutations
    for places, p in (yield from _in_slabs(designed, options, with_p=True)):
        if isinstance(p, PValues):
            part = RowStatistics.empty(designed.batch.n_queries[places], "monte-carlo")
            _put_p_values(part, p)
            for name in PValues._fields:
                getattr(found, name)[places] = getattr(part, name)
        else:
            _put_ends(found, places, p, options, options.n_resamples)
    return found


def _put_sampled_ends(
    found: RowStatistics, designed: DesignedBatch, rows: Counts, options: Options
) -> Job[None]:
    for places, ends in (yield from _in_slabs(designed.take(rows), options, with_p=False)):
        if isinstance(ends, Ends):
            _put_ends(found, rows[places], ends, options, options.n_resamples)


def _in_slabs(
    designed: DesignedBatch, options: Options, *, with_p: bool
) -> Job[list[tuple[Counts, PValues | Ends]]]:
    """Return the rows and their p-values or intervals; what a device computes comes in one transfer.

    Intervals that need all sums of the resamples have one for each slab, so that the memory budget holds.
    """
    batch = designed.batch
    n_rows, n = batch.shape
    kind = "mean" if _is_mean(designed, options) else options.interval
    row_bytes = _FLOAT_BYTES * (_COPIES[kind] * n + _SUM_COPIES[kind] * options.n_resamples)
    places: list[Counts] = []
    results: list[Any] = []
    jobs: list[Job[Any]] = [_finite(batch)]
    for span in cut(range(n_rows), rows_within(row_bytes, n_rows, share=0.375)):
        if places and options.interval not in QUANTILES:
            results += together(jobs)
            jobs = []
        for rows, job in _jobs(designed.within(span), options, with_p=with_p):
            places.append(rows + span.start)
            jobs.append(job)
            if batch.backend.name == "numpy":
                results += together(jobs)
                jobs = []
    results += yield from combined(jobs)
    return list(zip(places, results[1:], strict=True))


def _is_mean(designed: DesignedBatch, options: Options) -> bool:
    """Whether the ends of all intervals lie among sums, since the units of each row have one size."""
    even = all(group.even_size is not None for group in designed.groups)
    return even and options.interval in QUANTILES


def _jobs(
    designed: DesignedBatch, options: Options, *, with_p: bool
) -> Iterator[tuple[Counts, Job[PValues | Ends]]]:
    batch, backend = designed.batch, designed.batch.backend
    if with_p:
        yield np.arange(batch.shape[0]), sampled_p_values(batch, designed.union, options)
    values = batch.deltas
    if batch.mask is not None:
        values = backend.xp.where(backend.asarray(batch.mask), values, 0.0)
    for group in designed.groups:
        own = values
        if len(group.rows) < batch.shape[0]:
            index = backend.asarray(group.rows, dtype=backend.xp.int64)
            own = backend.xp.take(values, index, axis=0)
        yield group.rows, sampled_ends(group, own, options, batch.eps, backend)


def _finite(batch: Batch) -> Job[None]:
    """Look on the host whether all measured differences on a device are finite."""
    if batch.backend.name == "numpy":
        # They were looked at when they came.
        yield ()
        return
    xp = batch.backend.xp
    bad = ~xp.isfinite(batch.deltas)
    if batch.mask is not None:
        bad = bad & batch.backend.asarray(batch.mask)
    (n_bad,) = yield (xp.sum(xp.astype(bad, batch.deltas.dtype)),)
    if n_bad:
        batch.require_finite()


def _taken(groups: list[Group], rows: Counts) -> Iterator[Group]:
    for group in groups:
        own = group.among(rows)
        if own.rows.size:
            yield own


def _put_p_values(found: RowStatistics, p: PValues) -> None:
    for name, column in p._asdict().items():
        getattr(found, name)[:] = column


def _put_ends(found: RowStatistics, rows: Counts, ends: Ends, options: Options, n_resamples: int) -> None:
    found.delta[rows] = ends.delta
    found.ci_low[rows] = -math.inf if options.alternative == "less" else ends.low
    found.ci_high[rows] = math.inf if options.alternative == "greater" else ends.high
    found.n_resamples[rows] = n_resamples
