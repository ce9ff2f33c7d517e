"""Far tails of many rows: tilt each law until the observed sum is its mean, then invert."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.kernels.exact_folds import folded_sum
from ranklens.kernels.exact_fourier import tilted_tail
from ranklens.kernels.exact_recurrences import stepped_tilted_products
from ranklens.stats.exact.blocks import Blocks
from ranklens.stats.exact.condensed import CondensedGroup, condensed_groups
from ranklens.stats.exact.condensed_tails import condensed_tilted
from ranklens.stats.exact.near import LOOKED_AT_IN_LONG, LOOKED_AT_IN_SHORT
from ranklens.stats.exact.peaks import Peaks
from ranklens.stats.exact.signed import Counts
from ranklens.stats.exact.smooth import (
    EPS,
    NODES_OF_SHORT,
    Inverted,
    NodeGroup,
    SmoothRows,
    columns_of,
    half_odd,
    node_groups,
    shipped_columns,
    unseen,
)
from ranklens.stats.exact.steady import steady_condensed, steady_groups
from ranklens.stats.exact.tail import FlipTails
from ranklens.stats.exact.tilts import MOST_TILT, Tilts
from ranklens.stats.rows.jobs import Job, combined, joined

Floats = NDArray[np.float64]

_TOLERANCE = 3e-12
"""What the values that stand for a row may change about its characteristic function, over the tilt's rate."""

_LEFT_ALONE, _STOOD_FOR = 1e-10, 1e-11
"""In parts of the tail's scale: what overlaps change, and what such values do, times the law's spread."""

_STEEP = 0.9 * MOST_TILT
_LOOKED_AT = (LOOKED_AT_IN_SHORT, LOOKED_AT_IN_LONG)


class TiltedTails(NamedTuple):
    """Inverted tails and all that their errors depend on, shape (rows,) each.

    `largest` is what the modulus may be beyond the nodes, `mean_square_root` the root of its mean square over
    all frequencies where that matters, and `log_scale` is K(t) - t s.
    """

    mass: Floats
    largest: Floats
    mean_square_root: Floats
    rate: Floats
    spread: Floats
    log_scale: Floats

    def error(self, rows: SmoothRows, peaks: Peaks) -> Floats:
        """Bound what the masses may be off by."""
        rounding = EPS * (32.0 * rows.n + np.abs(self.log_scale) + 64.0) * np.abs(self.mass)
        at_threshold = np.exp(np.minimum(np.log(rows.atom) - self.log_scale, 700.0))
        # A tilt narrows the law, and raises what comes back of its characteristic function.
        returned = peaks.steps * np.maximum(self.rate, 1.0) * np.exp(peaks.log_height * self.spread**2)
        error = unseen(self.largest, self.mean_square_root) + rounding + at_threshold
        left_alone = _LEFT_ALONE + _STOOD_FOR / self.spread if rows.is_long else 0.0
        error += left_alone + 2.0 * returned * np.abs(self.mass)
        # No steeper tilt was tried, so the tail may begin far from the tilted law's mean.
        return np.asarray(np.where(self.rate * rows.values[-1] >= _STEEP, math.inf, error))


class TiltedRows(NamedTuple):
    """Rows, their tilts, tanh(rate · values), and K(t) - t s."""

    rows: SmoothRows
    tilts: Tilts
    tanhs: Floats
    log_scale: Floats

    @classmethod
    def of(cls, rows: SmoothRows) -> TiltedRows:
        tilts = Tilts.of(rows.values, rows.threshold)
        angles = tilts.rate * rows.values
        # log cosh(x) - x, without cancellation.
        log_scale = tilts.rate * rows.room + folded_sum(np.log(0.5 + 0.5 * np.exp(-2.0 * angles)))
        return cls(rows, tilts, np.tanh(angles), log_scale)


def tilted_inversions(tails: FlipTails, chosen: Counts, backend: Backend) -> Job[Inverted]:
    """Invert the tilted characteristic functions, whose factors never exceed 1 in modulus.

    ``P(T ≥ s) = exp(K(t) - t s)/π · ∫ Re{exp(-iys) ∏ [cos(y a) + i tanh(t a) sin(y a)] / (t + iy)} dy`` over
    the positive y, by the midpoint rule. The error allows for the nodes left out (see `unseen`), for
    rounding, for what stands for a long row, and for the chance of the threshold itself.
    """
    rows = SmoothRows.of(tails, chosen)
    condensed: list[CondensedGroup] = []
    others, found = np.arange(len(chosen)), TiltedTails(*np.zeros((6, len(chosen))))
    jobs: list[Job[Any]] = []
    if rows.is_long:
        blocks = Blocks.of(rows.values)
        tilts = Tilts.of(blocks.typical, rows.threshold, blocks.size)
        tolerance = _TOLERANCE * tilts.rate
        condensed, others = condensed_groups(rows, blocks, tilts.rate, tilts.step(True), tolerance)
        condensed = steady_condensed(condensed, backend)
        jobs.append(condensed_tilted(rows, tilts, condensed, backend))
    if others.size:
        jobs.append(_direct(rows.take(others), backend))
    results = yield from combined(jobs)
    if rows.is_long:
        mass, log_scale = results[0]
        found = TiltedTails(mass, np.zeros(len(mass)), np.zeros(len(mass)), *tilts, log_scale)
        for group in condensed:
            found.largest[group.places] = group.beyond
    if others.size:
        for column, direct in zip(found, results[-1], strict=True):
            column[others] = direct
    peaks = Peaks.of(tails.sums.magnitudes, tails.n, chosen, _LOOKED_AT[rows.is_long])
    return Inverted(found.mass, found.error(rows, peaks), found.log_scale)


def _direct(rows: SmoothRows, backend: Backend) -> Job[TiltedTails]:
    """Take all values of each row."""
    law = TiltedRows.of(rows)
    mass, largest = np.zeros(len(rows.n)), np.full(len(rows.n), math.inf)
    groups = steady_groups(node_groups(rows, law.tanhs, law.tilts.step(rows.is_long)), backend)
    asked = [_invert(law, group, backend) for group in groups]
    host = list((yield tuple(array for parts in asked for part in parts for array in part)))
    for group, parts in zip(groups, asked, strict=True):
        own, host = host[: 2 * len(parts)], host[2 * len(parts) :]
        mass[group.places] = joined(own[0::2])
        largest[group.places] = np.maximum(joined(own[1::2]), group.beyond)
    rough = any(group.nodes == NODES_OF_SHORT for group in groups)
    mean_square_root = _mean_square_root(law) if rough else np.zeros(len(rows.n))
    return TiltedTails(mass, largest, mean_square_root, *law.tilts, law.log_scale)


def _mean_square_root(law: TiltedRows) -> Floats:
    """Return the root of the modulus's mean square over all frequencies."""
    logs = np.log(0.5 + 0.5 * law.tanhs * law.tanhs) * (law.rows.values > 0.0)
    return np.asarray(np.exp(0.5 * folded_sum(logs)))


def _invert(law: TiltedRows, group: NodeGroup, backend: Backend) -> list[tuple[Any, Any]]:
    """Return the inverted tails, and the largest of the moduli that were seen late."""
    places = group.places
    rows, tanhs = law.rows.take(places), columns_of(law.tanhs, places)
    step, rate = law.tilts.step(rows.is_long)[places], law.tilts.rate[places]
    odd = half_odd(group.nodes.n)
    xp, ship = backend.xp, backend.asarray

    def invert(some: slice) -> tuple[Any, Any]:
        own = shipped_columns(rows.values, some, backend), shipped_columns(tanhs, some, backend)
        real, imaginary = stepped_tilted_products(*own, ship(step[some]), group.nodes)
        at, threshold, tilt = ship(odd * step[some]), ship(rows.threshold[some]), ship(rate[some])
        mass = tilted_tail((real, imaginary), at, threshold, tilt, ship(step[some]), 0.0)
        real, imaginary = real[group.first_seen :, :], imaginary[group.first_seen :, :]
        return mass, xp.sqrt(xp.max(real * real + imaginary * imaginary, axis=0))

    return rows.in_parts(invert, group.nodes, backend)
