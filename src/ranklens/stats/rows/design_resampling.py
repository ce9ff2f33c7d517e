"""Bootstrap intervals of groups of rows: units are drawn, and their totals divided by their sizes.

How often each unit is drawn is shared by all rows of a group, and so are the sums of the sizes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, compiled, steady
from ranklens.arrays.jax_ends import ends_of_rows
from ranklens.arrays.parts import is_one_processor
from ranklens.kernels.resample_sums import ROWS_WORTH_COUNTING, resample_sums
from ranklens.kernels.resampled_ends import resampled_ends
from ranklens.kernels.resamples import order_statistics
from ranklens.kernels.row_moments import row_moments
from ranklens.stats.moments import ROUNDING
from ranklens.stats.options import QUANTILES, Options
from ranklens.stats.rows.design_alone import ratio_ends_as_alone
from ranklens.stats.rows.design_kinds import ends_of_kind
from ranklens.stats.rows.design_sample import Ends, Sample
from ranklens.stats.rows.design_units import Group
from ranklens.stats.rows.jobs import Job
from ranklens.stats.rows.statistics import Tail
from ranklens.stats.rows.sums import exact_sums

Floats = NDArray[np.float64]


def sampled_ends(group: Group, values: Any, options: Options, eps: float, backend: Backend) -> Job[Ends]:
    """Resample the units of each row of `values` (k, n_queries), zeros where nothing is measured."""
    exponents = group.exponents(values) if backend.name == "numpy" else None
    if exponents is not None:
        with np.errstate(over="ignore", under="ignore"):
            values = np.ldexp(values, -exponents[:, None])
    sample = Sample.of(group, group.totals(values, backend), eps, backend)
    del values
    if options.interval not in QUANTILES:
        ends = yield from ends_of_kind(sample, options)
    elif group.even_size is not None:
        ends = yield from _mean_ends(sample, options)
    else:
        ends = yield from _ratio_ends(sample, options)
    return ends.times_two_to(exponents)


def _mean_ends(sample: Sample, options: Options) -> Job[Ends]:
    """Take the ends among the sums of each row, where all units have one size."""
    backend, xp = sample.backend, sample.backend.xp
    tail = Tail.of(options, sample.n)
    moments = compiled(row_moments, backend, static=("rounding",))
    about = moments(sample.values, rounding=ROUNDING, n=sample.n if backend.name == "jax" else None)
    drawn = {"seed": options.seed, "n_resamples": options.n_resamples}
    ends = resampled_ends(sample.values, sample.n, ranks=tail.ranks, **drawn)
    (host,) = yield (xp.concat([sample.factor[:, None], about, ends], axis=-1),)
    factor, smallest, largest, total = np.asarray(host, dtype=np.float64).T[:4]
    near_low, low, high, near_high = np.asarray(host, dtype=np.float64).T[-4:]
    factor = factor * sample.divisor

    def mean(sums: Floats) -> Floats:
        # Rounding must not carry a mean past the values it averages, nor leave a negative zero.
        within = np.minimum(np.maximum(sums / (sample.n * factor), smallest / factor), largest / factor)
        return np.asarray(within + 0.0)

    return Ends(mean(total), mean(tail.between(near_low, low)), mean(tail.between(near_high, high)))


def _ratio_ends(sample: Sample, options: Options) -> Job[Ends]:
    """Take the ends among the ratios of the sums of totals and sizes."""
    backend, resamples = sample.backend, range(options.n_resamples)
    tail = Tail.of(options, sample.n)
    sums = resample_sums(sample.values, sample.n, seed=options.seed, resamples=resamples)
    sizes = backend.asarray(sample.sizes)
    size_sums = resample_sums(steady(sizes, backend), sample.n, seed=options.seed, resamples=resamples)
    if backend.name == "numpy":
        ends = ratio_ends_as_alone(sample.values, sums, size_sums, tail.ranks, options.seed)
    else:
        ends = _ordered(sums / size_sums, tail.ranks, backend)
    del sums
    totals, factor, ends = yield sample.values, sample.factor, ends
    near_low, low, high, near_high = np.asarray(ends, dtype=np.float64).T
    lower, upper = tail.between(near_low, low), tail.between(near_high, high)
    # At the median both are one number, up to the rounding of either.
    within = lower, np.maximum(lower, upper) if 2.0 * tail.place <= tail.last else upper
    return _finished(sample, totals, factor, within)


def _ordered(ratios: Any, ranks: tuple[int, int, int, int], backend: Backend) -> Any:
    """Return the elements of four ranks of each row on a device."""
    if backend.name != "jax" or ratios.shape[0] < ROWS_WORTH_COUNTING:
        return compiled(order_statistics, backend, static=("ranks",))(ratios, ranks=ranks)
    found = compiled(ends_of_rows, backend, static=("ranks", "one_by_one"))
    return found(ratios, ranks=ranks, one_by_one=is_one_processor(backend))


def _finished(sample: Sample, totals: Any, factor: Any, ends: tuple[Floats, Floats]) -> Ends:
    """Turn ends of scaled ratios into those of differences; a row of one ratio has a point for interval."""
    totals = np.asarray(totals[:, : sample.n], dtype=np.float64)
    each = totals / sample.sizes
    lowest, highest = each.min(axis=1), each.max(axis=1)
    low, high = np.maximum(ends[0], lowest), np.minimum(ends[1], highest)
    same = highest - lowest <= ROUNDING * np.maximum(-lowest, highest)
    middle = lowest / 2 + highest / 2 + 0.0
    low, high = np.where(same, middle, low), np.where(same, middle, high)
    ratio = exact_sums(totals) / math.fsum(sample.sizes.tolist())
    return Ends(*(sample.unscaled(column, factor) for column in (ratio, low, high)))
