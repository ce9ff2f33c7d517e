"""Characteristic functions of many rows at equidistant frequencies, by recurrence.

T = Σ ±a_j with fair signs has the characteristic function ∏ cos(y a_j); tilted by exp(tT) it has
∏ [cos(y a_j) + i tanh(t a_j) sin(y a_j)]. All rows have the same length; zeros among their values change
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ranklens.arrays import namespace
from ranklens.kernels.exact_folds import folded_complex_product, folded_product

Array = Any

_COSINE = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(8, -1, -1))
_SINE = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(8, -1, -1))
"""Of the squared angle, the highest power first: good to the last bit up to angles of 0.5."""

_SHARE_LEFT = 16
"""A block's factors are multiplied until a sixteenth of them is left, and these for all blocks at once."""


class Nodes(NamedTuple):
    """The odd multiples (k + ½) of a step: how many, and how many are computed at a time.

    `n` is a multiple of `block`, a power of two that is small where rows are long.
    """

    n: int
    block: int


def stepped_cosine_products(values: Array, step: Array, nodes: Nodes) -> Array:
    """Evaluate ∏_j cos(y a_j) at the odd multiples of half of each row's step.

    ``cos((k + m)x) = 2 cos(mx) cos(kx) - cos((k - m)x)`` replaces all cosines but the first. Its rounding
    error grows with k, while the product falls.

    Parameters
    ----------
    values : array of float, shape (n, rows)
    step : array of float, shape (rows,)
        At most 1 over the largest value.
    nodes : Nodes

    Returns
    -------
    array of float, shape (nodes.n, rows)
    """
    cosines = _power_series(_COSINE, step * values)
    return _product(_blocks(cosines, 1.0, _doubles(cosines, nodes), nodes), values.shape[0])


def stepped_tilted_products(values: Array, tanhs: Array, step: Array, nodes: Nodes) -> tuple[Array, Array]:
    """Evaluate ∏_j [cos(y a_j) + i tanh_j sin(y a_j)] at the odd multiples of half of each row's step.

    Parameters
    ----------
    values, tanhs : arrays of float, shape (n, rows)
        `tanhs` are tanh(t a_j) of the tilt t > 0.
    step : array of float, shape (rows,)
        At most 1 over the largest value.
    nodes : Nodes

    Returns
    -------
    real, imaginary : arrays of float, shape (nodes.n, rows)
    """
    xp = namespace(values)
    angles, left = step * values, max(1, values.shape[0] // _SHARE_LEFT)
    cosines, sines = _power_series(_COSINE, angles), 0.5 * angles * _power_series(_SINE, angles)
    doubles = _doubles(cosines, nodes)
    real, imaginary = _blocks(cosines, 1.0, doubles, nodes), _blocks(tanhs * sines, -1.0, doubles, nodes)
    parts = [folded_complex_product(*block, left) for block in zip(real, imaginary, strict=True)]
    real, imaginary = (xp.concat([part[i] for part in parts], axis=1) for i in (0, 1))
    real, imaginary = folded_complex_product(real, imaginary)
    return real[0, ...], imaginary[0, ...]


def squared_moduli(values: Array, tanhs: Array, step: Array, nodes: Nodes) -> Array:
    """Evaluate ``∏_j [cos²(y a_j) + tanh_j² sin²(y a_j)]``, the squared modulus of the tilted products.

    Parameters
    ----------
    values, tanhs, step, nodes
        See `stepped_tilted_products`; `tanhs` are zeros without a tilt.

    Returns
    -------
    array of float, shape (nodes.n, rows)
    """
    least = (tanhs * tanhs)[:, None, ...]
    cosines = _power_series(_COSINE, step * values)
    blocks = _blocks(cosines, 1.0, _doubles(cosines, nodes), nodes)
    squares = (least + (1.0 - least) * block * block for block in blocks)
    return _product(squares, values.shape[0])


def _product(blocks: Iterable[Array], n: int) -> Array:
    """Multiply the factors of all blocks, each of shape (n, block, rows)."""
    parts = [folded_product(factors, max(1, n // _SHARE_LEFT)) for factors in blocks]
    return folded_product(namespace(parts[0]).concat(parts, axis=1))[0, ...]


def _power_series(coefficients: tuple[float, ...], angles: Array) -> Array:
    """Evaluate a polynomial at the square of half the angles: six times faster than a library's cosine."""
    squares = 0.25 * angles * angles
    total = coefficients[0] * squares + coefficients[1]
    for coefficient in coefficients[2:]:
        total = total * squares + coefficient
    return total


def _doubles(cosines: Array, nodes: Nodes) -> tuple[Array, Array]:
    """Return twice the cosines of a step and of a block of steps, from the cosine of half a step."""
    one = many = 4.0 * cosines * cosines - 2.0
    for _ in range(nodes.block.bit_length() - 1):
        many = many * many - 2.0
    return one, many[:, None, ...]


def _blocks(first: Array, parity: float, doubles: tuple[Array, Array], nodes: Nodes) -> Iterator[Array]:
    """Yield f((k + ½)x) for a block of k at a time, shape (n, block, rows), from f(x/2).

    f is even (`parity` 1) or odd (-1), and obeys the recurrence of cosine and sine.
    """
    xp = namespace(first)
    one, many = doubles
    former, current = parity * first, first
    singles = [current]
    for _ in range(nodes.block - 1):
        former, current = current, one * current - former
        singles.append(current)
    # Stacking copies a long column number by number.
    block = xp.stack(singles, axis=1) if nodes.block > 1 else first[:, None, ...]
    before = parity * xp.flip(block, axis=1)
    yield block
    for _ in range(nodes.n // nodes.block - 1):
        before, block = block, many * block - before
        yield block
