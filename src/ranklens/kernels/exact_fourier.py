"""Tails of the sign-flip distribution by Fourier inversion, plain and exponentially tilted.

T = Σ ±a_j with fair signs has the characteristic function ∏ cos(y a_j). Here it is evaluated directly, at any
frequencies; equal values may enter once, with their multiplicity.
"""

from __future__ import annotations

import math
from typing import Any

from ranklens.arrays import namespace
from ranklens.kernels.exact_folds import folded_complex_product, folded_sum

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


def square_wave_tail(products: Array, nodes: Array, weights: Array, threshold: Array) -> Array:
    """Return P(|T| > threshold): one minus the expectation of a square wave of period far beyond T.

    Parameters
    ----------
    products, nodes, weights : arrays of float, shape (k, ...)
        The characteristic function at the odd multiples of half the wave's frequency, and the wave's Fourier
        weights.
    threshold : array of float, shape (...)
        In the unit of the values, not on an atom of T.

    Returns
    -------
    array of float, shape (...)
    """
    xp = namespace(products)
    return 1.0 - folded_sum(weights * xp.sin(nodes * threshold) * products)


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
        real, imaginary = folded_complex_product(xp.moveaxis(real, -1, 0), xp.moveaxis(imaginary, -1, 0))
        return real[0, ...], imaginary[0, ...]
    counts = multiplicities[..., None, :]
    squares = real * real + imaginary * imaginary
    modulus = xp.exp(0.5 * xp.sum(counts * xp.log(squares), axis=-1))
    phase = xp.sum(counts * xp.atan2(imaginary, real), axis=-1)
    return modulus * xp.cos(phase), modulus * xp.sin(phase)


def tilted_tail(
    products: tuple[Array, Array], nodes: Array, threshold: Array, tilt: Array, step: Any, half_step: float
) -> Array:
    """Return the tilted integral: P(T ≥ threshold) / exp(K(t) - t·threshold).

    Parameters
    ----------
    products : two arrays of float, shape (k, ...)
        The tilted characteristic function at the odd multiples of half the step.
    nodes : array of float, shape (k, ...)
    threshold, tilt : arrays of float, shape (...)
        On a lattice the threshold is an atom of T.
    step : float or array of float, shape (...)
        The distance of the nodes.
    half_step : float
        Half the distance h of the atoms of a lattice, where 2h/(1 - exp(-2h(t + iy))) sums over the atoms as
        1/(t + iy) integrates over a continuous law; 0 for the latter.

    Returns
    -------
    array of float, shape (...)
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
    return step / math.pi * folded_sum(terms)
