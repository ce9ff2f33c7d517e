"""Characteristic functions of many rows at equidistant frequencies, by recurrence.

T = Σ ±a_j with fair signs has the characteristic function ∏ cos(y a_j); tilted by exp(tT) it has
∏ [cos(y a_j) + i tanh(t a_j) sin(y a_j)]. All rows have the same length; zeros among their values change
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ranklens.arrays import namespace
from ranklens.kernels.exact_folds import folded_complex_product, folded_product

Array = Any


class Nodes(NamedTuple):
    """The odd multiples (k + ½) of a step: how many, and how many are computed at a time.

    `n` is a multiple of `block`, which is small where rows are long.
    """

    n: int
    block: int


def stepped_cosine_products(values: Array, step: Array, nodes: Nodes) -> Array:
    """Evaluate ∏_j cos(y a_j) at the odd multiples of half of each row's step.

    ``cos((k + m)x) = 2 cos(mx) cos(kx) - cos((k - m)x)`` replaces all cosines but three. Its rounding error
    grows with k, while the product falls.

    Parameters
    ----------
    values : array of float, shape (n, rows)
    step : array of float, shape (rows,)
    nodes : Nodes

    Returns
    -------
    array of float, shape (nodes.n, rows)
    """
    xp = namespace(values)
    angles = step * values
    blocks = _blocks(xp.cos(0.5 * angles), 1.0, _doubled_cosines(angles, nodes), nodes)
    return xp.concat([folded_product(cosines) for cosines in blocks], axis=0)


def stepped_tilted_products(values: Array, tanhs: Array, step: Array, nodes: Nodes) -> tuple[Array, Array]:
    """Evaluate ∏_j [cos(y a_j) + i tanh_j sin(y a_j)] at the odd multiples of half of each row's step.

    Parameters
    ----------
    values, tanhs : arrays of float, shape (n, rows)
        `tanhs` are tanh(t a_j) of the tilt t > 0.
    step : array of float, shape (rows,)
    nodes : Nodes

    Returns
    -------
    real, imaginary : arrays of float, shape (nodes.n, rows)
    """
    xp = namespace(values)
    angles = step * values
    doubles = _doubled_cosines(angles, nodes)
    cosines = _blocks(xp.cos(0.5 * angles), 1.0, doubles, nodes)
    sines = _blocks(tanhs * xp.sin(0.5 * angles), -1.0, doubles, nodes)
    parts = [folded_complex_product(real, imaginary) for real, imaginary in zip(cosines, sines, strict=True)]
    return xp.concat([part[0] for part in parts], axis=0), xp.concat([part[1] for part in parts], axis=0)


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
    xp = namespace(values)
    angles = step * values
    least = (tanhs * tanhs)[:, None, ...]
    blocks = _blocks(xp.cos(0.5 * angles), 1.0, _doubled_cosines(angles, nodes), nodes)
    return xp.concat(
        [folded_product(least + (1.0 - least) * cosines * cosines) for cosines in blocks], axis=0
    )


def _doubled_cosines(angles: Array, nodes: Nodes) -> tuple[Array, Array]:
    """Return twice the cosines of a step and of a block of steps."""
    xp = namespace(angles)
    one = 2.0 * xp.cos(angles)
    return one, one if nodes.block == 1 else 2.0 * xp.cos(nodes.block * angles)


def _blocks(first: Array, parity: float, doubles: tuple[Array, Array], nodes: Nodes) -> Iterator[Array]:
    """Yield f((k + ½)x) for a block of k at a time, shape (n, block, rows), from f(x/2).

    f is even (`parity` 1) or odd (-1), and obeys the recurrence of cosine and sine.
    """
    xp = namespace(first)
    one, many = doubles[0], doubles[1][:, None, ...]
    former, current = parity * first, first
    singles = [current]
    for _ in range(nodes.block - 1):
        former, current = current, one * current - former
        singles.append(current)
    block = xp.stack(singles, axis=1)
    before = parity * xp.flip(block, axis=1)
    yield block
    for _ in range(nodes.n // nodes.block - 1):
        before, block = block, many * block - before
        yield block
