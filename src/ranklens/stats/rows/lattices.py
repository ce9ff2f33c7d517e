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
    ROUNDING_SLACK,
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

_GLANCE, _CLOSER_LOOK = 4, 16
FEW_VALUES = 128
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


def lattice_scales(deltas: Floats, largest: Floats, eps: float, unit: Floats | None = None) -> Floats:
    """Return the coarsest scale that fits each row, infinity where none does; shape (rows,).

    `unit` (rows,) is what `rounding_units` returns, where it is known.
    """
    if deltas.size <= FEW_VALUES:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(lattice_scale(deltas, largest, eps))
    found = np.full(deltas.shape[0], math.inf)
    possible = (largest < LARGEST_ON_LATTICE) & (largest > 0.0)
    unit = rounding_units(deltas, eps) if unit is None else unit
    with np.errstate(over="ignore"):
        # n max|d| is at least the sum, which is added up where a glance rules out too little.
        slack = np.maximum(deltas.shape[1] * largest, 1.0) * (ROUNDING_SLACK * unit)
        near = _admitted(deltas[:, :_GLANCE], slack) & possible
        closer = np.flatnonzero(near.any(axis=0))
        if not closer.size:
            return found
        slack = rounding_slack(deltas[closer], unit[closer])
    near[:, closer] &= _admitted(deltas[closer, :_CLOSER_LOOK], slack)
    for i in np.flatnonzero(near.any(axis=1)).tolist():
        rows = np.flatnonzero(near[i] & np.isinf(found))
        if rows.size:
            found[rows[lattice_fits(deltas[rows], largest[rows], _SCALES[i : i + 1], unit[rows])[0]]] = (
                _SCALES[i]
            )
            if np.isfinite(found).all():
                break
    return found


def _admitted(few: Floats, slack: Floats) -> NDArray[np.bool_]:
    """Whether a few differences of each row (rows, k) may be multiples of each step, shape (scales, rows)."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.multiply.outer(_SCALES, np.ascontiguousarray(few.T))
        error = np.abs(scaled - np.rint(scaled)).max(axis=1)
        return np.asarray(error <= np.multiply.outer(_SCALES, slack))


def rounding_units(deltas: Floats, eps: float) -> Floats:
    """Return the rounding unit of each row's type, by all of it where a few values leave a doubt."""
    with np.errstate(over="ignore", invalid="ignore"):
        units = np.asarray(rounding_unit(deltas[:, :_GLANCE], eps))
        narrow = np.flatnonzero(units > eps)
        if narrow.size:
            units[narrow] = rounding_unit(deltas[narrow], eps)
    return units
