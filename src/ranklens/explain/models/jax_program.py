"""The whole exact explanation of many pairs as one jitted JAX program.

Points, model and contributions of a tile of rows stay in the cache; a loop inside the program goes over the
tiles. The number k of differing players is an argument that chooses between branches of the program, not a
shape, so that another k compiles nothing.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from ranklens.kernels.coalitions import numbered_points
from ranklens.kernels.shapley import WIDEST_PRODUCT, coalition_weights, product, size_weight_list

Array = Any

SMALL_TILE = 2**WIDEST_PRODUCT
LARGE_TILE = 8 * SMALL_TILE
"""Rows scored together: 8 pairs of twelve players; their points and layers stay in the cache."""

COLUMNS = WIDEST_PRODUCT + 3
"""The contributions, the scores of A and of B, and the largest score by size."""


class Program(ABC):
    """A program around one model.

    Parameters
    ----------
    traced : callable
        ``traced(arrays, points)`` gives one score a row.
    """

    static: tuple[str, ...] = ("tile",)
    """The arguments of `explained` for each of whose values it is compiled."""

    def __init__(self, traced: Callable[[list[Array], Array], Array]) -> None:
        self._traced = traced
        self._run = importlib.import_module("jax").jit(self.explained, static_argnames=self.static)

    @abstractmethod
    def explained(self, arrays: list[Array], *args: Any, **static: Any) -> Array:
        """Return what was found out, as a pure function that JAX compiles."""


class ExactProgram(Program):
    """All coalitions of each pair."""

    def __call__(self, arrays: list[Array], pairs: Any) -> Array:
        """Return float64 of shape (rows of the pairs' arrays, COLUMNS); columns of no player are zero.

        Rows behind the last pair hold nothing of use.
        """
        n_rows = len(pairs) * 2**pairs.k
        tile = LARGE_TILE if n_rows >= 4 * LARGE_TILE else SMALL_TILE
        return self._run(arrays, pairs.a, pairs.b, pairs.slot, pairs.k, -(-n_rows // tile), tile=tile)

    def explained(
        self, arrays: list[Array], a: Array, b: Array, slot: Array, k: Array, n_tiles: Array, *, tile: int
    ) -> Array:
        jax = importlib.import_module("jax")
        jnp = jax.numpy
        points_of = [_points_branch(size, tile) for size in range(1, WIDEST_PRODUCT + 1)]
        found_in = [_found_branch(size, tile) for size in range(1, WIDEST_PRODUCT + 1)]
        by_k = [size_weight_list(size) for size in range(1, WIDEST_PRODUCT + 1)]
        by_k = [row + [0.0] * (WIDEST_PRODUCT + 1 - len(row)) for row in by_k]
        weights = coalition_weights(jnp.asarray(by_k, dtype=jnp.float64)[k - 1], WIDEST_PRODUCT)

        def one_tile(step: Array, found: Array) -> Array:
            points = jax.lax.switch(k - 1, points_of, step, a, b, slot)
            scores = jnp.astype(self._traced(arrays, points), jnp.float64)
            return jax.lax.switch(k - 1, found_in, step, scores, weights, found)

        start = jnp.zeros((a.shape[0], COLUMNS), dtype=jnp.float64)
        return jax.lax.fori_loop(0, n_tiles, one_tile, start)


def _points_branch(k: int, tile: int) -> Callable[..., Array]:
    """Return the part of the program that makes a tile's points for pairs with k players."""
    jnp = importlib.import_module("jax.numpy")
    n_pairs = tile >> k

    def points(step: Array, a: Array, b: Array, slot: Array) -> Array:
        pair = jnp.minimum(step * n_pairs + jnp.arange(n_pairs, dtype=step.dtype), a.shape[0] - 1)
        return numbered_points(a[pair], b[pair], slot[pair], 0, n=2**k)

    return points


def _found_branch(k: int, tile: int) -> Callable[..., Array]:
    """Return the part of the program that turns a tile's scores into contributions."""
    jnp = importlib.import_module("jax.numpy")
    n_pairs = tile >> k

    def found(step: Array, scores: Array, weights: Array, so_far: Array) -> Array:
        values = jnp.reshape(scores, (n_pairs, 2**k))
        none = jnp.zeros((n_pairs, WIDEST_PRODUCT - k), dtype=values.dtype)
        ends = [values[:, 0], values[:, -1], jnp.max(jnp.abs(values), axis=1)]
        rows = jnp.concat([product(values, weights[: 2**k, :k]), none, jnp.stack(ends, axis=1)], axis=1)
        pair = step * n_pairs + jnp.arange(n_pairs, dtype=step.dtype)
        return so_far.at[pair].set(rows, mode="drop")

    return found
