"""Exact statistics of a batch: p-values over all flips, intervals of infinitely many resamples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.exact import p_values
from ranklens.stats.exact.plan import MOST_COUNTED
from ranklens.stats.options import Options
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.descriptions import moments_of, rows_in_cache, wins_and_losses
from ranklens.stats.rows.intervals import IntervalRows
from ranklens.stats.rows.jobs import Job, combined
from ranklens.stats.rows.statistics import RowStatistics

Floats = NDArray[np.float64]


def cheap_rows(host: Floats, eps: float) -> NDArray[np.bool_]:
    """Whether the exact p-value of each row costs no more than sampling; see `exact_is_cheap`."""
    cheap = np.ones(len(host), dtype=bool)
    open_rows = np.flatnonzero(np.count_nonzero(host, axis=1) <= MOST_COUNTED)
    if open_rows.size:
        own = host if len(open_rows) == len(host) else host[open_rows]
        cheap[open_rows] = p_values.cheap_rows(own, eps)
    return cheap


def exact_statistics(batch: Batch, host: Floats, options: Options) -> Job[RowStatistics]:
    """Compute p-values over all sign assignments, and intervals of infinitely many resamples.

    What rows are without a test, `describe` says.
    What a device computes comes back in one transfer; what then is still open is computed on the host.
    """
    found = RowStatistics.empty(batch.n_queries, "exact")
    ends = IntervalRows.of(batch, host, options)
    flips = p_values.exact_p_values(host, batch.eps, options.alternative, batch.backend)
    exact, *inverted = yield from combined([flips, *ends.jobs(batch.backend)])
    found.p_value[:], found.p_error[:], found.log10_p[:], found.method[:] = exact
    ends.put(found, inverted, batch, options)
    return found


def describe(found: RowStatistics, batch: Batch, rows: NDArray[np.int64]) -> None:
    """Write down what the differences of some rows of a batch on the host say without a test."""
    n_queries = batch.n_queries
    for part in rows_in_cache(len(rows), batch.shape[1]):
        some = rows[part.start : part.stop]
        deltas, none, n = batch.deltas[some], np.zeros(len(some)), n_queries[some]
        mask = None if batch.mask is None else batch.mask[some]
        wins, losses = wins_and_losses(deltas, none)
        found.wins[some], found.ties[some], found.losses[some] = wins, n - wins - losses, losses
        found.delta[some], found.effect[some], _ = moments_of(deltas, none, mask)
