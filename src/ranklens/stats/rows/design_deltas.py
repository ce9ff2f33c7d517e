"""Columns of a delta table under a design of the sample."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.options import Options
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.descriptions import wins_and_losses
from ranklens.stats.rows.design_moments import group_beside, group_moments
from ranklens.stats.rows.design_statistics import DesignedBatch, statistics_job
from ranklens.stats.rows.design_units import QueryDesign, groups_of
from ranklens.stats.rows.jobs import Job, combined, together
from ranklens.stats.rows.statistics import RowStatistics, enough

Floats = NDArray[np.float64]


class DesignedColumns(NamedTuple):
    """The statistics of rows, their numbers of units, and further p-values where asked for."""

    found: RowStatistics
    n_units: NDArray[np.int64] | None = None
    p_t: Floats | None = None
    p_wilcoxon: Floats | None = None


def designed_batch(batch: Batch, options: Options) -> DesignedBatch:
    """Return the units of rows, for weights and clusters in the order of the queries.

    Raises
    ------
    ValueError
        As `Design.units` does.
    """
    n = batch.shape[1]
    # Without ids its messages speak of positions.
    options.design.units(n)
    positions: Any = range(n)
    design = QueryDesign.of(options.design.bound(positions), positions)
    return DesignedBatch(batch, design.union(), [*groups_of(batch, design)])


def designed_columns(designed: DesignedBatch, options: Options) -> Job[DesignedColumns]:
    """Make the statistics of every row; NaN for what a row with too few units lacks.

    The rows come to the host with what was sampled; exact methods need them there, and another transfer.
    """
    if options.method == "monte-carlo":
        jobs = [designed.batch.fetched(), statistics_job(designed, None, options)]
        host, found = yield from combined(jobs)
    else:
        host = yield from designed.batch.fetched()
        (found,) = together([statistics_job(designed, host, options)])
    return _described(designed, host, found, options)


def _described(
    designed: DesignedBatch, host: Floats, found: RowStatistics, options: Options
) -> DesignedColumns:
    batch = designed.batch
    beside: dict[str, Floats] = {f"p_{name}": np.full(len(host), np.nan) for name in options.beside}
    size = np.zeros(len(host))
    for group in designed.groups:
        deltas, none = host[group.rows], size[group.rows]
        wins, losses = wins_and_losses(deltas, none)
        found.wins[group.rows], found.losses[group.rows] = wins, losses
        found.ties[group.rows] = batch.n_queries[group.rows] - wins - losses
        moments = group_moments(group, deltas, none)
        if not enough(group.n, options):
            found.delta[group.rows] = moments.mean
            continue
        found.effect[group.rows] = moments.effect
        if beside:
            for name, column in group_beside(group, deltas, none, moments.mean, moments.se, options).items():
                beside[name][group.rows] = np.array(column, dtype=np.float64)
    n_units = None if options.design.is_simple else designed.n_units
    return DesignedColumns(found, n_units, beside.get("p_t"), beside.get("p_wilcoxon"))
