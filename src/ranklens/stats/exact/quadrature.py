"""How many weighted values stand for a long row, so that smooth functions add up to what they do over it."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from ranklens.kernels.exact_moments import MOST_ANGLE

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]

_HALF_PI = 0.5 * math.pi
_WITHIN, _LEAST = 1.45, 10.0


def points_needed(
    largest: Floats,
    rate: Floats | None,
    nodes: Floats,
    moduli: Floats,
    taken: Rows,
    tolerance: Floats | float,
) -> Floats:
    """Return how many points make up for a row's values at the nodes of its inversion; else infinity.

    Parameters
    ----------
    largest : numpy.ndarray of float64, shape (rows,)
        A, the largest value.
    rate : numpy.ndarray of float64, shape (rows,), or None
        t, the tilt; None without one.
    nodes : numpy.ndarray of float64, shape (n, rows)
        The frequencies y.
    moduli : numpy.ndarray of float64, shape (n, rows)
        What the modulus of the tilted characteristic function is at most.
    taken : numpy.ndarray of bool, shape (n, rows)
        Which of the nodes matter.
    tolerance : float or array of float, shape (rows,)
        What each value of that function may be off by.

    Notes
    -----
    ``log cosh(z x) / x²`` with z = t + iy is interpolated at k Chebyshev points of x² up to A². x/A times z A
    goes through an ellipse with the axes ``|z|A cosh η`` and ``|z|A sinh η`` as x² goes through that of
    Bernstein's parameter ``ρ = exp(2η)``. If its imaginary parts stay below β < π/2, the function is at most
    ``M = |z| tan(β) / (A sinh η)`` there, as the derivative tanh of log cosh is at most tan β in size, and
    the interpolation is off by at most ``4 M ρ^(1 - k) / (ρ - 1)``; the squares of the values add up to 1.
    """
    along = nodes * largest
    size = along if rate is None else np.hypot(rate * largest, along)
    reached = along < MOST_ANGLE
    along = np.minimum(along, MOST_ANGLE)
    within = np.maximum(_WITHIN, 0.5 * (along + _HALF_PI))
    height = np.sqrt(within * within - along * along) / size
    log_ratio = 2.0 * np.arcsinh(height)
    bound = 4.0 * size * np.tan(within) / (height * -np.expm1(-log_ratio) * largest * largest)
    needed = np.log(bound * np.maximum(moduli, _LEAST * tolerance) / tolerance) / log_ratio
    return np.asarray(np.where(taken, np.where(reached, needed, math.inf), 0.0).max(axis=0))


@functools.lru_cache(maxsize=64)
def chebyshev_points(n_points: int) -> tuple[Floats, Floats]:
    """Return the Chebyshev points of [0, 1], and what turns moments (first axis) into weights (second)."""
    angles = math.pi * (np.arange(n_points) + 0.5) / n_points
    to_weights = np.cos(np.multiply.outer(np.arange(n_points), angles)) * (2.0 / n_points)
    to_weights[0] *= 0.5
    return np.cos(0.5 * angles) ** 2, to_weights
