"""Which method serves which rows of a batch."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut, rows_within
from ranklens.stats.bootstrap import paired_bootstrap
from ranklens.stats.options import Options
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.exact import cheap_rows, exact_statistics
from ranklens.stats.rows.statistics import RowStatistics, enough, sampled_statistics

_FLOAT_BYTES = 8
# Arrays of the shape of the differences that the exact methods hold at once.
_EXACT_COPIES = 16

TOGETHER = ("percentile", "expanded")
"""The kinds of interval that are made for all rows at once."""


def row_statistics(batch: Batch, options: Options) -> RowStatistics:
    """Make the statistics of every row by the method of the options; rows with too few queries lack some."""
    exponents = batch.extreme_exponents()
    if not exponents.any():
        return _statistics(batch, options)
    found = _statistics(batch.scaled(-exponents), options)
    with np.errstate(over="ignore", under="ignore"):
        for column in (found.delta, found.ci_low, found.ci_high):
            column[:] = np.ldexp(column, exponents)
    return found


def _statistics(batch: Batch, options: Options) -> RowStatistics:
    sampled = options.method == "monte-carlo" or batch.shape[1] == 0
    if options.interval in TOGETHER:
        return (
            sampled_statistics(batch, options) if sampled else _by_method(batch, batch.host_rows(), options)
        )
    host = batch.host_rows()
    shared = dataclasses.replace(options, interval="percentile")
    found = sampled_statistics(batch, shared) if sampled else _by_method(batch, host, shared)
    _put_intervals(found, host, batch, options)
    return found


def _by_method(batch: Batch, host: NDArray[np.float64], options: Options) -> RowStatistics:
    tested = enough(batch.n_queries, options)
    exact = tested if options.method == "exact" else tested & cheap_rows(host, batch.eps)
    found = RowStatistics.empty(batch.n_queries, "exact")
    chosen, others = np.flatnonzero(exact), np.flatnonzero(~exact)
    if others.size:
        found.put(others, sampled_statistics(batch.take(others), options))
    row_bytes = _FLOAT_BYTES * _EXACT_COPIES * batch.shape[1]
    for part in cut(range(chosen.size), rows_within(row_bytes, max(1, chosen.size), share=0.5)):
        some = chosen[part.start : part.stop]
        found.put(some, exact_statistics(batch.take(some), host[some], options))
    return found


def _put_intervals(found: RowStatistics, host: NDArray[np.float64], batch: Batch, options: Options) -> None:
    """Make the intervals one by one, whose ends each row finds at its own places among its resamples."""
    for i in np.flatnonzero(enough(batch.n_queries, options)).tolist():
        exact = found.n_permutations[i] == 0 and options.interval != "studentized"
        interval = paired_bootstrap(
            host[i] if batch.mask is None else host[i, batch.mask[i]],
            n_resamples=options.n_resamples,
            alpha=options.alpha,
            seed=options.seed,
            alternative=options.alternative,
            method="exact" if exact else "monte-carlo",
            interval=options.interval,
        )
        found.ci_low[i], found.ci_high[i] = interval.low, interval.high
        found.n_resamples[i] = interval.n_resamples
