"""How large the characteristic function of a long row may be at frequencies where it is not evaluated."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.kernels.exact_recurrences import Nodes, squared_moduli

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_SCANNED = Nodes(512, 32)
_WITNESSES, _DOUBTFUL = 96, 24
NEGLIGIBLE = 3e-9
"""What a modulus may be at the nodes that are left out."""

_LEAST_SINE = 0.5 * math.sin(1.0) ** 2
"""sin²(x)/2 is at least this times x² up to x = 1."""


def gaussian_bounds(values: Floats, tanhs: Floats | None, step: Floats) -> Floats:
    """Bound the modulus at 512 nodes by the factors with angles up to 1.

    Each of these is at most ``exp(-sin²(ya) (1 - tanh²(ta)) / 2)``.

    Parameters
    ----------
    values : numpy.ndarray of float64, shape (width, rows)
        Ascending.
    tanhs : numpy.ndarray of float64, shape (width, rows), or None
        tanh(t a) of the tilt; None without one.
    step : numpy.ndarray of float64, shape (rows,)
        The nodes are the odd multiples of half of it.

    Returns
    -------
    numpy.ndarray of float64, shape (512, rows)
    """
    nodes = (np.arange(_SCANNED.n)[:, None] + 0.5) * step
    squares = values * values
    variances = np.zeros((values.shape[0] + 1, values.shape[1]))
    np.cumsum(squares if tanhs is None else squares * (1.0 - tanhs * tanhs), axis=0, out=variances[1:])
    by_row = np.ascontiguousarray(values.T)
    exponents = np.empty_like(nodes)
    for i, row in enumerate(by_row):
        within = np.searchsorted(row, 1.0 / nodes[:, i], side="right")
        exponents[:, i] = variances[within, i]
    return np.asarray(np.exp(-_LEAST_SINE * nodes * nodes * exponents))


def modulus_bounds(values: Floats, tanhs: Floats | None, step: Floats) -> Floats:
    """Bound the modulus at 512 nodes, shape (512, rows); see `gaussian_bounds`.

    Where these say little from the 24th node on, 96 of the factors are evaluated.
    """
    bounds = gaussian_bounds(values, tanhs, step)
    doubtful = np.flatnonzero(bounds[_DOUBTFUL:].max(axis=0) > NEGLIGIBLE)
    if doubtful.size:
        width = values.shape[0]
        # Each row fills more than three quarters of its width.
        chosen = np.linspace(width // 4, width - 1, _WITNESSES).astype(np.int64)[:, None]
        witnesses = values[chosen, doubtful]
        own = np.zeros_like(witnesses) if tanhs is None else tanhs[chosen, doubtful]
        moduli = np.sqrt(squared_moduli(witnesses, own, step[doubtful], _SCANNED))
        bounds[:, doubtful] = np.minimum(bounds[:, doubtful], moduli)
    return bounds


def nodes_needed(bounds: Floats, choices: tuple[int, ...]) -> Counts:
    """Return the fewest of the `choices` from which on the bound is negligible; 0 where none serves."""
    needed = np.zeros(bounds.shape[1], dtype=np.int64)
    for n in reversed(choices):
        needed[bounds[n] <= NEGLIGIBLE] = n
    return needed
