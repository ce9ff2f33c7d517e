"""Far tails of many rows: tilt each law until the observed sum is its mean, then invert."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.kernels.exact_folds import folded_sum
from ranklens.kernels.exact_fourier import tilted_tail
from ranklens.kernels.exact_recurrences import Nodes, stepped_tilted_products
from ranklens.stats.exact.near import LOOKED_AT_IN_LONG, LOOKED_AT_IN_SHORT
from ranklens.stats.exact.peaks import Peaks
from ranklens.stats.exact.signed import Counts
from ranklens.stats.exact.smooth import EPS, Inverted, SmoothRows, unseen
from ranklens.stats.exact.tail import FlipTails
from ranklens.stats.rows.jobs import Job, joined

Floats = NDArray[np.float64]

_REACH, _FADED = 9.0, 38.0
_LEAST_TILT, _MOST_TILT = 0.5, 350.0
_MOST_STEPS, _NEAR_ENOUGH = 40, 1e-3
_SHORT_NODES, _SEEN_OF_SHORT = Nodes(192, 8), 64
_FEW_NODES, _MORE_NODES, _SEEN_OF_LONG = Nodes(32, 1), Nodes(64, 1), 8
_DEAD = 8.8
"""Standard deviations of the frequency beyond which a normal law's characteristic function is below 1e-16."""


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
        return np.asarray(2.0 * math.pi / (_REACH * self.spread + _FADED / self.rate))


def tilted_inversions(tails: FlipTails, chosen: Counts, backend: Backend) -> Job[Inverted]:
    """Invert the tilted characteristic functions, whose factors never exceed 1 in modulus.

    ``P(T ≥ s) = exp(K(t) - t s)/π · ∫ Re{exp(-iys) ∏ [cos(y a) + i tanh(t a) sin(y a)] / (t + iy)} dy`` over
    the positive y, by the midpoint rule. The error allows for the nodes left out (see `unseen`), for
    rounding, and for the chance of the threshold itself.
    """
    law = TiltedRows.of(SmoothRows.of(tails, chosen))
    mass, largest = np.zeros(len(chosen)), np.full(len(chosen), math.inf)
    groups = [(nodes, places) for nodes, places in _by_nodes(law) if places.size]
    asked = [_invert(law, places, nodes, backend) for nodes, places in groups]
    host = list((yield tuple(array for parts in asked for part in parts for array in part)))
    for (_, places), parts in zip(groups, asked, strict=True):
        own, host = host[: 2 * len(parts)], host[2 * len(parts) :]
        mass[places], largest[places] = joined(own[0::2]), joined(own[1::2])
    rounding = EPS * (32.0 * law.rows.n + np.abs(law.log_scale) + 64.0) * np.abs(mass)
    log_atom = np.log(law.rows.atom)
    # Values on a lattice make equal sums likelier than by chance.
    squares = folded_sum(np.log(0.5 + 0.5 * law.tanhs * law.tanhs) * (law.rows.values > 0.0))
    squares = squares + log_atom + law.rows.n * math.log(2.0)
    at_threshold = np.exp(np.minimum(log_atom - law.log_scale, 700.0))
    looked_at = LOOKED_AT_IN_LONG if law.rows.is_long else LOOKED_AT_IN_SHORT
    peaks = Peaks.of(tails.sums.magnitudes, tails.n, chosen, looked_at)
    # A tilt narrows the law, and raises what comes back of its characteristic function.
    returned = peaks.steps * np.maximum(law.rate, 1.0) * np.exp(peaks.log_height * law.spread**2)
    error = unseen(largest, np.exp(0.5 * squares)) + rounding + at_threshold + 2.0 * returned * np.abs(mass)
    return Inverted(mass, error, law.log_scale)


def _by_nodes(law: TiltedRows) -> list[tuple[Nodes, Counts]]:
    """Group rows by how many nodes they need; those that need too many are in no group."""
    if not law.rows.is_long:
        return [(_SHORT_NODES, np.arange(len(law.rate)))]
    needed = _DEAD / (law.spread * law.step) + _SEEN_OF_LONG
    few = needed <= _FEW_NODES.n
    more = ~few & (needed <= _MORE_NODES.n)
    return [(_FEW_NODES, np.flatnonzero(few)), (_MORE_NODES, np.flatnonzero(more))]


def _invert(law: TiltedRows, places: Counts, nodes: Nodes, backend: Backend) -> list[Any]:
    """Return the inverted tails, and the largest of the moduli that were seen late."""
    rows = law.rows.take(places)
    tanhs, step, rate = law.tanhs[:, places], law.step[places], law.rate[places]
    odd = np.arange(nodes.n)[:, None] + 0.5
    first = nodes.n - _SEEN_OF_LONG if rows.is_long else _SEEN_OF_SHORT
    xp, ship = backend.xp, backend.asarray

    def invert(some: slice) -> tuple[Any, Any]:
        products = stepped_tilted_products(
            ship(rows.values[:, some].copy()), ship(tanhs[:, some].copy()), ship(step[some]), nodes
        )
        at, tilt = ship(odd * step[some]), ship(rate[some])
        mass = tilted_tail(products, at, ship(rows.threshold[some]), tilt, ship(step[some]), 0.0)
        real, imaginary = products[0][first:, :], products[1][first:, :]
        largest = xp.max(real * real + imaginary * imaginary, axis=0)
        if rows.is_long:
            witnessed = rows.witnessed(some, tanhs[:, some], step[some], nodes.n, backend)
            largest = xp.maximum(largest, witnessed)
        return mass, xp.sqrt(largest)

    return rows.in_parts(invert, nodes, backend)


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
