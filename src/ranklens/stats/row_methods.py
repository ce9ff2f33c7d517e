"""Which method serves which rows of a batch."""

from __future__ import annotations

import numpy as np

from ranklens.stats.batch import Batch
from ranklens.stats.options import Options
from ranklens.stats.row_exact import cheap_rows, exact_statistics
from ranklens.stats.row_statistics import RowStatistics, enough, sampled_statistics


def row_statistics(batch: Batch, options: Options) -> RowStatistics:
    """Make the statistics of every row by the method of the options; rows with too few queries lack some."""
    if options.method == "monte-carlo" or batch.shape[1] == 0:
        return sampled_statistics(batch, options)
    host = batch.host_rows()
    tested = enough(batch.n_queries, options)
    exact = tested if options.method == "exact" else tested & cheap_rows(host, batch.eps)
    found = RowStatistics.empty(batch.n_queries, "exact")
    chosen, others = np.flatnonzero(exact), np.flatnonzero(~exact)
    if others.size:
        found.put(others, sampled_statistics(batch.take(others), options))
    if chosen.size:
        found.put(chosen, exact_statistics(batch.take(chosen), host[chosen], options))
    return found
