"""Which method serves which rows of a batch."""

from __future__ import annotations

import dataclasses
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut, rows_within
from ranklens.stats.exact.trust import require_certain, uncertain
from ranklens.stats.options import Options
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.exact import cheap_rows, describe, exact_statistics
from ranklens.stats.rows.jobs import Job, together
from ranklens.stats.rows.statistics import RowStatistics, enough, sampled_statistics

Counts = NDArray[np.int64]

_FLOAT_BYTES = 8
# Arrays of the shape of the differences that the exact methods hold at once.
_EXACT_COPIES = 16


def row_statistics(batch: Batch, options: Options) -> RowStatistics:
    """Make the statistics of every row by the method of the options; rows with too few queries lack some.

    Rows by exact methods are not described: they lack means, effects and counts. The options are plain
    (`is_plain`); others take `ranklens.stats.rows.design_statistics`.
    """
    (found,) = together([statistics_job(batch, options, described=False)])
    return cast(RowStatistics, found)


def statistics_job(batch: Batch, options: Options, *, described: bool = True) -> Job[RowStatistics]:
    """Do what `row_statistics` does, in one transfer with other jobs; exact methods need one more."""
    exponents = batch.extreme_exponents()
    if not exponents.any():
        return (yield from _statistics(batch, options, described))
    found = yield from _statistics(batch.scaled(-exponents), options, described)
    with np.errstate(over="ignore", under="ignore"):
        for column in (found.delta, found.ci_low, found.ci_high):
            column[:] = np.ldexp(column, exponents)
    return found


def _statistics(batch: Batch, options: Options, described: bool) -> Job[RowStatistics]:
    if options.method == "monte-carlo" or batch.shape[1] == 0:
        return (yield from sampled_statistics(batch, options))
    return _by_method(batch, (yield from batch.fetched()), options, described)


def _by_method(batch: Batch, host: NDArray[np.float64], options: Options, described: bool) -> RowStatistics:
    tested = enough(batch.n_queries, options)
    exact = tested if options.method == "exact" else tested & cheap_rows(host, batch.eps)
    found = RowStatistics.empty(batch.n_queries, "exact")
    there = batch.on_host(host)
    # Rows without a test get no p-value, so that one flip is as good as thousands.
    untested = there, ~tested, dataclasses.replace(options, n_permutations=1)
    jobs = [
        _sampled(found, source, np.flatnonzero(some), how)
        for source, some, how in (untested, (batch, tested & ~exact, options))
        if some.any()
    ]
    chosen = np.flatnonzero(exact)
    row_bytes = _FLOAT_BYTES * _EXACT_COPIES * batch.shape[1]
    for part in cut(range(chosen.size), rows_within(row_bytes, max(1, chosen.size), share=0.5)):
        jobs.append(_exact(found, batch, host, chosen[part.start : part.stop], options))
        # Only the first part has room beside what is sampled.
        together(jobs)
        jobs = []
    together(jobs)
    if described:
        describe(found, there, chosen)
    _mend_uncertain(found, there, options)
    return found


def _sampled(found: RowStatistics, batch: Batch, rows: Counts, options: Options) -> Job[None]:
    found.put(rows, (yield from sampled_statistics(batch.take(rows), options)))


def _exact(
    found: RowStatistics, batch: Batch, host: NDArray[np.float64], rows: Counts, options: Options
) -> Job[None]:
    found.put(rows, (yield from exact_statistics(batch.take(rows), host[rows], options)))


def _mend_uncertain(found: RowStatistics, batch: Batch, options: Options) -> None:
    """Sample the p-values that came out uncertain, if the method is ours to choose."""
    rows = np.flatnonzero(uncertain(found.p_value, found.p_error) & (found.n_permutations == 0))
    if options.method == "exact":
        require_certain(found.p_value[rows], found.p_error[rows], rows)
    if rows.size:
        (sampled,) = together([sampled_statistics(batch.take(rows), options)])
        for name in ("p_value", "p_error", "log10_p", "method", "n_permutations"):
            getattr(found, name)[rows] = getattr(sampled, name)
