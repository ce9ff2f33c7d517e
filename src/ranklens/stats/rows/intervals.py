"""Percentile intervals of infinitely many resamples of many rows: by inversion, or read from a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, open_backend
from ranklens.stats.ideal.interval import ideal_interval
from ranklens.stats.ideal.law import LISTED
from ranklens.stats.interval_levels import expanded_tail
from ranklens.stats.moments import ROUNDING
from ranklens.stats.options import Options, tail_of
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.jobs import Job
from ranklens.stats.rows.kinds import MOSTLY_DISTINCT, ExactRows
from ranklens.stats.rows.laws import grid_ends, grid_length, inverted_ends, lattice_ends
from ranklens.stats.rows.statistics import RowStatistics

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]

_FEWEST_INVERTED = 20
_LONGEST_LATTICE = 1 << 13


def measured(host: Floats, batch: Batch, rows: Counts, size: int) -> Floats:
    """Return the measured values of rows that have `size` of them, shape (rows, size)."""
    places = batch.places(rows, size)
    return host[rows] if places is None else np.take_along_axis(host[rows], places, axis=1)


class _Group(NamedTuple):
    """Rows with as many measured queries, what these are, and which of them have smooth laws."""

    places: Counts
    rows: ExactRows
    tail: float
    spread: Rows
    smooth: Rows


@dataclass(frozen=True, slots=True)
class IntervalRows:
    """The intervals of rows, grouped by their numbers of measured queries."""

    groups: list[_Group]

    @classmethod
    def of(cls, batch: Batch, host: Floats, options: Options) -> IntervalRows:
        groups = []
        for size, places in batch.by_size():
            rows = ExactRows.of(measured(host, batch, places, size), batch.eps)
            tail = tail_of(options.alpha, options.alternative)
            tail = expanded_tail(tail, size) if options.interval == "expanded" else tail
            spread = np.ptp(rows.deltas, axis=1) > ROUNDING * np.abs(rows.deltas).max(axis=1)
            distinct = rows.n_distinct >= MOSTLY_DISTINCT * size
            smooth = ~rows.lattice & spread & distinct & (size >= _FEWEST_INVERTED)
            groups.append(_Group(places, rows, tail, spread, smooth))
        return cls(groups)

    def jobs(self, backend: Backend) -> list[Job[tuple[Floats, Floats]]]:
        """Return the inversions of the smooth rows of each group."""
        return [inverted_ends(group.rows.deltas[group.smooth], group.tail, backend) for group in self.groups]

    def put(
        self,
        found: RowStatistics,
        inverted: Sequence[tuple[Floats, Floats]],
        batch: Batch,
        options: Options,
    ) -> None:
        """Write down the inverted ends, and those that are read from grids."""
        for group, ends in zip(self.groups, inverted, strict=True):
            low, high = np.full((2, len(group.places)), math.nan)
            low[group.smooth], high[group.smooth] = ends
            _put_lattice_ends(group, low, high)
            rough = np.isnan(low) & group.spread & (group.rows.deltas.shape[1] >= _FEWEST_INVERTED)
            if rough.any():
                low[rough], high[rough] = grid_ends(group.rows.deltas[rough], group.tail)
            for i in np.flatnonzero(np.isnan(low)).tolist():
                own = group.rows.deltas[i]
                low[i], high[i] = ideal_interval(
                    own, np.ones(len(own)), "percentile", group.tail, batch.eps, open_backend("numpy")
                )
            found.ci_low[group.places] = low + 0.0 if options.alternative != "less" else -math.inf
            found.ci_high[group.places] = high + 0.0 if options.alternative != "greater" else math.inf


def _put_lattice_ends(group: _Group, low: Floats, high: Floats) -> None:
    """Read the ends of rows on a lattice, those with grids of one length together."""
    rows, n = group.rows, group.rows.deltas.shape[1]
    lengths = np.where(rows.lattice & group.spread & (n > LISTED), grid_length(rows.multiples), 0)
    for length in np.unique(lengths[(lengths > 0) & (lengths <= _LONGEST_LATTICE)]).tolist():
        chosen = np.flatnonzero(lengths == length)
        values, steps = rows.deltas[chosen], rows.multiples[chosen]
        largest = np.argmax(np.abs(steps), axis=1)[:, None]
        value, multiple = (np.take_along_axis(x, largest, axis=1)[:, 0] for x in (values, steps))
        for ends, sums in zip((low, high), lattice_ends(steps, length, group.tail), strict=True):
            means = sums * value / multiple / n
            ends[chosen] = np.clip(means, values.min(axis=1), values.max(axis=1))
