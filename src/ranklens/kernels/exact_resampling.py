"""The law of a resampled sum: the sample's own law, convolved with itself n times."""

from __future__ import annotations

from typing import Any

from ranklens.arrays import namespace

Array = Any


def resampled_law(masses: Array, n: int) -> Array:
    """Return the law of the sum of `n` independent draws, modulo the length of the grid.

    Parameters
    ----------
    masses : array of float, shape (..., length)
        The law of one draw on 0, 1, …, length - 1; length is even.
    n : int
        At least 1.

    Returns
    -------
    array of float, shape (..., length)
        The masses of the sum, each with an absolute error of about n·eps.
    """
    xp = namespace(masses)
    spectrum = xp.fft.rfft(masses)
    return xp.fft.irfft(integer_power(spectrum, n), n=masses.shape[-1])


def integer_power(base: Array, exponent: int) -> Array:
    """Raise to a whole power of at least 1 by repeated squaring, which rounds only log2(exponent) times."""
    power, square = None, base
    while exponent:
        if exponent & 1:
            power = square if power is None else power * square
        exponent >>= 1
        if exponent:
            square = square * square
    return power
