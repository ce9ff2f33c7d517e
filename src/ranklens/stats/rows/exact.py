"""Exact statistics of a batch: what can be computed for many rows at once is, the rest row by row."""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.exact.ladder import MEETING
from ranklens.stats.exact.p_value import CLOSED_FORM, exact_is_cheap, exact_p_value
from ranklens.stats.moments import ROUNDING
from ranklens.stats.options import Options
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.descriptions import moments_of
from ranklens.stats.rows.intervals import IntervalRows, measured
from ranklens.stats.rows.jobs import together
from ranklens.stats.rows.kinds import ExactRows
from ranklens.stats.rows.p_values import TailRows, count_on_lattice, list_subsets, put_log_p
from ranklens.stats.rows.statistics import RowStatistics
from ranklens.stats.rows.sums import exact_sums

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]


def cheap_rows(host: Floats, eps: float) -> Rows:
    """Whether the exact p-value of each row costs no more than sampling; see `exact_is_cheap`."""
    # Beyond this many differences it always is.
    cheap = np.asarray(np.count_nonzero(host, axis=1) > MEETING)
    for i in np.flatnonzero(~cheap).tolist():
        cheap[i] = exact_is_cheap(host[i])
    return cheap


def exact_statistics(batch: Batch, host: Floats, options: Options) -> RowStatistics:
    """Compute p-values over all sign assignments, and intervals of infinitely many resamples.

    What a device computes comes back in one transfer; what then is still open is computed on the host.
    """
    found = RowStatistics.empty(batch.n_queries, "exact")
    rows = ExactRows.of(host, batch.eps)
    left = _towards(rows, options.alternative)
    put_log_p(found, np.flatnonzero(left & rows.certain), 0.0, 0.0, CLOSED_FORM)
    left &= ~rows.certain
    left[count_on_lattice(found, rows, left)] = False
    tails, ends = TailRows.of(rows, left), IntervalRows.of(batch, host, options)
    results = together([*tails.jobs(batch.backend), *ends.jobs(batch.backend)])
    left[tails.put(found, results[:2], batch.eps)] = False
    left[list_subsets(found, rows, np.flatnonzero(left & rows.repeats & ~rows.lattice), batch.eps)] = False
    left |= ~_towards(rows, options.alternative)
    if options.alternative != "two-sided":
        _halve(found, ~left)
    for i in np.flatnonzero(left).tolist():
        exact = exact_p_value(host[i], options.alternative)
        found.p_value[i], found.p_error[i] = exact.p_value, exact.p_error
        found.log10_p[i], found.method[i] = exact.log10_p, exact.step
    ends.put(found, results[2:], batch, options)
    _describe(found, batch, host)
    return found


def _towards(rows: ExactRows, alternative: str) -> Rows:
    """Whether a row's p-value is the two-sided one, or half of it."""
    if alternative == "two-sided":
        return np.ones(len(rows.deltas), dtype=bool)
    sign = rows.observed if alternative == "greater" else -rows.observed
    return np.asarray(~rows.certain & (sign > 0.0))


def _halve(found: RowStatistics, which: Rows) -> None:
    found.p_value[which] = np.maximum(0.5 * found.p_value[which], sys.float_info.min)
    found.p_error[which] *= 0.5
    found.log10_p[which] -= math.log10(2.0)


def _describe(found: RowStatistics, batch: Batch, host: Floats) -> None:
    for size, rows in batch.by_size():
        own = measured(host, batch, rows, size)
        band = (ROUNDING * np.abs(own).max(axis=1))[:, None]
        wins, losses = np.count_nonzero(own > band, axis=1), np.count_nonzero(own < -band, axis=1)
        found.wins[rows], found.ties[rows], found.losses[rows] = wins, size - wins - losses, losses
        found.delta[rows] = exact_sums(own) / size + 0.0
        if size > 1:
            found.effect[rows] = moments_of(own, np.zeros(len(rows)))[0]
