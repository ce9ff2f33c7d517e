"""Tails of many rows by inverting the characteristic function itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.kernels.exact_fourier import square_wave_tail
from ranklens.kernels.exact_recurrences import stepped_cosine_products
from ranklens.stats.exact.blocks import Blocks
from ranklens.stats.exact.clusters import clustered_atoms
from ranklens.stats.exact.condensed import CondensedGroup, condensed_groups
from ranklens.stats.exact.condensed_tails import condensed_outside
from ranklens.stats.exact.peaks import Peaks
from ranklens.stats.exact.signed import Counts
from ranklens.stats.exact.smooth import (
    EPS,
    Inverted,
    NodeGroup,
    SmoothRows,
    half_odd,
    node_groups,
    shipped_columns,
    unseen,
)
from ranklens.stats.exact.steady import steady_condensed, steady_groups
from ranklens.stats.exact.tail import FlipTails
from ranklens.stats.rows.jobs import Job, combined, joined

Floats = NDArray[np.float64]

REACH = 8.5
"""Standard deviations beyond which T has a chance below 1e-15, by Hoeffding's 2·exp(-z²/2)."""

_CAUTION, _TOLD_APART = 4.0, 0.3
_TOLERANCE = 1e-13
"""What the values that stand for a row may change about its characteristic function."""

LOOKED_AT_IN_SHORT, LOOKED_AT_IN_LONG = 90.0, 240.0
"""The frequency up to which no return of the characteristic function goes unseen."""


def plain_inversions(tails: FlipTails, chosen: Counts, backend: Backend) -> Job[Inverted]:
    """Invert ∏ cos(y a) against a square wave that changes sign at the threshold, and again beyond T.

    The error allows for the nodes left out (see `unseen` and `Peaks`), for rounding, for what stands for a
    long row, and for the chance that T may have at the threshold itself, of which an inversion takes a part.
    """
    rows = SmoothRows.of(tails, chosen)
    step = 2.0 * math.pi / (rows.threshold + REACH)
    condensed: list[CondensedGroup] = []
    others = np.arange(len(chosen))
    if rows.is_long:
        condensed, others = condensed_groups(rows, Blocks.of(rows.values), None, step, _TOLERANCE)
        condensed = steady_condensed(condensed, backend)
    outside, largest = np.zeros(len(chosen)), np.full(len(chosen), math.inf)
    jobs: list[Job[Any]] = [condensed_outside(rows, step, condensed, backend)] if condensed else []
    if others.size:
        jobs.append(_direct(rows.take(others), step[others], backend))
    results = yield from combined(jobs)
    if condensed:
        outside = results[0]
    if others.size:
        outside[others], largest[others] = results[-1]
    for group in condensed:
        largest[group.places] = group.beyond
    generic = np.ldexp(_CAUTION, -np.minimum(rows.n, 1000) // 2)
    error = unseen(largest, generic) + 4.0 * EPS * (rows.n + 16) + rows.atom + 2.0 * _TOLERANCE * rows.is_long
    looked_at = LOOKED_AT_IN_LONG if rows.is_long else LOOKED_AT_IN_SHORT
    error += Peaks.of(tails.sums.magnitudes, tails.n, chosen, looked_at).error()
    if not rows.is_long:
        error += clustered_atoms(tails.sums.magnitudes[chosen], rows.n, _TOLD_APART / looked_at * rows.unit)
    return Inverted(0.5 * outside, error, np.zeros(len(chosen)))


def _direct(rows: SmoothRows, step: Floats, backend: Backend) -> Job[tuple[Floats, Floats]]:
    """Return the probability outside ±threshold, and how large the modulus may be beyond the nodes."""
    groups = steady_groups(node_groups(rows, None, step), backend)
    asked = [_invert(rows.take(group.places), step[group.places], group, backend) for group in groups]
    host = list((yield tuple(array for parts in asked for part in parts for array in part)))
    outside, largest = np.zeros(len(step)), np.full(len(step), math.inf)
    for group, parts in zip(groups, asked, strict=True):
        own, host = host[: 2 * len(parts)], host[2 * len(parts) :]
        outside[group.places] = joined(own[0::2])
        largest[group.places] = np.maximum(joined(own[1::2]), group.beyond)
    return outside, largest


def _invert(rows: SmoothRows, step: Floats, group: NodeGroup, backend: Backend) -> list[tuple[Any, Any]]:
    """Return the probability outside ±threshold, and the largest of the moduli that were seen late."""
    odd = half_odd(group.nodes.n)
    weights = np.ascontiguousarray(np.broadcast_to(2.0 / math.pi / odd, (group.nodes.n, len(step))))
    xp, ship = backend.xp, backend.asarray

    def invert(some: slice) -> tuple[Any, Any]:
        products = stepped_cosine_products(
            shipped_columns(rows.values, some, backend), ship(step[some]), group.nodes
        )
        at, threshold = ship(odd * step[some]), ship(rows.threshold[some])
        outside = square_wave_tail(products, at, ship(weights[:, some].copy()), threshold)
        return outside, xp.max(xp.abs(products[group.first_seen :, :]), axis=0)

    return rows.in_parts(invert, group.nodes, backend)
