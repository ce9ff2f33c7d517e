"""The ideal bootstrap by its characteristic function, many samples at once."""

from __future__ import annotations

import math
from typing import Any

from ranklens.arrays import device_of, namespace

Array = Any


def resampled_characteristic(values: Array, step: float, n_nodes: int, n: Any = None) -> tuple[Array, Array]:
    """Return the characteristic function of the sum of n draws at the odd multiples of half the step.

    Parameters
    ----------
    values : array of float, shape (rows, n)
        Centred, and scaled so that the sum of n draws has unit variance.
    step : float
    n_nodes : int
    n : int, optional
        With it given, zeros follow the first n, which are not drawn.

    Returns
    -------
    real, imaginary : arrays of float, shape (n_nodes, rows)
        Of mean(exp(i y a))^n.
    """
    xp = namespace(values)
    cosine, sine = xp.cos(0.5 * step * values), xp.sin(0.5 * step * values)
    double = 4.0 * cosine * cosine - 2.0
    if n is None:
        n = values.shape[-1]
    else:
        first = xp.arange(values.shape[-1], dtype=xp.int64, device=device_of(values)) < n
        cosine = xp.where(first, cosine, 0.0)
    former_cosine, former_sine = cosine, -sine
    real, imaginary = [], []
    for _ in range(n_nodes):
        real.append(xp.sum(cosine, axis=-1))
        imaginary.append(xp.sum(sine, axis=-1))
        former_cosine, cosine = cosine, double * cosine - former_cosine
        former_sine, sine = sine, double * sine - former_sine
    mean, odd = xp.stack(real, axis=0) / n, xp.stack(imaginary, axis=0) / n
    modulus = xp.sqrt(mean * mean + odd * odd) ** n
    phase = n * xp.atan2(odd, mean)
    return modulus * xp.cos(phase), modulus * xp.sin(phase)


def square_wave_law(characteristic: tuple[Array, Array], places: Array, step: float) -> tuple[Array, Array]:
    """Return the distribution function and the density of each row at its place.

    ``F(x) = 1/2 - 1/π Σ Im[φ(y_k) exp(-i y_k x)] / (k + 1/2)`` with y_k = (k + 1/2) · step, for a law that
    has next to no chance further than 2π / step from x. No row's numbers depend on the other rows.

    Parameters
    ----------
    characteristic : two arrays of float, shape (k, rows)
        Real and imaginary parts of φ, k a power of two.
    places : array of float, shape (rows,)
    step : float

    Returns
    -------
    below, density : arrays of float, shape (rows,)
    """
    real, imaginary = characteristic
    xp = namespace(real)
    order = xp.arange(real.shape[0], dtype=real.dtype, device=real.device)[:, None] + 0.5
    angle = order * (step * places)
    cosine, sine = xp.cos(angle), xp.sin(angle)
    below = 0.5 - _folded((imaginary * cosine - real * sine) / order) / math.pi
    return below, _folded(real * cosine + imaginary * sine) * (step / math.pi)


def _folded(terms: Array) -> Array:
    """Sum over the first axis by halves: the same additions for a row whatever the number of rows."""
    while terms.shape[0] > 1:
        half = terms.shape[0] // 2
        terms = terms[:half, ...] + terms[half:, ...]
    return terms[0, ...]
