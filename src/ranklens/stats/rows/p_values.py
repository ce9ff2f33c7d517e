"""Exact p-values of many rows: who is counted, inverted, tilted or listed."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, open_backend
from ranklens.stats.exact.ladder import MEETING
from ranklens.stats.rows.jobs import Job, together
from ranklens.stats.rows.kinds import ExactRows
from ranklens.stats.rows.statistics import RowStatistics
from ranklens.stats.rows.subsets import few_subsets
from ranklens.stats.rows.tails import (
    RowTails,
    counted_tails,
    log_tail_estimates,
    plain_tails,
    tilted_tails,
)

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]

_FAR, _SMALLEST = math.log(1e-6), math.log(1e-9)
_LOG10_E = math.log10(math.e)
_LONGEST_COUNT, _MOST_COUNTED = 2048, 900
_LARGE_ERROR = 5e-3
_MOST_LISTED, _FEWEST_SMOOTH = 2 * MEETING, MEETING - 8
_SURELY_FAR = 4.75
"""Standard deviations beyond which the normal law, whose tail is the heavier one, leaves 1e-6."""


def put_log_p(
    found: RowStatistics, rows: Counts, log_p: Floats | float, error: Floats | float, step: str
) -> None:
    """Write down p-values by their natural logarithms; below the smallest normal number they stay there."""
    p = np.minimum(np.exp(log_p), 1.0)
    tiny = p < sys.float_info.min
    found.p_value[rows] = np.where(tiny, sys.float_info.min, p)
    found.p_error[rows] = np.where(tiny, sys.float_info.min, error)
    found.log10_p[rows] = np.minimum(np.asarray(log_p) * _LOG10_E, 0.0)
    found.method[rows] = step


def count_on_lattice(found: RowStatistics, rows: ExactRows, left: Rows) -> Counts:
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


@dataclass(frozen=True, slots=True)
class TailRows:
    """Rows that hardly repeat a value: near ones to invert as they are, far ones to tilt, others to list."""

    rows: ExactRows
    near: Counts
    far: Counts
    farthest: Counts

    @classmethod
    def of(cls, rows: ExactRows, left: Rows) -> TailRows:
        spread = np.sqrt(np.sum(rows.magnitudes**2, axis=1))
        z = np.abs(rows.observed) / np.where(spread > 0.0, spread, 1.0)
        chosen = left & ~rows.lattice & ~rows.repeats & (rows.n_nonzero > _FEWEST_SMOOTH)
        near = chosen & (z < _SURELY_FAR)
        farthest = chosen & ~near & (rows.n_nonzero <= _MOST_LISTED)
        places = np.flatnonzero(farthest)
        estimates = log_tail_estimates(rows.magnitudes[places], np.abs(rows.observed[places]))
        farthest[places] = estimates < _SMALLEST
        return cls(rows, *(np.flatnonzero(which) for which in (near, chosen & ~near & ~farthest, farthest)))

    def jobs(self, backend: Backend) -> tuple[Job[RowTails], Job[RowTails]]:
        """Return the inversions of the near and of the far rows."""
        near, far = ((self.rows.magnitudes[i], np.abs(self.rows.observed[i])) for i in (self.near, self.far))
        return plain_tails(*near, backend), tilted_tails(*far, backend)

    def put(self, found: RowStatistics, inverted: Sequence[RowTails], eps: float) -> Counts:
        """Write down what is sure, mend the rest on the host, and return the rows that have a p-value."""
        plain, tilted = inverted
        small = plain.log_tail < _FAR
        mended = self.near[small]
        (again,) = together(
            [
                tilted_tails(
                    self.rows.magnitudes[mended], np.abs(self.rows.observed[mended]), open_backend("numpy")
                )
            ]
        )
        done = [_put_tails(found, self.near[~small], plain, ~small)]
        unsure = [self.farthest]
        for places, tails in ((self.far, tilted), (mended, again)):
            sure = (tails.log_tail >= _SMALLEST) | (self.rows.n_nonzero[places] > _MOST_LISTED)
            sure &= tails.error <= _LARGE_ERROR * tails.mass
            done.append(_put_tails(found, places[sure], tails, sure))
            unsure.append(places[~sure])
        done.append(list_subsets(found, self.rows, np.concatenate(unsure), eps))
        return np.concatenate(done)


def list_subsets(found: RowStatistics, rows: ExactRows, chosen: Counts, eps: float) -> Counts:
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
    put_log_p(found, places, np.minimum(tails.log_tail[which] + math.log(2.0), 0.0), error, tails.step)
    return places
