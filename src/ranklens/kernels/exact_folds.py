"""Sums and products whose rounding does not depend on how many rows are computed at once.

NumPy's own reductions add in an order that changes with the shape and the layout. Halving the first axis by
elementwise operations gives a row the same last bit alone and in any company. Other libraries promise no such
thing for any operation, and on a device a reduction of theirs is one program instead of many.
"""

from __future__ import annotations

from typing import Any

from ranklens.arrays import namespace

Array = Any


def folded_sum(terms: Array) -> Array:
    """Add along the first axis, its halves to each other until one is left.

    Parameters
    ----------
    terms : array, shape (n, ...)
        n is at least 1.

    Returns
    -------
    array, shape (...)
    """
    xp = namespace(terms)
    if xp.__name__ != "numpy":
        return xp.sum(terms, axis=0)
    while terms.shape[0] > 1:
        half = terms.shape[0] // 2
        terms = _with_rest(terms[:half, ...] + terms[half : 2 * half, ...], terms)
    return terms[0, ...]


def folded_product(factors: Array) -> Array:
    """Multiply along the first axis, its halves by each other until one is left.

    Parameters
    ----------
    factors : array, shape (n, ...)
        n is at least 1.

    Returns
    -------
    array, shape (...)
    """
    xp = namespace(factors)
    if xp.__name__ != "numpy":
        return xp.prod(factors, axis=0)
    while factors.shape[0] > 1:
        half = factors.shape[0] // 2
        factors = _with_rest(factors[:half, ...] * factors[half : 2 * half, ...], factors)
    return factors[0, ...]


def folded_complex_product(real: Array, imaginary: Array) -> tuple[Array, Array]:
    """Multiply complex numbers along the first axis, its halves by each other until one is left.

    Not every device has complex numbers, and not every library mixes them with real ones.

    Parameters
    ----------
    real, imaginary : arrays, shape (n, ...)
        n is at least 1.

    Returns
    -------
    real, imaginary : arrays, shape (...)
    """
    while real.shape[0] > 1:
        half = real.shape[0] // 2
        a, b = real[:half, ...], real[half : 2 * half, ...]
        c, d = imaginary[:half, ...], imaginary[half : 2 * half, ...]
        folded = a * b - c * d, a * d + c * b
        real, imaginary = _with_rest(folded[0], real), _with_rest(folded[1], imaginary)
    return real[0, ...], imaginary[0, ...]


def _with_rest(folded: Array, whole: Array) -> Array:
    """Append what an odd length leaves over."""
    if whole.shape[0] % 2 == 0:
        return folded
    return namespace(whole).concat([folded, whole[-1:, ...]], axis=0)
