"""The whole sampled explanation of many pairs as one jitted JAX program.

As `ranklens.explain.models.jax_program`, for coalitions that are listed. The numbers of players, samples and
pairs are filled up to one of few lengths, and what they really are is an argument, so that another k seldom
compiles anything. Rows that only fill up are not scored, but for those of the last tile.
"""

from __future__ import annotations

import importlib
from typing import Any

from ranklens.explain.layout import ENDS, Layout
from ranklens.explain.models.jax_program import LARGE_TILE, SMALL_TILE, Program
from ranklens.kernels.coalition_regression import Fit, regression_values
from ranklens.kernels.coalitions import listed_points
from ranklens.kernels.orders import Allowance, allowance, placed_estimates

Array = Any


class SampledProgram(Program):
    """A list of coalitions that is the same for all pairs."""

    static = ("tile", "together", "n_parts")

    def __call__(
        self, arrays: list[Array], pairs: Any, layout: Layout, on_device: tuple[Array, ...]
    ) -> Array:
        """Return float64 of shape (rows of the pairs' arrays, 2 · players + 4).

        The columns are the contributions, their standard errors, the scores of A, of B and of A once more,
        and the largest score by size. `on_device` is `layout.members` and `layout.arrays` there.
        """
        tile = LARGE_TILE if len(pairs) * layout.n_rows >= 4 * LARGE_TILE else SMALL_TILE
        return self._run(
            arrays,
            (pairs.a, pairs.b, pairs.slot),
            on_device,
            (len(pairs), layout.n_rows, layout.k, layout.n_samples),
            allowance(layout.n_samples),
            tile=tile,
            together=layout.together,
            n_parts=layout.n_parts,
        )

    def explained(
        self,
        arrays: list[Array],
        pairs: tuple[Array, Array, Array],
        sample: tuple[Array, ...],
        counts: tuple[Array, Array, Array, Array],
        allowed: Allowance,
        *,
        tile: int,
        together: int,
        n_parts: int,
    ) -> Array:
        jnp = importlib.import_module("jax.numpy")
        n_pairs, n_rows, k, n_samples = counts
        members, *placed = sample
        values = self._scores(arrays, pairs, members, n_pairs, n_rows, tile)
        a, b, sampled = values[:, 0], values[:, 1], values[:, ENDS:]
        if together:
            found, error = placed_estimates(
                values, placed[0], placed[1], n_samples, k, allowed, together=together
            )
        else:
            size, *fit = placed
            both = jnp.reshape(sampled[:, : 2 * size.shape[0]], (values.shape[0], -1, 2))
            found, error = regression_values(
                both[:, :, 0], both[:, :, 1], size, b - a, Fit(*fit), n_parts=n_parts, k=k
            )
        ends = jnp.stack([a, b, values[:, 2], jnp.max(jnp.abs(values), axis=1)], axis=1)
        return jnp.concat([found, error, ends], axis=1)

    def _scores(
        self,
        arrays: list[Array],
        pairs: tuple[Array, Array, Array],
        members: Array,
        n_pairs: Array,
        n_rows: Array,
        tile: int,
    ) -> Array:
        """Score tile after tile: some coalitions of one pair, or all coalitions of some pairs."""
        jax = importlib.import_module("jax")
        jnp = jax.numpy
        n_there = pairs[0].shape[0]
        height = min(tile, members.shape[0])
        members = jnp.pad(members, ((0, -members.shape[0] % height), (0, 0)))
        # A power of two, as are the rows of the pairs' arrays.
        width = min(n_there, 1 << (tile // height).bit_length() - 1)
        n_down = -(-n_rows // height)

        def one_tile(step: Array, values: Array) -> Array:
            pair, row = step // n_down * width, step % n_down * height
            a, b, slot = (jax.lax.dynamic_slice_in_dim(array, pair, width) for array in pairs)
            points = listed_points(a, b, slot, jax.lax.dynamic_slice_in_dim(members, row, height))
            scores = jnp.astype(self._traced(arrays, points), jnp.float64)
            return jax.lax.dynamic_update_slice(values, jnp.reshape(scores, (width, height)), (pair, row))

        start = jnp.zeros((n_there, members.shape[0]), dtype=jnp.float64)
        return jax.lax.fori_loop(0, -(-n_pairs // width) * n_down, one_tile, start)
