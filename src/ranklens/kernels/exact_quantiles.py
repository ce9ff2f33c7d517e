"""Quantiles of the ideal bootstrap by inverting a characteristic function, many samples at once."""

from __future__ import annotations

import math
from typing import Any

from ranklens.arrays import namespace

Array = Any

NEWTON_STEPS = 8


def resampled_characteristic(values: Array, step: float, n_nodes: int) -> tuple[Array, Array]:
    """Return the characteristic function of the sum of n draws at the odd multiples of half the step.

    Parameters
    ----------
    values : array of float, shape (rows, n)
        Centred, and scaled so that the sum of n draws has unit variance.
    step : float
    n_nodes : int

    Returns
    -------
    real, imaginary : arrays of float, shape (rows, n_nodes)
        Of mean(exp(i y a))^n.
    """
    xp = namespace(values)
    n = values.shape[-1]
    double = 2.0 * xp.cos(step * values)
    cosine, sine = xp.cos(0.5 * step * values), xp.sin(0.5 * step * values)
    former_cosine, former_sine = cosine, -sine
    real, imaginary = [], []
    for _ in range(n_nodes):
        real.append(xp.mean(cosine, axis=-1, keepdims=True))
        imaginary.append(xp.mean(sine, axis=-1, keepdims=True))
        former_cosine, cosine = cosine, double * cosine - former_cosine
        former_sine, sine = sine, double * sine - former_sine
    mean, odd = xp.concat(real, axis=-1), xp.concat(imaginary, axis=-1)
    modulus = xp.sqrt(mean * mean + odd * odd) ** n
    phase = n * xp.atan2(odd, mean)
    return modulus * xp.cos(phase), modulus * xp.sin(phase)


def inverted_quantile(characteristic: tuple[Array, Array], start: Array, level: float, step: float) -> Array:
    """Solve F(x) = level for every row by Newton's method, where F is read from a square wave's series.

    ``F(x) = 1/2 - 1/π Σ Im[φ(y_k) exp(-i y_k x)] / (k + 1/2)`` with y_k = (k + 1/2) · step, for a law that
    has next to no chance further than π / step from x.

    Parameters
    ----------
    characteristic : two arrays of float, shape (rows, k)
    start : array of float, shape (rows,)
    level, step : float

    Returns
    -------
    array of float, shape (rows,)
    """
    real, imaginary = characteristic
    xp = namespace(real)
    order = xp.arange(real.shape[-1], dtype=real.dtype, device=real.device) + 0.5
    x = start[:, None]
    for _ in range(NEWTON_STEPS):
        cosine, sine = xp.cos(order * (step * x)), xp.sin(order * (step * x))
        below = 0.5 - xp.sum((imaginary * cosine - real * sine) / order, axis=-1, keepdims=True) / math.pi
        density = xp.sum(real * cosine + imaginary * sine, axis=-1, keepdims=True) * (step / math.pi)
        moved = (level - below) / xp.where(density > 1e-4, density, 1e-4)
        x = x + xp.where(moved > 1.0, 1.0, xp.where(moved < -1.0, -1.0, moved))
    return x[:, 0]
