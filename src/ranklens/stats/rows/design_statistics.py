"""The statistics of a batch under a design of the sample: as `row_statistics` has them of plain queries."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut, open_backend, rows_within
from ranklens.stats.exact.trust import require_certain, uncertain
from ranklens.stats.options import QUANTILES, Options
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.design_exact import computed_ends
from ranklens.stats.rows.design_flips import PValues, exact_p_values, sampled_p_values
from ranklens.stats.rows.design_resampling import sampled_ends
from ranklens.stats.rows.design_sample import Ends
from ranklens.stats.rows.design_units import Group
from ranklens.stats.rows.exact import cheap_rows
from ranklens.stats.rows.jobs import Job, together
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

    def on_host(self) -> DesignedBatch:
        """Return the same with the rows on the host, zeros where nothing is measured."""
        host = open_backend("numpy")
        return DesignedBatch(
            Batch(self.batch.host_rows(), self.batch.mask, host, self.batch.eps), self.union, self.groups
        )


def designed_statistics(designed: DesignedBatch, options: Options) -> RowStatistics:
    """Make the p-value and the interval of every row that has enough units; the rest of a row is left out."""
    found = RowStatistics.empty(designed.batch.n_queries, options.method)
    tested = np.flatnonzero(enough(designed.n_units, options))
    if tested.size:
        rows = designed.take(tested)
        found.put(
            tested, _sampled(rows, options) if options.method == "monte-carlo" else _chosen(rows, options)
        )
    return found


def _chosen(designed: DesignedBatch, options: Options) -> RowStatistics:
    """Compute what is cheap, or everything, and sample the rest."""
    host = designed.on_host()
    exact = np.ones(designed.batch.shape[0], dtype=bool)
    if options.method == "auto":
        exact = _cheap(host)
    found = RowStatistics.empty(designed.batch.n_queries, "exact")
    others = np.flatnonzero(~exact)
    if others.size:
        found.put(others, _sampled(designed.take(others), options))
    chosen = np.flatnonzero(exact)
    row_bytes = _FLOAT_BYTES * _EXACT_COPIES * designed.batch.shape[1]
    for part in cut(range(chosen.size), rows_within(row_bytes, max(1, chosen.size), share=0.375)):
        some = chosen[part.start : part.stop]
        found.put(some, _computed(designed.take(some), host.take(some), options))
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


def _computed(designed: DesignedBatch, host: DesignedBatch, options: Options) -> RowStatistics:
    batch, backend = host.batch, designed.batch.backend
    found = RowStatistics.empty(batch.n_queries, "exact")
    _put_p_values(found, exact_p_values(batch, host.union, options, backend))
    _mend_uncertain(found, designed, options)
    sampled = []
    for group in host.groups:
        if options.interval == "studentized":
            sampled.append(group.rows)
            continue
        ends = computed_ends(group, batch.deltas[group.rows], options, batch.eps, backend)
        _put_ends(found, group.rows, ends, options, 0)
        sampled.append(group.rows[np.isnan(ends.low)])
    again = np.sort(np.concatenate(sampled)) if sampled else np.empty(0, dtype=np.int64)
    if again.size:
        _put_sampled_ends(found, again, designed.take(again), options)
    return found


def _mend_uncertain(found: RowStatistics, designed: DesignedBatch, options: Options) -> None:
    """Sample the p-values that came out uncertain, if the method is ours to choose."""
    rows = np.flatnonzero(uncertain(found.p_value, found.p_error))
    if options.method == "exact":
        require_certain(found.p_value[rows], found.p_error[rows], rows)
    if rows.size:
        batch = designed.batch.take(rows)
        (sampled,) = together([sampled_p_values(batch, designed.union, options)])
        for name, column in sampled._asdict().items():
            getattr(found, name)[rows] = column
        found.n_permutations[rows] = options.n_permutations


def _sampled(designed: DesignedBatch, options: Options) -> RowStatistics:
    found = RowStatistics.empty(designed.batch.n_queries, "monte-carlo")
    found.n_permutations[:] = options.n_permutations
    rows = np.arange(designed.batch.shape[0])
    for places, p in _in_slabs(designed, options, with_p=True):
        if isinstance(p, PValues):
            part = RowStatistics.empty(designed.batch.n_queries[places], "monte-carlo")
            _put_p_values(part, p)
            for name in PValues._fields:
                getattr(found, name)[places] = getattr(part, name)
        else:
            _put_ends(found, rows[places], p, options, options.n_resamples)
    return found


def _put_sampled_ends(found: RowStatistics, rows: Counts, designed: DesignedBatch, options: Options) -> None:
    for places, ends in _in_slabs(designed, options, with_p=False):
        if isinstance(ends, Ends):
            _put_ends(found, rows[places], ends, options, options.n_resamples)


def _in_slabs(
    designed: DesignedBatch, options: Options, *, with_p: bool
) -> Iterator[tuple[Counts, PValues | Ends]]:
    """Yield the rows and their p-values or intervals; what a device computes comes in one transfer."""
    batch = designed.batch
    n_rows, n = batch.shape
    kind = "mean" if _is_mean(designed, options) else options.interval
    row_bytes = _FLOAT_BYTES * (_COPIES[kind] * n + _SUM_COPIES[kind] * options.n_resamples)
    places: list[Counts] = []
    jobs: list[Job[Any]] = []
    for span in cut(range(n_rows), rows_within(row_bytes, n_rows, share=0.375)):
        for rows, job in _jobs(designed.within(span), options, with_p=with_p):
            places.append(rows + span.start)
            jobs.append(job)
            if batch.backend.name == "numpy":
                yield places.pop(), together([jobs.pop()])[0]
    if jobs:
        jobs.append(_finite(batch))
        *results, _ = together(jobs)
        yield from zip(places, results, strict=True)


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
