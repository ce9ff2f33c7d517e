"""Exact statistics of a batch."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.batch import Batch
from ranklens.stats.bootstrap import paired_bootstrap
from ranklens.stats.exact import exact_is_cheap, exact_p_value
from ranklens.stats.moments import effect_size, outcomes
from ranklens.stats.options import Options
from ranklens.stats.row_statistics import RowStatistics

Floats = NDArray[np.float64]


def cheap_rows(host: Floats, eps: float) -> NDArray[np.bool_]:
    return np.array([exact_is_cheap(row) for row in host], dtype=bool)


def exact_statistics(batch: Batch, host: Floats, options: Options) -> RowStatistics:
    found = RowStatistics.empty(batch.n_queries, "exact")
    for i, row in enumerate(host):
        own = row if batch.mask is None else row[batch.mask[i]]
        p = exact_p_value(own, options.alternative)
        ends = paired_bootstrap(own, alpha=options.alpha, alternative=options.alternative, method="exact")
        found.p_value[i], found.p_error[i], found.log10_p[i] = p.p_value, p.p_error, p.log10_p
        found.method[i] = p.step
        found.delta[i], found.ci_low[i], found.ci_high[i] = ends.delta, ends.low, ends.high
        found.wins[i], found.ties[i], found.losses[i] = outcomes(own)
        effect = effect_size(own)
        found.effect[i] = math.nan if effect is None else effect
    return found
