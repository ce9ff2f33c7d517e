"""How much chance a single sum may have, where some of the differences of a row lie on a lattice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

SCALES = (256, 2520, 10_000)
"""The finest of the known steps; they share every other one."""

_SLACK = 4.0
_BY_CHANCE = 1e-3
_MANY_ODD = 40
_GLANCE = 64
_MOST = 1000
_PEAK, _CAUTION = 0.8, 1.25


def largest_atoms(values: Floats, n: Counts, eps: float) -> Floats:
    """Bound the chance of any single sum of each row under fair signs.

    If `odd` of n values lie on no known step, no sum has more than 2^-odd times the chance that the most
    frequent sum of the others has. That one is about 2h/√(2πσ²), as if they followed a normal law of standard
    deviation σ on their step h. Where all are odd it is 2^-n: the sum of one assignment of signs.

    Parameters
    ----------
    values : numpy.ndarray of float64, shape (rows, width)
        With the largest in [512, 1024); zeros beyond n.
    n : numpy.ndarray of int64, shape (rows,)
    eps : float
        The rounding unit of the type in which the differences were computed.

    Returns
    -------
    numpy.ndarray of float64, shape (rows,)
    """
    atoms = np.ldexp(1.0, -np.minimum(n, _MOST))
    glance = np.multiply.outer(np.array(SCALES, dtype=np.float64), values[:, :_GLANCE])
    slacks = np.array([lattice_slack(scale, eps) for scale in SCALES])
    off = np.abs(glance - np.rint(glance)) > slacks[:, None, None]
    few_odd = np.add.reduce(off, axis=2).min(axis=1) <= _MANY_ODD
    for i in np.flatnonzero(few_odd & (slacks <= _BY_CHANCE)).tolist():
        scale, slack = SCALES[i], slacks[i]
        steps = np.rint(values * scale)
        off = np.abs(values * scale - steps) > slack
        n_odd = np.count_nonzero(off, axis=1)
        mixed = np.flatnonzero((n_odd < n) & (n_odd <= _MANY_ODD))
        if mixed.size:
            own = np.where(off[mixed], 0.0, steps[mixed]).astype(np.int64)
            divisor = np.maximum(np.gcd.reduce(own, axis=1), 1)[:, None]
            spread = np.sqrt(np.sum((own // divisor).astype(np.float64) ** 2, axis=1))
            peak = np.minimum(1.0, _CAUTION * _PEAK / np.maximum(spread, 0.5))
            atoms[mixed] = np.maximum(atoms[mixed], np.ldexp(peak, -n_odd[mixed]))
    return atoms


def lattice_slack(scale: int, eps: float) -> float:
    """Return how far a multiple of one over a scale may lie from a whole number, for values up to 1024."""
    return _SLACK * eps * 1024.0 * scale
