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
    while (n := terms.shape[0]) > 1:
        folded = terms[: n // 2, ...] + terms[n // 2 : n - n % 2, ...]
        terms = _with_last(folded, terms) if n % 2 else folded
    return terms[0, ...]


def row_sums(terms: Array) -> Array:
    """Add along the last axis of a contiguous array: NumPy takes row by row, each as if it were alone.

    Parameters
    ----------
    terms : array, shape (..., n)

    Returns
    -------
    array, shape (...)
    """
    return namespace(terms).sum(terms, axis=-1)


def folded_product(factors: Array, most: int = 1) -> Array:
    """Multiply along the first axis, its halves by each other until `most` or fewer are left.

    Parameters
    ----------
    factors : array, shape (n, ...)
        n is at least 1.
    most : int

    Returns
    -------
    array, shape (m, ...)
        m is at most `most`.
    """
    xp = namespace(factors)
    if xp.__name__ != "numpy":
        return xp.prod(factors, axis=0, keepdims=True)
    while (n := factors.shape[0]) > most:
        folded = factors[: n // 2, ...] * factors[n // 2 : n - n % 2, ...]
        factors = _with_last(folded, factors) if n % 2 else folded
    return factors


def folded_complex_product(real: Array, imaginary: Array, most: int = 1) -> tuple[Array, Array]:
    """Multiply complex numbers along the first axis, its halves by each other until `most` or fewer are left.

    Not every device has complex numbers, and not every library mixes them with real ones.

    Parameters
    ----------
    real, imaginary : arrays, shape (n, ...)
        n is at least 1.
    most : int

    Returns
    -------
    real, imaginary : arrays, shape (m, ...)
        m is at most `most`.
    """
    while (n := real.shape[0]) > most:
        a, b = real[: n // 2, ...], real[n // 2 : n - n % 2, ...]
        c, d = imaginary[: n // 2, ...], imaginary[n // 2 : n - n % 2, ...]
        folded = a * b - c * d, a * d + c * b
        if n % 2:
            folded = _with_last(folded[0], real), _with_last(folded[1], imaginary)
        real, imaginary = folded
    return real, imaginary


def _with_last(folded: Array, whole: Array) -> Array:
    """Append what an odd length leaves over."""
    return namespace(whole).concat([folded, whole[-1:, ...]], axis=0)
