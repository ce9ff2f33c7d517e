"""Exact statistics of a batch: what can be computed for many rows at once is, the rest row by row."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.kernels.ties import BAND
from ranklens.stats.batch import Batch
from ranklens.stats.exact import CLOSED_FORM, exact_is_cheap, exact_p_value
from ranklens.stats.exact_ladder import MEETING
from ranklens.stats.ideal import ideal_interval
from ranklens.stats.interval_levels import expanded_tail
from ranklens.stats.moments import ROUNDING
from ranklens.stats.options import Options, tail_of
from ranklens.stats.row_descriptions import exact_sums, moments_of
from ranklens.stats.row_lattices import lattice_scales
from ranklens.stats.row_laws import grid_ends, grid_length, inverted_ends, lattice_ends
from ranklens.stats.row_statistics import RowStatistics
from ranklens.stats.row_subsets import few_subsets
from ranklens.stats.row_tails import RowTails, counted_tails, plain_tails, tilted_tails

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]

_FAR, _SMALLEST = math.log(1e-6), math.log(1e-9)
_LOG10_E = math.log10(math.e)
_LONGEST_COUNT, _MOST_COUNTED = 2048, 900
_MOSTLY_DISTINCT = 0.75
_FEWEST_INVERTED = 20
_LONGEST_LATTICE = 1 << 13
_LARGE_ERROR = 5e-3
_SURELY_FARTHEST = 6.1
"""Standard deviations beyond which the normal law, whose tail is the heavier one, leaves less than 1e-9."""


class ExactRows(NamedTuple):
    """Rows (rows, n) with zeros where nothing is measured, and what decides about the ways to compute them.

    `multiples` are those of a step on a lattice, their common divisor taken out, zeros elsewhere.
    """

    deltas: Floats
    magnitudes: Floats
    n_nonzero: Counts
    n_distinct: Counts
    observed: Floats
    certain: Rows
    lattice: Rows
    multiples: Counts

    @classmethod
    def of(cls, deltas: Floats, eps: float) -> ExactRows:
        """Look at every row for a lattice, repeated values and an observed sum of zero."""
        magnitudes = np.abs(deltas)
        ordered = np.sort(magnitudes, axis=1)
        largest = ordered[:, -1]
        parted = np.diff(ordered, axis=1) > ROUNDING * largest[:, None]
        n_distinct = np.count_nonzero(parted, axis=1) + (ordered[:, 0] > 0.0)
        scale = lattice_scales(deltas, largest, eps)
        lattice = np.isfinite(scale)
        multiples = np.zeros(deltas.shape, dtype=np.int64)
        multiples[lattice] = np.rint(deltas[lattice] * scale[lattice, None])
        divisor = np.maximum(np.gcd.reduce(multiples, axis=1), 1)
        multiples //= divisor[:, None]
        observed = np.sum(deltas, axis=1)
        band = BAND * eps * np.sum(magnitudes, axis=1)
        certain = np.where(lattice, multiples.sum(axis=1) == 0, np.abs(observed) <= band)
        n_nonzero = np.count_nonzero(magnitudes, axis=1)
        return cls(deltas, magnitudes, n_nonzero, n_distinct, observed, certain, lattice, multiples)


def cheap_rows(host: Floats, eps: float) -> Rows:
    """Whether the exact p-value of each row costs no more than sampling; see `exact_is_cheap`."""
    # Beyond this many differences it always is.
    cheap = np.asarray(np.count_nonzero(host, axis=1) > MEETING)
    for i in np.flatnonzero(~cheap).tolist():
        cheap[i] = exact_is_cheap(host[i])
    return cheap


def exact_statistics(batch: Batch, host: Floats, options: Options) -> RowStatistics:
    """Compute p-values over all sign assignments, and intervals of infinitely many resamples."""
    found = RowStatistics.empty(batch.n_queries, "exact")
    _put_p_values(found, host, batch, options)
    _put_intervals(found, host, batch, options)
    for size, rows in batch.by_size():
        own = _measured(host, batch, rows, size)
        band = (ROUNDING * np.abs(own).max(axis=1))[:, None]
        wins, losses = np.count_nonzero(own > band, axis=1), np.count_nonzero(own < -band, axis=1)
        found.wins[rows], found.ties[rows], found.losses[rows] = wins, size - wins - losses, losses
        found.delta[rows] = exact_sums(own) / size + 0.0
        if size > 1:
            found.effect[rows] = moments_of(own, np.zeros(len(rows)))[0]
    return found


def _measured(host: Floats, batch: Batch, rows: Counts, size: int) -> Floats:
    places = batch.places(rows, size)
    return host[rows] if places is None else np.take_along_axis(host[rows], places, axis=1)


def _put_p_values(found: RowStatistics, host: Floats, batch: Batch, options: Options) -> None:
    rows = ExactRows.of(host, batch.eps)
    left = np.ones(len(host), dtype=bool)
    if options.alternative == "two-sided":
        _put(found, np.flatnonzero(rows.certain), 0.0, 0.0, CLOSED_FORM)
        left &= ~rows.certain
        left[_count(found, rows, left)] = False
        left[_invert(found, rows, left, batch.backend, batch.eps)] = False
        repeated = left & ~rows.lattice & (rows.n_distinct < _MOSTLY_DISTINCT * rows.n_nonzero)
        left[_list(found, rows, np.flatnonzero(repeated), batch.eps)] = False
    for i in np.flatnonzero(left).tolist():
        exact = exact_p_value(host[i], options.alternative)
        found.p_value[i], found.p_error[i] = exact.p_value, exact.p_error
        found.log10_p[i], found.method[i] = exact.log10_p, exact.step


def _put(found: RowStatistics, rows: Counts, log_p: Floats | float, error: Floats | float, step: str) -> None:
    p = np.minimum(np.exp(log_p), 1.0)
    tiny = p < sys.float_info.min
    found.p_value[rows] = np.where(tiny, sys.float_info.min, p)
    found.p_error[rows] = np.where(tiny, sys.float_info.min, error)
    found.log10_p[rows] = np.minimum(np.asarray(log_p) * _LOG10_E, 0.0)
    found.method[rows] = step


def _count(found: RowStatistics, rows: ExactRows, left: Rows) -> Counts:
    """Count the subsets of the rows on a short lattice."""
    multiples = np.abs(rows.multiples)
    limits = (multiples.sum(axis=1) - np.abs(rows.multiples.sum(axis=1))) // 2
    short = left & rows.lattice & (limits < _LONGEST_COUNT) & (rows.n_nonzero <= _MOST_COUNTED)
    chosen = np.flatnonzero(short)
    if chosen.size:
        ways = counted_tails(multiples[chosen], limits[chosen])
        n = np.count_nonzero(multiples[chosen], axis=1)
        found.p_value[chosen] = np.ldexp(ways, 1 - n)
        found.log10_p[chosen] = np.log10(ways) + (1 - n) * math.log10(2.0)
        exact = ways < 2.0**53
        found.p_error[chosen] = np.where(exact, 0.0, found.p_value[chosen] * n * sys.float_info.epsilon)
        found.method[chosen] = "lattice convolution"
    return chosen


def _invert(found: RowStatistics, rows: ExactRows, left: Rows, backend: Backend, eps: float) -> Counts:
    """Invert the characteristic functions of rows that hardly repeat a value, except in the farthest tail."""
    distinct = rows.n_distinct >= _MOSTLY_DISTINCT * rows.n_nonzero
    chosen = np.flatnonzero(left & ~rows.lattice & distinct & (rows.n_nonzero > MEETING - 8))
    if not chosen.size:
        return chosen
    observed = np.abs(rows.observed[chosen])
    plain = plain_tails(rows.magnitudes[chosen], observed, backend)
    near = plain.log_tail >= _FAR
    done = [_put_tails(found, chosen[near], plain, near)]
    spread = np.sqrt(np.sum(rows.magnitudes[chosen] ** 2, axis=1))
    farthest = ~near & (observed > _SURELY_FARTHEST * spread) & (rows.n_nonzero[chosen] <= 2 * MEETING)
    listed = _list(found, rows, chosen[farthest], eps)
    done.append(listed)
    far = np.flatnonzero(~near & ~np.isin(chosen, listed))
    if far.size:
        tilted = tilted_tails(rows.magnitudes[chosen[far]], observed[far], backend)
        sure = (tilted.log_tail >= _SMALLEST) | (rows.n_nonzero[chosen[far]] > 2 * MEETING)
        sure &= tilted.error <= _LARGE_ERROR * tilted.mass
        done.append(_put_tails(found, chosen[far[sure]], tilted, sure))
        done.append(_list(found, rows, chosen[far[~sure]], eps))
    return np.concatenate(done)


def _list(found: RowStatistics, rows: ExactRows, chosen: Counts, eps: float) -> Counts:
    """Count the subsets that fit, where they are few enough to list."""
    if not chosen.size:
        return chosen
    ways, n = few_subsets(rows.deltas[chosen], eps), rows.n_nonzero[chosen]
    listed = np.isfinite(ways)
    places, ways, n = chosen[listed], ways[listed], n[listed]
    found.p_value[places] = np.maximum(np.ldexp(ways, 1 - n), sys.float_info.min)
    found.log10_p[places] = np.log10(ways) + (1 - n) * math.log10(2.0)
    found.p_error[places] = 0.0
    found.method[places] = "subset count"
    return places


def _put_tails(found: RowStatistics, places: Counts, tails: RowTails, which: Rows) -> Counts:
    log_scale = tails.log_scale[which] + math.log(2.0)
    error = np.exp(log_scale) * tails.error[which]
    _put(found, places, np.minimum(tails.log_tail[which] + math.log(2.0), 0.0), error, tails.step)
    return places


def _put_intervals(found: RowStatistics, host: Floats, batch: Batch, options: Options) -> None:
    for size, rows in batch.by_size():
        own = _measured(host, batch, rows, size)
        tail = tail_of(options.alpha, options.alternative)
        tail = expanded_tail(tail, size) if options.interval == "expanded" else tail
        found.ci_low[rows], found.ci_high[rows] = _ends(own, tail, batch)
    if options.alternative == "less":
        found.ci_low[:] = -math.inf
    if options.alternative == "greater":
        found.ci_high[:] = math.inf


def _ends(values: Floats, tail: float, batch: Batch) -> tuple[Floats, Floats]:
    rows = ExactRows.of(values, batch.eps)
    n = values.shape[1]
    low, high = np.full(len(values), math.nan), np.full(len(values), math.nan)
    spread = np.ptp(values, axis=1) > ROUNDING * rows.magnitudes.max(axis=1)
    lattice = rows.lattice & spread & (n > 8)
    lengths = np.where(lattice, grid_length(rows.multiples), 0)
    for length in np.unique(lengths[(lengths > 0) & (lengths <= _LONGEST_LATTICE)]).tolist():
        chosen = np.flatnonzero(lengths == length)
        largest = np.argmax(np.abs(rows.multiples[chosen]), axis=1)[:, None]
        steps = rows.multiples[chosen]
        value = np.take_along_axis(values[chosen], largest, axis=1)[:, 0]
        multiple = np.take_along_axis(steps, largest, axis=1)[:, 0]
        for ends, sums in zip((low, high), lattice_ends(steps, length, tail, batch.backend), strict=True):
            ends[chosen] = np.clip(
                sums * value / multiple / n, values[chosen].min(axis=1), values[chosen].max(axis=1)
            )
    atoms = n - rows.n_distinct
    smooth = ~rows.lattice & spread & (n >= _FEWEST_INVERTED) & (atoms <= (1.0 - _MOSTLY_DISTINCT) * n)
    if smooth.any():
        low[smooth], high[smooth] = inverted_ends(values[smooth], tail, batch.backend)
    rough = np.isnan(low) & spread & (n >= _FEWEST_INVERTED)
    if rough.any():
        low[rough], high[rough] = grid_ends(values[rough], tail, batch.backend)
    for i in np.flatnonzero(np.isnan(low)).tolist():
        low[i], high[i] = ideal_interval(values[i], np.ones(n), "percentile", tail, batch.eps, batch.backend)
    return low + 0.0, high + 0.0
