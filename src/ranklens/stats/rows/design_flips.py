"""Sign-flip p-values of many rows under a design: totals of units are flipped, once for each hypothesis."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, steady
from ranklens.kernels.flip_counts import flip_counts
from ranklens.stats.exact.p_values import exact_p_values as all_flips
from ranklens.stats.options import Options
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.jobs import Job, combined
from ranklens.stats.rows.lattices import comparable_rows
from ranklens.stats.scaling import exponents_of
from ranklens.stats.units import Units

Floats = NDArray[np.float64]


class PValues(NamedTuple):
    """Of rows, shape (rows,) each."""

    p_value: Floats
    p_error: Floats
    log10_p: Floats
    method: NDArray[Any]


def sampled_p_values(batch: Batch, units: Units | None, options: Options) -> Job[PValues]:
    """Flip the units of all queries by the signs of a single sample; of several p-values the largest counts.

    What is not measured in a row adds nothing to its totals, whatever the margin.
    """
    backend = batch.backend
    hypotheses = options.design.hypotheses(options.alternative)
    counts = []
    for values, (_, side) in zip(shifted_totals(batch, units, options), hypotheses, strict=True):
        sample = comparable_rows(steady(values, backend), backend, batch.eps)
        resamples = range(options.n_permutations)
        counts.append(flip_counts(sample, seed=options.seed, resamples=resamples, alternative=side))
    host = yield tuple(counts)
    extreme = np.max(np.stack(host), axis=0).astype(np.int64)
    p = (extreme + 1) / (options.n_permutations + 1)
    error = np.sqrt(p * (1.0 - p) / options.n_permutations)
    method = np.full(len(p), "monte-carlo", dtype=object)
    return PValues(p, error, np.array([math.log10(one) for one in p.tolist()]), method)


def exact_p_values(batch: Batch, units: Units | None, options: Options, backend: Backend) -> Job[PValues]:
    """Compute the p-values of rows on the host over all sign assignments of the units, with `backend`."""
    hypotheses = options.design.hypotheses(options.alternative)
    totals = zip(shifted_totals(batch, units, options), hypotheses, strict=True)
    jobs = [all_flips(values, batch.eps, side, backend) for values, (_, side) in totals]
    first, *others = (PValues(*found) for found in (yield from combined(jobs)))
    return functools.reduce(_larger, others, first)


def shifted_totals(batch: Batch, units: Units | None, options: Options) -> Iterator[Any]:
    """Yield what each hypothesis flips: the totals of the differences plus its shift, (rows, units)."""
    backend, xp = batch.backend, batch.backend.xp
    shifts = [shift for shift, _ in options.design.hypotheses(options.alternative)]
    values, exponents = _moderate(batch, units, shifts)
    wanted = None if batch.mask is None else backend.asarray(batch.mask)
    for shift in shifts:
        scaled = shift if exponents is None else np.ldexp(shift, -exponents)[:, None]
        shifted = values + scaled if shift else values
        if wanted is not None:
            shifted = xp.where(wanted, shifted, 0.0)
        yield shifted if units is None else units.totals_on(shifted, backend)


def _moderate(batch: Batch, units: Units | None, shifts: list[float]) -> tuple[Any, NDArray[np.int64] | None]:
    """Return the rows in units of a power of two where they are of extreme size, and its exponents."""
    if batch.backend.name != "numpy" or not batch.deltas.size:
        return batch.deltas, None
    counted = True if batch.mask is None else batch.mask
    largest = np.max(np.abs(batch.deltas), axis=1, initial=max(map(abs, shifts)), where=counted)
    exponents = exponents_of(largest, 1.0 if units is None else float(units.sizes.sum()))
    if exponents is None:
        return batch.deltas, None
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(batch.deltas, -exponents[:, None]), exponents


def _larger(one: PValues, other: PValues) -> PValues:
    first = (one.p_value > other.p_value) | ((one.p_value == other.p_value) & (one.log10_p >= other.log10_p))
    return PValues(*(np.where(first, a, b) for a, b in zip(one, other, strict=True)))
