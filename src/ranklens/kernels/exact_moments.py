"""Chebyshev moments of the squares of many rows.

Any smooth even function of the values, added up over a long row, follows from a few of them. A sum over the
first axis of several takes its terms one after the other, whatever the number of rows: it needs no folding.
"""

from __future__ import annotations

from typing import Any

from ranklens.arrays import namespace
from ranklens.kernels.exact_folds import folded_sum

Array = Any

MOST_ANGLE = 1.5
"""Beyond it the logarithm of a cosine is no longer smooth enough, and a long row has long faded."""


def chebyshev_moments(values: Array, largest: Array, n_moments: int) -> Array:
    """Evaluate ``Σ_j a_j² T_k(2 a_j²/A² - 1)`` for k = 0, …, n_moments - 1.

    Each is one pass of the library's own sum, whose last bit depends on the shape: a row that is to have the
    same one in any company comes alone.

    Parameters
    ----------
    values : array of float, shape (n, rows)
        From 0 to A; zeros change nothing.
    largest : array of float, shape (rows,)
        A > 0.
    n_moments : int
        At least 2.

    Returns
    -------
    array of float, shape (n_moments, rows)
        The k-th may be off by k² roundings of ``Σ a_j²``.
    """
    xp = namespace(values)
    squares = values * values
    twice = squares * (4.0 / (largest * largest)) - 2.0
    former, current = squares, 0.5 * twice * squares
    moments = [xp.sum(former, axis=0), xp.sum(current, axis=0)]
    for _ in range(n_moments - 2):
        former, current = current, twice * current - former
        moments.append(xp.sum(current, axis=0))
    return xp.stack(moments)


def quadrature_times(moments: Array, to_weights: Array, squares: Array) -> Array:
    """Return how often each of k values stands, so that they have the Chebyshev moments of a row.

    Parameters
    ----------
    moments : array of float, shape (k, rows)
        As `chebyshev_moments` gives them.
    to_weights : array of float, shape (k, k)
        From moments (first axis) to the weights of the Chebyshev points (second).
    squares : array of float, shape (k, rows)
        The points, from 0 to A².

    Returns
    -------
    array of float, shape (k, rows)
        Neither whole nor always positive.
    """
    xp = namespace(moments)
    return xp.sum(to_weights[:, :, None] * moments[:, None, ...], axis=0) / squares


def quadrature_cosine_products(values: Array, times: Array, nodes: Array) -> Array:
    """Evaluate ``∏_j cos(y a_j)^m_j`` where no angle nears π/2.

    Parameters
    ----------
    values, times : arrays of float, shape (k, rows)
        a, the largest first, and the exponents m, which need not be whole.
    nodes : array of float, shape (n, rows)
        The frequencies y.

    Returns
    -------
    array of float, shape (n, rows)
        0 where an angle exceeds 1.5.
    """
    xp = namespace(values)
    angles = values[:, None, ...] * nodes[None, ...]
    sines = xp.sin(angles)
    products = xp.exp(0.5 * xp.sum(times[:, None, ...] * xp.log1p(-sines * sines), axis=0))
    return xp.where(angles[0, ...] <= MOST_ANGLE, products, 0.0)


def quadrature_tilted_products(values: Array, times: Array, tilt: Array, nodes: Array) -> tuple[Array, Array]:
    """Evaluate ``∏_j [cos(y a_j) + i tanh(t a_j) sin(y a_j)]^m_j`` where no angle nears π/2.

    Parameters
    ----------
    values, times : arrays of float, shape (k, rows)
        a, the largest first, and the exponents m, which need not be whole.
    tilt : array of float, shape (rows,)
    nodes : array of float, shape (n, rows)
        The frequencies y.

    Returns
    -------
    real, imaginary : arrays of float, shape (n, rows)
        0 where an angle exceeds 1.5.
    """
    xp = namespace(values)
    angles, exponents = values[:, None, ...] * nodes[None, ...], times[:, None, ...]
    tanhs = xp.tanh(tilt * values)[:, None, ...]
    sines, cosines = xp.sin(angles), xp.cos(angles)
    logs = exponents * xp.log1p((tanhs * tanhs - 1.0) * sines * sines)
    phase = xp.sum(exponents * xp.atan2(tanhs * sines, cosines), axis=0)
    modulus = xp.where(angles[0, ...] <= MOST_ANGLE, xp.exp(0.5 * xp.sum(logs, axis=0)), 0.0)
    return modulus * xp.cos(phase), modulus * xp.sin(phase)


def quadrature_log_mgf(values: Array, times: Array, tilt: Array) -> Array:
    """Evaluate K(t) = Σ_j m_j log cosh(t a_j), shape (rows,), for t a_j up to a few hundred.

    Parameters
    ----------
    values, times : arrays of float, shape (k, rows)
        a and their multiplicities m, which need not be whole.
    tilt : array of float, shape (rows,)
    """
    xp = namespace(values)
    sines = xp.sinh(tilt * values)
    return 0.5 * folded_sum(times * xp.log1p(sines * sines))
