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
    node_groups,
    unseen,
)
from ranklens.stats.exact.tail import FlipTails
from ranklens.stats.rows.jobs import Job, joined

Floats = NDArray[np.float64]

_REACH, _FADED = (8.5, 7.0), (35.0, 26.0)
"""Of short rows, and of long ones, whose nodes stop earlier."""

_OVERLAP = 1e-10
"""What overlaps of that leave, in parts of the tail's scale."""

_LEAST_TILT, _MOST_TILT = 0.5, 350.0
_MOST_STEPS, _NEAR_ENOUGH = 40, 2e-2


class TiltedRows(NamedTuple):
    """Rows, the rate of each tilt, tanh(rate · values), the spread of the tilted law, and K(t) - t s."""

    rows: SmoothRows
    rate: Floats
    tanhs: Floats
    spread: Floats
    log_scale: Floats

    @classmethod
    def of(cls, rows: SmoothRows) -> TiltedRows:
        rate = _rates(rows)
        angles = rate * rows.values
        tanhs = np.tanh(angles)
        spread = np.sqrt(folded_sum((1.0 - tanhs * tanhs) * rows.values * rows.values))
        # log cosh(x) - x, without cancellation.
        log_scale = rate * rows.room + folded_sum(np.log(0.5 + 0.5 * np.exp(-2.0 * angles)))
        return cls(rows, rate, tanhs, spread, log_scale)

    @property
    def step(self) -> Floats:
        """The distance of the nodes: neither the tilted law nor its fading tail overlaps with itself."""
        reach, faded = _REACH[self.rows.is_long], _FADED[self.rows.is_long]
        return np.asarray(2.0 * math.pi / (reach * self.spread + faded / self.rate))


def tilted_inversions(tails: FlipTails, chosen: Counts, backend: Backend) -> Job[Inverted]:
    """Invert the tilted characteristic functions, whose factors never exceed 1 in modulus.

    ``P(T ≥ s) = exp(K(t) - t s)/π · ∫ Re{exp(-iys) ∏ [cos(y a) + i tanh(t a) sin(y a)] / (t + iy)} dy`` over
    the positive y, by the midpoint rule. The error allows for the nodes left out (see `unseen`), for
    rounding, and for the chance of the threshold itself.
    """
    law = TiltedRows.of(SmoothRows.of(tails, chosen))
    mass, largest = np.zeros(len(chosen)), np.full(len(chosen), math.inf)
    groups = node_groups(law.rows, law.tanhs, law.step)
    asked = [_invert(law, group, backend) for group in groups]
    host = list((yield tuple(array for parts in asked for part in parts for array in part)))
    for group, parts in zip(groups, asked, strict=True):
        own, host = host[: 2 * len(parts)], host[2 * len(parts) :]
        mass[group.places] = joined(own[0::2])
        largest[group.places] = np.maximum(joined(own[1::2]), group.beyond)
    rounding = EPS * (32.0 * law.rows.n + np.abs(law.log_scale) + 64.0) * np.abs(mass)
    rough = any(group.nodes == NODES_OF_SHORT for group in groups)
    error = unseen(largest, _mean_square_root(law) if rough else np.zeros(len(chosen))) + rounding
    at_threshold = np.exp(np.minimum(np.log(law.rows.atom) - law.log_scale, 700.0))
    looked_at = LOOKED_AT_IN_LONG if law.rows.is_long else LOOKED_AT_IN_SHORT
    peaks = Peaks.of(tails.sums.magnitudes, tails.n, chosen, looked_at)
    # A tilt narrows the law, and raises what comes back of its characteristic function.
    returned = peaks.steps * np.maximum(law.rate, 1.0) * np.exp(peaks.log_height * law.spread**2)
    error = error + at_threshold + _OVERLAP * law.rows.is_long + 2.0 * returned * np.abs(mass)
    return Inverted(mass, error, law.log_scale)


def _mean_square_root(law: TiltedRows) -> Floats:
    """Return the root of the modulus's mean square over all frequencies."""
    logs = np.log(0.5 + 0.5 * law.tanhs * law.tanhs) * (law.rows.values > 0.0)
    return np.asarray(np.exp(0.5 * folded_sum(logs)))


def _invert(law: TiltedRows, group: NodeGroup, backend: Backend) -> list[tuple[Any, Any]]:
    """Return the inverted tails, and the largest of the moduli that were seen late."""
    places = group.places
    rows, tanhs = law.rows.take(places), columns_of(law.tanhs, places)
    step, rate = law.step[places], law.rate[places]
    odd = np.arange(group.nodes.n)[:, None] + 0.5
    xp, ship = backend.xp, backend.asarray

    def invert(some: slice) -> tuple[Any, Any]:
        own = ship(rows.columns(some)), ship(np.ascontiguousarray(tanhs[:, some]))
        real, imaginary = stepped_tilted_products(*own, ship(step[some]), group.nodes)
        at, threshold, tilt = ship(odd * step[some]), ship(rows.threshold[some]), ship(rate[some])
        mass = tilted_tail((real, imaginary), at, threshold, tilt, ship(step[some]), 0.0)
        real, imaginary = real[group.first_seen :, :], imaginary[group.first_seen :, :]
        return mass, xp.sqrt(xp.max(real * real + imaginary * imaginary, axis=0))

    return rows.in_parts(invert, group.nodes, backend)


def _rates(rows: SmoothRows) -> Floats:
    """Solve Σ a tanh(t a) = threshold for every row, by Newton's method inside a bracket.

    Any tilt gives the right tail; one near the saddlepoint gives it with the fewest nodes.
    """
    values = rows.values
    low, high = np.zeros(values.shape[1]), _MOST_TILT / values[-1]
    rate = np.minimum(rows.threshold, 0.5 * high)
    done = np.zeros(values.shape[1], dtype=bool)
    for _ in range(_MOST_STEPS):
        tanhs = np.tanh(rate * values)
        excess = folded_sum(values * tanhs) - rows.threshold
        slope = folded_sum(values * values * (1.0 - tanhs * tanhs))
        low, high = np.where(excess < 0.0, rate, low), np.where(excess < 0.0, high, rate)
        moved = rate - excess / np.maximum(slope, 1e-300)
        moved = np.where((moved > low) & (moved < high), moved, 0.5 * (low + high))
        # A row that has arrived stays, however long the others take.
        former, rate = rate, np.where(done, rate, moved)
        done |= np.abs(moved - former) <= _NEAR_ENOUGH * moved
        if done.all():
            break
    return np.asarray(np.maximum(rate, _LEAST_TILT))
