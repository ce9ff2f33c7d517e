"""Tails of long rows by inverting what a few weighted values that stand for each of them give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.kernels.exact_fourier import square_wave_tail, tilted_tail
from ranklens.kernels.exact_moments import (
    quadrature_cosine_products,
    quadrature_log_mgf,
    quadrature_tilted_products,
)
from ranklens.stats.exact.condensed import CondensedGroup
from ranklens.stats.exact.smooth import SmoothRows, half_odd
from ranklens.stats.exact.tilts import Tilts
from ranklens.stats.rows.jobs import Job, joined

Floats = NDArray[np.float64]


def condensed_outside(
    rows: SmoothRows, step: Floats, groups: list[CondensedGroup], backend: Backend
) -> Job[Floats]:
    """Return the probability outside ±threshold of the rows of groups, NaN for others; see `near`."""
    asked = [_outside(rows.take(own.places), step[own.places], own, backend) for own in groups]
    host = list((yield tuple(array for parts in asked for array in parts)))
    found = np.full(len(step), math.nan)
    for group, parts in zip(groups, asked, strict=True):
        own, host = host[: len(parts)], host[len(parts) :]
        found[group.places] = joined(own)
    return found


def condensed_tilted(
    rows: SmoothRows, tilts: Tilts, groups: list[CondensedGroup], backend: Backend
) -> Job[tuple[Floats, Floats]]:
    """Return the tilted tails of the rows of groups, NaN for others, and K(t) - t s; see `far`."""
    asked = [_tilted(rows.take(own.places), tilts.take(own.places), own, backend) for own in groups]
    host = list((yield tuple(array for parts in asked for part in parts for array in part)))
    mass, log_scale = np.full(len(rows.n), math.nan), np.zeros(len(rows.n))
    for group, parts in zip(groups, asked, strict=True):
        own, host = host[: 2 * len(parts)], host[2 * len(parts) :]
        mass[group.places], log_scale[group.places] = joined(own[0::2]), joined(own[1::2])
    return mass, log_scale - tilts.rate * rows.threshold


def _outside(rows: SmoothRows, step: Floats, group: CondensedGroup, backend: Backend) -> list[Any]:
    ship, odd = backend.asarray, half_odd(group.n_nodes)
    values, times = group.quadrature(rows, backend)
    at, counted = group.frequencies(step)
    weights = np.ascontiguousarray(np.broadcast_to(2.0 / math.pi / odd, at.shape))
    weights = weights if counted is None else weights * counted
    found = []
    for some in group.parts(backend):
        nodes = ship(np.ascontiguousarray(at[:, some]))
        products = quadrature_cosine_products(values[:, some], times[:, some], nodes)
        own = ship(np.ascontiguousarray(weights[:, some]))
        found.append(square_wave_tail(products, nodes, own, ship(rows.threshold[some])))
    return found


def _tilted(rows: SmoothRows, tilts: Tilts, group: CondensedGroup, backend: Backend) -> list[tuple[Any, Any]]:
    ship, step = backend.asarray, tilts.step(rows.is_long)
    values, times = group.quadrature(rows, backend)
    at, counted = group.frequencies(step)
    found = []
    for some in group.parts(backend):
        own, tilt = (values[:, some], times[:, some]), ship(tilts.rate[some])
        nodes = ship(np.ascontiguousarray(at[:, some]))
        real, imaginary = quadrature_tilted_products(*own, tilt, nodes)
        if counted is not None:
            shares = ship(np.ascontiguousarray(counted[:, some]))
            real, imaginary = real * shares, imaginary * shares
        mass = tilted_tail((real, imaginary), nodes, ship(rows.threshold[some]), tilt, ship(step[some]), 0.0)
        found.append((mass, quadrature_log_mgf(*own, tilt)))
    return found
