"""Exact statistics of a batch: p-values over all flips, intervals of infinitely many resamples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.exact import p_values
from ranklens.stats.moments import ROUNDING
from ranklens.stats.options import Options
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.descriptions import moments_of
from ranklens.stats.rows.intervals import IntervalRows, measured
from ranklens.stats.rows.jobs import Job, combined
from ranklens.stats.rows.statistics import RowStatistics
from ranklens.stats.rows.sums import exact_sums

Floats = NDArray[np.float64]


def cheap_rows(host: Floats, eps: float) -> NDArray[np.bool_]:
    """Whether the exact p-value of each row costs no more than sampling; see `exact_is_cheap`."""
    return p_values.cheap_rows(host, eps)


def exact_statistics(batch: Batch, host: Floats, options: Options) -> Job[RowStatistics]:
    """Compute p-values over all sign assignments, and intervals of infinitely many resamples.

    What a device computes comes back in one transfer; what then is still open is computed on the host.
    """
    found = RowStatistics.empty(batch.n_queries, "exact")
    ends = IntervalRows.of(batch, host, options)
    flips = p_values.exact_p_values(host, batch.eps, options.alternative, batch.backend)
    exact, *inverted = yield from combined([flips, *ends.jobs(batch.backend)])
    found.p_value[:], found.p_error[:], found.log10_p[:], found.method[:] = exact
    ends.put(found, inverted, batch, options)
    _describe(found, batch, host)
    return found


def _describe(found: RowStatistics, batch: Batch, host: Floats) -> None:
    for size, rows in batch.by_size():
        own = measured(host, batch, rows, size)
        band = (ROUNDING * np.abs(own).max(axis=1))[:, None]
        wins, losses = np.count_nonzero(own > band, axis=1), np.count_nonzero(own < -band, axis=1)
        found.wins[rows], found.ties[rows], found.losses[rows] = wins, size - wins - losses, losses
        found.delta[rows] = exact_sums(own) / size + 0.0
        if size > 1:
            found.effect[rows] = moments_of(own, np.zeros(len(rows)))[0]
