"""The lattices of a batch of differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, compiled
from ranklens.kernels.ties import (
    EXACT_BAND,
    LARGEST_ON_LATTICE,
    SCALES,
    Comparable,
    comparable,
    lattice_fits,
    lattice_scale,
    rounding_slack,
    rounding_unit,
    safe_factor,
    tie_band,
)

Floats = NDArray[np.float64]

_GLANCE = 16
_FEW = 128
"""How many values are held against all scales at once."""
_SCALES = np.array(SCALES, dtype=np.float64)


def comparable_rows(deltas: Any, backend: Backend, eps: float) -> Comparable:
    """Bring each row of differences (rows, n) to where its sums can be compared, as `comparable_sample` does.

    On the host a scale is tried only on the rows whose first few differences admit it.
    """
    if backend.name != "numpy":
        return compiled(comparable, backend, static=("eps",))(deltas, eps=eps)
    largest = np.maximum(deltas.max(axis=1), -deltas.min(axis=1))
    scale = lattice_scales(deltas, largest, eps)
    exact = np.isfinite(scale)
    factor = np.where(exact, scale, safe_factor(largest))
    values = deltas * factor[:, None]
    values[exact] = np.rint(values[exact])
    return Comparable(values, factor, np.where(exact, EXACT_BAND, tie_band(values, eps)))


def lattice_scales(deltas: Floats, largest: Floats, eps: float) -> Floats:
    """Return the coarsest scale that fits each row, infinity where none does; shape (rows,)."""
    if deltas.size <= _FEW:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(lattice_scale(deltas, largest, eps))
    found = np.full(deltas.shape[0], math.inf)
    possible = (largest < LARGEST_ON_LATTICE) & (largest > 0.0)
    head = np.ascontiguousarray(np.where(possible[:, None], deltas[:, :_GLANCE], 0.0).T)
    scaled = np.multiply.outer(_SCALES, head)
    error = np.abs(scaled - np.rint(scaled)).max(axis=1)
    unit = rounding_units(deltas, eps)
    with np.errstate(over="ignore"):
        slack = rounding_slack(deltas, unit)
    near = (error <= np.multiply.outer(_SCALES, slack)) & possible
    for i in np.flatnonzero(near.any(axis=1)).tolist():
        rows = np.flatnonzero(near[i] & np.isinf(found))
        if rows.size:
            found[rows[lattice_fits(deltas[rows], largest[rows], _SCALES[i : i + 1], unit[rows])[0]]] = (
                _SCALES[i]
            )
            if np.isfinite(found).all():
                break
    return found


def rounding_units(deltas: Floats, eps: float) -> Floats:
    """Return the rounding unit of each row's type, by all of it where a few values leave a doubt."""
    with np.errstate(over="ignore", invalid="ignore"):
        units = np.asarray(rounding_unit(deltas[:, :_GLANCE], eps))
        narrow = np.flatnonzero(units > eps)
        units[narrow] = rounding_unit(deltas[narrow], eps)
    return units
