"""Intervals of infinitely many resamples of groups of rows, under a design."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, open_backend
from ranklens.stats.ideal.means import mean_intervals
from ranklens.stats.ideal.ratio import UncertainLawError
from ranklens.stats.ideal.ratios import ratio_intervals
from ranklens.stats.options import Options, tail_of
from ranklens.stats.rows.design_sample import Ends
from ranklens.stats.rows.design_units import Group
from ranklens.stats.rows.jobs import Job
from ranklens.stats.rows.sums import exact_sums

Floats = NDArray[np.float64]


def computed_ends(group: Group, deltas: Floats, options: Options, eps: float, backend: Backend) -> Job[Ends]:
    """Return the means and intervals of a group's rows of `deltas`, which are on the host, with `backend`.

    NaN stands for an interval whose law is uncertain, where the method is left to ranklens.
    """
    values = deltas[group.rows]
    exponents = group.exponents(values)
    if exponents is not None:
        with np.errstate(over="ignore", under="ignore"):
            values = np.ldexp(values, -exponents[:, None])
    totals = group.totals(values, open_backend("numpy"))
    mean = exact_sums(totals) / math.fsum(group.sizes.tolist()) + 0.0
    if group.even_size is not None:
        tail = tail_of(options.alpha, options.alternative)
        low, high = yield from mean_intervals(totals, options.interval, tail, eps, backend)
        low, high = low / group.even_size + 0.0, high / group.even_size + 0.0
    else:
        yield ()
        tail = tail_of(options.alpha, options.alternative)
        # Ratios are computed on the host, wherever the differences lie.
        host = open_backend("numpy")
        low, high = ratio_intervals(totals, group.sizes, options.interval, tail, eps, host)
        if options.method == "exact" and np.isnan(low).any():
            raise UncertainLawError
    return Ends(mean, low, high).times_two_to(exponents)
