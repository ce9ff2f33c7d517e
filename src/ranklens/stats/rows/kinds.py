"""What decides how the exact statistics of many rows are computed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.kernels.ties import BAND
from ranklens.stats.moments import ROUNDING
from ranklens.stats.rows.lattices import lattice_scales

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]

MOSTLY_DISTINCT = 0.75
"""The share of different values from which on a row counts as one that hardly repeats any."""


class ExactRows(NamedTuple):
    """Rows (rows, n) with zeros where nothing is measured, and what decides about the ways to compute them.

    `magnitudes` and `observed` are in units of a power of two near the largest difference. `multiples` are
    those of a step on a lattice, their common divisor taken out, zeros elsewhere.
    """

    deltas: Floats
    magnitudes: Floats
    n_nonzero: Counts
    n_distinct: Counts
    observed: Floats
    certain: Rows
    lattice: Rows
    multiples: Counts

    @property
    def repeats(self) -> Rows:
        """Whether many values of a row are equal, so that its characteristic function keeps coming back."""
        return np.asarray(self.n_distinct < MOSTLY_DISTINCT * self.n_nonzero)

    @classmethod
    def of(cls, deltas: Floats, eps: float) -> ExactRows:
        """Look at every row for a lattice, repeated values and an observed sum of zero."""
        magnitudes = np.abs(deltas)
        ordered = np.sort(magnitudes, axis=1)
        largest = ordered[:, -1]
        parted = np.diff(ordered, axis=1) > ROUNDING * largest[:, None]
        n_distinct = np.count_nonzero(parted, axis=1) + (ordered[:, 0] > 0.0)
        scale = lattice_scales(deltas, largest, eps)
        lattice = np.isfinite(scale)
        multiples = np.zeros(deltas.shape, dtype=np.int64)
        multiples[lattice] = np.rint(deltas[lattice] * scale[lattice, None])
        divisor = np.maximum(np.gcd.reduce(multiples, axis=1), 1)
        multiples //= divisor[:, None]
        # Squares must neither over- nor underflow.
        scaled = np.ldexp(deltas, -np.frexp(largest)[1][:, None])
        magnitudes, observed = np.abs(scaled), np.sum(scaled, axis=1)
        band = BAND * eps * np.sum(magnitudes, axis=1)
        certain = np.where(lattice, multiples.sum(axis=1) == 0, np.abs(observed) <= band)
        n_nonzero = np.count_nonzero(magnitudes, axis=1)
        return cls(deltas, magnitudes, n_nonzero, n_distinct, observed, certain, lattice, multiples)
