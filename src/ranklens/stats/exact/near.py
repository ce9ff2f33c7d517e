"""Tails of many rows by inverting the characteristic function itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ranklens.arrays import Backend
from ranklens.kernels.exact_fourier import square_wave_tail
from ranklens.kernels.exact_recurrences import Nodes, stepped_cosine_products
from ranklens.stats.exact.clusters import clustered_atoms
from ranklens.stats.exact.peaks import Peaks
from ranklens.stats.exact.signed import Counts
from ranklens.stats.exact.smooth import EPS, Inverted, SmoothRows, unseen
from ranklens.stats.exact.tail import FlipTails
from ranklens.stats.rows.jobs import Job, joined

REACH = 8.5
"""Standard deviations beyond which T has a chance below 1e-15, by Hoeffding's 2·exp(-z²/2)."""

_SHORT_NODES, _SEEN_OF_SHORT = Nodes(192, 8), 64
_LONG_NODES, _SEEN_OF_LONG = Nodes(32, 1), 24
_CAUTION, _TOLD_APART = 4.0, 0.3
LOOKED_AT_IN_SHORT, LOOKED_AT_IN_LONG = 90.0, 14.0
"""The frequency up to which no return of the characteristic function goes unseen."""


def plain_inversions(tails: FlipTails, chosen: Counts, backend: Backend) -> Job[Inverted]:
    """Invert ∏ cos(y a) against a square wave that changes sign at the threshold, and again beyond T.

    The error allows for the nodes left out (see `unseen` and `Peaks`), for rounding, and for half the chance
    that T may have at the threshold itself, of which an inversion takes one half.
    """
    rows = SmoothRows.of(tails, chosen)
    nodes, first_seen = (_LONG_NODES, _SEEN_OF_LONG) if rows.is_long else (_SHORT_NODES, _SEEN_OF_SHORT)
    step = 2.0 * math.pi / (rows.threshold + REACH)
    odd = np.arange(nodes.n)[:, None] + 0.5
    xp, ship = backend.xp, backend.asarray

    def invert(some: slice) -> tuple[Any, Any]:
        products = stepped_cosine_products(ship(rows.values[:, some].copy()), ship(step[some]), nodes)
        weights = np.broadcast_to(2.0 / math.pi / odd, (nodes.n, len(step[some])))
        outside = square_wave_tail(
            products, ship(odd * step[some]), ship(weights.copy()), ship(rows.threshold[some])
        )
        seen = xp.max(xp.abs(products[first_seen:, :]), axis=0)
        if rows.is_long:
            squared = rows.witnessed(some, None, step[some], nodes.n, backend)
            seen = xp.maximum(seen, xp.sqrt(squared))
        return outside, seen

    found = rows.in_parts(invert, nodes, backend)
    host = yield tuple(array for part in found for array in part)
    mass, seen = 0.5 * joined(list(host[0::2])), joined(list(host[1::2]))
    error = unseen(seen, _CAUTION * np.sqrt(rows.atom)) + 4.0 * EPS * (rows.n + 16) + 0.5 * rows.atom
    looked_at = LOOKED_AT_IN_LONG if rows.is_long else LOOKED_AT_IN_SHORT
    error += Peaks.of(tails.sums.magnitudes, tails.n, chosen, looked_at).error()
    if not rows.is_long:
        error += clustered_atoms(tails.sums.magnitudes[chosen], rows.n, _TOLD_APART / looked_at * rows.unit)
    return Inverted(mass, error, np.zeros(len(chosen)))
