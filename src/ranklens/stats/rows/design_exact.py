"""Intervals of infinitely many resamples of groups of rows, under a design."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, open_backend
from ranklens.arrays.threads import for_each, n_cores
from ranklens.stats.ideal.interval import ideal_interval
from ranklens.stats.ideal.means import mean_intervals
from ranklens.stats.ideal.ratio import UncertainLawError
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
        low, high = _one_by_one(group, totals, options, eps)
    return Ends(mean, low, high).times_two_to(exponents)


def _one_by_one(group: Group, totals: Floats, options: Options, eps: float) -> Floats:
    """Compute the law of each row by itself, some at a time; it takes milliseconds of long transforms."""
    ends = np.empty((len(totals), 2))

    def compute(i: int) -> None:
        ends[i] = _interval(group, totals[i], options, eps)

    for_each(compute, range(len(totals)), n_threads=n_cores())
    return ends.T


def _interval(group: Group, totals: Floats, options: Options, eps: float) -> tuple[float, float]:
    tail = tail_of(options.alpha, options.alternative)
    try:
        return ideal_interval(totals, group.sizes, options.interval, tail, eps, open_backend("numpy"))
    except UncertainLawError:
        if options.method == "exact":
            raise
        return math.nan, math.nan
