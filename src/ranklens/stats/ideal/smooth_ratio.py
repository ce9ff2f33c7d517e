"""Ends of intervals of ratios with smooth laws: where the characteristic functions of residuals vanish."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut, rows_within
from ranklens.arrays.threads import for_each, n_cores
from ranklens.kernels.exact_quantiles import resampled_characteristic, square_wave_law
from ranklens.stats.ideal.levels import centred_rows
from ranklens.stats.ideal.nodes import STEP, nodes_until
from ranklens.stats.ideal.ordered import times_two_to
from ranklens.stats.ideal.smooth import LEAST_TAIL

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Levels = Callable[[Floats, Callable[[], Floats]], tuple[Floats, Floats]]
"""From totals (rows, n), and what gives the shares of resampled ratios below theirs, to the shares beyond
both ends, shape (rows,)."""

_COUNTS, _GONE = (32, 64, 128, 256), 1e-5
_MOST_INVERTED = 2000
"""Of more units the law is found faster on a grid."""

_FLOAT_BYTES, _COPIES, _AT_ONCE = 8, 10, 1 << 15
# A secant leaves an error of the size of the product of the last two moves.
_SETTLED, _MOST_MOVES, _LARGEST_MOVE = 1e-5, 12, 2.0
_LEAST_SHARE, _LEAST_SPREAD = 1e-12, 1e-9
_NORMAL = NormalDist()


def smooth_ratio_ends(totals: Floats, sizes: Floats, levels: Levels) -> tuple[Floats, Floats]:
    """Return both ends, shape (rows,), of ratios of sums of `totals` (rows, n) to sums of `sizes` (n,).

    A ratio lies at or below t where the sum of draws from ``totals - t · sizes`` is not positive. NaN stands
    for what the inversion of that law does not give, there or at the sample's own ratio.
    """
    rows, n = totals.shape
    ends = np.full((2, rows), math.nan)
    if n > _MOST_INVERTED:
        return ends[0], ends[1]
    # No square of a residual leaves the range of numbers then.
    unit, units = int(np.frexp(sizes.max())[1]), np.frexp(np.abs(totals).max(axis=1))[1].astype(np.int64)
    totals, sizes = times_two_to(totals, -units), np.ldexp(sizes, -unit)
    row_bytes = _COPIES * _FLOAT_BYTES * n * n_cores()
    at_once = rows_within(row_bytes, min(rows, max(1, _AT_ONCE // n)), share=0.25)

    def compute(part: range) -> None:
        some = slice(part.start, part.stop)
        ends[:, some] = _ends(totals[some], sizes, levels)

    for_each(compute, cut(range(rows), at_once), n_threads=n_cores())
    low, high = np.ldexp(ends, units - unit)
    return low, high


def _ends(totals: Floats, sizes: Floats, levels: Levels) -> Floats:
    """Return both ends (2, rows); rows whose laws turn out to need more nodes there are solved again."""
    found = np.full((2, len(totals)), math.nan)
    sample = _Ratios.of(totals, sizes)
    nodes = sample.nodes(sample.ratio)
    nodes[sample.error * float(np.sum(sizes)) <= _LEAST_SPREAD * np.abs(totals).max(axis=1)] = 0
    for count in _COUNTS:
        rows = np.flatnonzero(nodes == count)
        some = sample.take(rows)
        below, above = levels(some.totals, functools.partial(some.share_below, some.ratio, count))
        ends = np.stack([some.quantile(level, count) for level in (below, 1.0 - above)])
        needed = np.stack([some.nodes(end) for end in ends])
        ends[(needed == 0) | (needed > count)] = math.nan
        found[:, rows] = ends
        nodes[rows] = needed.max(axis=0)
    return found


class _Ratios(NamedTuple):
    """Totals (rows, n) and sizes (n,), the ratios of their sums, and the standard errors of these."""

    totals: Floats
    sizes: Floats
    ratio: Floats
    error: Floats

    @classmethod
    def of(cls, totals: Floats, sizes: Floats) -> _Ratios:
        size = float(np.sum(sizes))
        ratio = np.sum(totals, axis=1) / size
        _, spread = centred_rows(totals - ratio[:, None] * sizes)
        return cls(totals, sizes, ratio, spread * (math.sqrt(len(sizes)) / size))

    def take(self, rows: Counts) -> _Ratios:
        """Return some rows."""
        return _Ratios(self.totals[rows], self.sizes, self.ratio[rows], self.error[rows])

    def residuals(self, at: Floats) -> Floats:
        """Return what the sums are made of that are not positive where a ratio lies at or below `at`."""
        return np.asarray(self.totals - at[:, None] * self.sizes)

    def nodes(self, at: Floats) -> Counts:
        """Return how many nodes the law of the residuals at each ratio takes; 0 of NaN."""
        found = np.zeros(len(at), dtype=np.int64)
        known = np.flatnonzero(~np.isnan(at) & (self.error > 0.0))
        found[known] = nodes_until(self.take(known).residuals(at[known]), _COUNTS, _GONE)
        return found

    def share_below(self, at: Floats, count: int) -> Floats:
        """Return the share of resampled ratios below each of `at`."""
        centred, spread = centred_rows(self.residuals(at))
        deviation = spread * math.sqrt(len(self.sizes))
        law = resampled_characteristic(centred / deviation[:, None], STEP, count)
        total = (self.ratio - at) * float(np.sum(self.sizes))
        below, _ = square_wave_law(law, -total / deviation, STEP)
        return np.asarray(below)

    def quantile(self, level: Floats, count: int) -> Floats:
        """Solve for the ratio with a share `level` below it, by the secant method on the normal scores."""
        found = np.full(len(level), math.nan)
        wanted = _scores(level)
        at, slope = self.ratio + wanted * self.error, 1.0 / self.error
        former_at, former_off = np.full((2, len(level)), math.nan)
        rows = np.flatnonzero(np.minimum(level, 1.0 - level) >= LEAST_TAIL)
        for _ in range(_MOST_MOVES):
            if not rows.size:
                break
            here, reach = at[rows], _LARGEST_MOVE * self.error[rows]
            off = _scores(self.take(rows).share_below(here, count)) - wanted[rows]
            secant = (off - former_off[rows]) / (here - former_at[rows])
            slope[rows] = np.where(secant > 0.0, secant, slope[rows])
            move = np.minimum(np.maximum(-off / slope[rows], -reach), reach)
            former_at[rows], former_off[rows], at[rows] = here, off, here + move
            settled = np.abs(move) <= _SETTLED * self.error[rows]
            found[rows[settled]] = at[rows[settled]]
            rows = rows[~settled]
        return found


def _scores(shares: Floats) -> Floats:
    within = np.minimum(np.maximum(shares, _LEAST_SHARE), 1.0 - _LEAST_SHARE)
    return np.array([_NORMAL.inv_cdf(share) for share in within.tolist()])
