"""Tails of the sign-flip distribution by Fourier inversion, plain and exponentially tilted.

T = Σ ±a_j with fair signs has the characteristic function ∏ cos(y a_j). All functions batch over leading
axes; equal values may enter once, with their multiplicity.
"""

from __future__ import annotations

import math
from typing import Any

from ranklens.arrays import namespace

Array = Any


def cosine_products(values: Array, nodes: Array, multiplicities: Array | None = None) -> Array:
    """Evaluate ∏_j cos(y a_j)^m_j.

    Parameters
    ----------
    values : array of float, shape (..., n)
    nodes : array of float, shape (..., k)
        The frequencies y.
    multiplicities : array of float, shape (..., n), optional
        Whole numbers; 1 by default.

    Returns
    -------
    array of float, shape (..., k)
    """
    xp = namespace(values)
    cosines = xp.cos(nodes[..., :, None] * values[..., None, :])
    if multiplicities is not None:
        cosines = cosines ** multiplicities[..., None, :]
    return xp.prod(cosines, axis=-1)


def cosine_products_by_recurrence(values: Array, step: float, n_nodes: int) -> Array:
    """Evaluate ∏_j cos(y a_j) at the odd multiples of half the step, for many values and few nodes.

    cos((k + 1)x) = 2 cos(x) cos(kx) - cos((k - 1)x) replaces all cosines but the first two. Its rounding
    error grows with k, while the product falls.

    Parameters
    ----------
    values : array of float, shape (..., n)
    step : float
    n_nodes : int

    Returns
    -------
    array of float, shape (..., n_nodes)
    """
    xp = namespace(values)
    double = 2.0 * xp.cos(step * values)
    current = xp.cos(0.5 * step * values)
    former, products = current, []
    for _ in range(n_nodes):
        products.append(xp.prod(current, axis=-1, keepdims=True))
        former, current = current, double * current - former
    return xp.concat(products, axis=-1)


def square_wave_tail(products: Array, nodes: Array, weights: Array, threshold: Array) -> Array:
    """Return P(|T| > threshold): one minus the expectation of a square wave of period far beyond T.

    Parameters
    ----------
    products, nodes, weights : arrays of float, shape (..., k)
        `cosine_products` at the odd multiples of half the wave's frequency, and the wave's Fourier weights.
    threshold : array of float, shape (..., 1)
        In the unit of the values, not on an atom of T.

    Returns
    -------
    array of float, shape (..., 1)
    """
    xp = namespace(products)
    return 1.0 - xp.sum(weights * xp.sin(nodes * threshold) * products, axis=-1, keepdims=True)


def tilted_products(
    values: Array, tanhs: Array, nodes: Array, multiplicities: Array | None = None
) -> tuple[Array, Array]:
    """Evaluate ∏_j [cos(y a_j) + i tanh_j sin(y a_j)]^m_j, the characteristic function of the tilted T.

    Parameters
    ----------
    values, tanhs : arrays of float, shape (..., n)
        `tanhs` are tanh(t a_j) of the tilt t > 0.
    nodes : array of float, shape (..., k)
    multiplicities : array of float, shape (..., n), optional
        Whole numbers; 1 by default.

    Returns
    -------
    real, imaginary : arrays of float, shape (..., k)
    """
    xp = namespace(values)
    angles = nodes[..., :, None] * values[..., None, :]
    real, imaginary = xp.cos(angles), tanhs[..., None, :] * xp.sin(angles)
    if multiplicities is None:
        return _product(real, imaginary)
    counts = multiplicities[..., None, :]
    squares = real * real + imaginary * imaginary
    modulus = xp.exp(0.5 * xp.sum(counts * xp.log(squares), axis=-1))
    phase = xp.sum(counts * xp.atan2(imaginary, real), axis=-1)
    return modulus * xp.cos(phase), modulus * xp.sin(phase)


def tilted_tail(
    products: tuple[Array, Array], nodes: Array, threshold: Array, tilt: Array, step: float, half_step: float
) -> Array:
    """Return the tilted integral: P(T ≥ threshold) / exp(K(t) - t·threshold).

    Parameters
    ----------
    products : two arrays of float, shape (..., k)
        `tilted_products` at the odd multiples of half the step.
    nodes : array of float, shape (..., k)
    threshold, tilt : arrays of float, shape (..., 1)
        On a lattice the threshold is an atom of T.
    step : float
        The distance of the nodes.
    half_step : float
        Half the distance h of the atoms of a lattice, where 2h/(1 - exp(-2h(t + iy))) sums over the atoms as
        1/(t + iy) integrates over a continuous law; 0 for the latter.

    Returns
    -------
    array of float, shape (..., 1)
    """
    xp = namespace(nodes)
    if half_step:
        fading = xp.exp(-2.0 * half_step * tilt) / (2.0 * half_step)
        across = 0.5 / half_step - fading * xp.cos(2.0 * half_step * nodes)
        along = fading * xp.sin(2.0 * half_step * nodes)
    else:
        across, along = tilt, nodes
    cosines, sines = xp.cos(nodes * threshold), xp.sin(nodes * threshold)
    real = cosines * products[0] + sines * products[1]
    imaginary = cosines * products[1] - sines * products[0]
    terms = (across * real + along * imaginary) / (across * across + along * along)
    return step / math.pi * xp.sum(terms, axis=-1, keepdims=True)


def _product(real: Array, imaginary: Array) -> tuple[Array, Array]:
    """Multiply complex numbers along the last axis, the halves of it pairwise.

    Not every device has complex numbers, and not every library mixes them with real ones.
    """
    xp = namespace(real)
    while real.shape[-1] > 1:
        half = real.shape[-1] // 2
        a, b, rest = (real[..., part] for part in _thirds(half))
        c, d, other = (imaginary[..., part] for part in _thirds(half))
        real = xp.concat([a * b - c * d, rest], axis=-1)
        imaginary = xp.concat([a * d + c * b, other], axis=-1)
    return real[..., 0], imaginary[..., 0]


def _thirds(half: int) -> tuple[slice, slice, slice]:
    return slice(0, half), slice(half, 2 * half), slice(2 * half, None)
