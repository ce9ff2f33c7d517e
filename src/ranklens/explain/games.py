"""Pairs that are explained together: their points, and what follows from the scores of these.

The game of a pair: v(S) is the score of the point whose features in S come from B and the rest from A. Pairs
with the same number of differing players share their coalitions.
"""

from __future__ import annotations

import copy
import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, Purpose, compiled, draw_words
from ranklens.arrays import words as host_words
from ranklens.explain.layout import Layout, orders_layout, regression_layout
from ranklens.explain.leverage import sample_coalitions
from ranklens.explain.method import Choice
from ranklens.kernels.coalition_regression import Fit, regression_values
from ranklens.kernels.coalitions import listed_points, numbered_points
from ranklens.kernels.orders import order_estimates, walks
from ranklens.kernels.shapley import shapley_values

Array = Any


class Solved(NamedTuple):
    """Arrays of the backend: shapes (pairs, k), (pairs, k) or None, (pairs,) and (pairs,)."""

    contributions: Array
    errors: Array | None
    score_a: Array
    score_b: Array


@dataclass(frozen=True)
class Pairs:
    """Pairs with k differing players each, on the model's device.

    Attributes
    ----------
    index : int64 array, shape (pairs,)
        Their positions among all pairs of the call.
    players : int64 array, shape (pairs, k)
        The players that differ.
    a, b : arrays, shape (pairs, features)
    slot : int32 array, shape (pairs, features)
        Which of the k players a feature belongs to; k where it does not change.
    """

    index: NDArray[np.int64]
    players: NDArray[np.int64]
    a: Array
    b: Array
    slot: Array

    @property
    def k(self) -> int:
        """The number of differing players."""
        return int(self.players.shape[1])

    def cut(self, part: slice) -> tuple[Array, Array, Array]:
        """Return `a`, `b` and `slot` of some pairs."""
        if part == slice(0, len(self)):
            return self.a, self.b, self.slot
        return self.a[part, :], self.b[part, :], self.slot[part, :]

    def __len__(self) -> int:
        return len(self.index)


class Game(ABC):
    """What is asked about `pairs`, `n_coalitions` rows each, and how the answers are put together."""

    freedom = 0
    """Degrees of freedom of the standard errors; 0 where there are none."""

    n_again = 0
    """How many points of the first pair were scored twice, to see whether the answer is the same."""

    def __init__(self, pairs: Pairs, choice: Choice, backend: Backend) -> None:
        self.pairs = pairs
        self.backend = backend
        self.choice = choice
        self.n_coalitions = choice.n_rows(pairs.k)

    def on(self, pairs: Pairs) -> Self:
        """Return the same game for other pairs with as many players; the coalitions are shared."""
        game = copy.copy(self)
        game.pairs = pairs
        return game

    @property
    def n_rows(self) -> int:
        """The model rows of all pairs."""
        return len(self.pairs) * self.n_coalitions

    def points(self, start: int, stop: int) -> Iterator[Array]:
        """Yield blocks that together are the rows `start` to `stop`, pair by pair."""
        n = self.n_coalitions
        while start < stop:
            pair, first = divmod(start, n)
            whole = (stop - start) // n if first == 0 else 0
            last = n if whole else min(n, first + stop - start)
            end = pair + max(1, whole)
            yield self.block(slice(pair, end), first, last)
            start += (end - pair) * (last - first)

    @abstractmethod
    def block(self, pairs: slice, start: int, stop: int) -> Array:
        """Return the points of the coalitions `start` to `stop` of some pairs."""

    @abstractmethod
    def solve(self, values: Array) -> Solved:
        """Return the contributions that follow from the scores, shape (pairs, n_coalitions)."""


class ExactGame(Game):
    """All coalitions: number T, whose bit i says that player i comes from B."""

    def block(self, pairs: slice, start: int, stop: int) -> Array:
        points = compiled(numbered_points, self.backend, static=("n",))
        return points(*self.pairs.cut(pairs), start, n=stop - start)

    def solve(self, values: Array) -> Solved:
        found = compiled(shapley_values, self.backend, static=("k",))(values, k=self.pairs.k)
        return Solved(found, None, values[:, 0], values[:, -1])


class SampledGame(Game):
    """A list of coalitions that is the same for all pairs: none, all, the sampled ones, and none again."""

    @abstractmethod
    def sampled(self) -> Array:
        """Return the sampled coalitions, on the device: bool, shape (coalitions, k)."""

    @abstractmethod
    def laid_out(self) -> Layout:
        """Return the sample for a program of the model's own library."""

    @functools.cached_property
    def layout(self) -> Layout:
        """What `laid_out` returns, made once for all games with the same coalitions."""
        return self.laid_out()

    @functools.cached_property
    def layout_on_device(self) -> tuple[Array, ...]:
        """The arrays of the layout."""
        arrays = (self.layout.members, *self.layout.arrays)
        return tuple(self.backend.asarray(array) for array in arrays)

    @functools.cached_property
    def _members(self) -> Array:
        xp, k = self.backend.xp, self.pairs.k
        ends = xp.asarray([[False] * k, [True] * k], dtype=xp.bool, device=self.backend.device)
        listed = xp.concat([ends, self.sampled(), ends[:1, :]], axis=0)
        never = xp.zeros((listed.shape[0], 1), dtype=xp.bool, device=self.backend.device)
        return xp.concat([listed, never], axis=1)

    def block(self, pairs: slice, start: int, stop: int) -> Array:
        whole = stop - start == self.n_coalitions
        members = self._members if whole else self._members[start:stop, :]
        return compiled(listed_points, self.backend)(*self.pairs.cut(pairs), members)


class OrdersGame(SampledGame):
    """Random orders, with their reverses where the method is "antithetic"."""

    def __init__(self, pairs: Pairs, choice: Choice, backend: Backend, seed: int) -> None:
        super().__init__(pairs, choice, backend)
        self._together = 2 if choice.method == "antithetic" else 1
        self._n_samples = choice.n // self._together
        self._seed = seed
        self.freedom = self._n_samples - 1

    @functools.cached_property
    def _walks(self) -> tuple[Array, Array]:
        n, columns = self._n_samples, range(self.pairs.k)
        words = draw_words(self.backend, self._seed, 0, n, columns, Purpose.ORDERS)
        return compiled(walks, self.backend, static=("reverse",))(words, reverse=self._together == 2)

    def sampled(self) -> Array:
        return self._walks[1]

    def laid_out(self) -> Layout:
        # On the host, so that no number of players is compiled for.
        drawn = host_words(self._seed, 0, self._n_samples, self.pairs.k, Purpose.ORDERS)
        ranks, interior = walks(drawn.view(np.int64), reverse=self._together == 2)
        return orders_layout(ranks, interior, self._together)

    def solve(self, values: Array) -> Solved:
        a, b = values[:, 0], values[:, 1]
        solve = compiled(order_estimates, self.backend, static=("together",))
        mean, error = solve(values[:, 2:-1], self._walks[0], a, b, together=self._together)
        return Solved(mean, error if self.freedom else None, a, b)


class RegressionGame(SampledGame):
    """Pairs of complementary coalitions, put together by least squares."""

    def __init__(self, pairs: Pairs, choice: Choice, backend: Backend, seed: int) -> None:
        super().__init__(pairs, choice, backend)
        self._sample = sample_coalitions(pairs.k, choice.n, seed)
        self.freedom = self._sample.n_parts - 1

    def sampled(self) -> Array:
        members = self.backend.asarray(self._sample.members)
        return self.backend.xp.concat([members, ~members], axis=0)

    def laid_out(self) -> Layout:
        return regression_layout(self._sample)

    @functools.cached_property
    def _fit(self) -> tuple[Array, Fit]:
        size = self._sample.members.sum(axis=1).astype(np.float64)
        return self.backend.asarray(size), Fit(*(self.backend.asarray(array) for array in self._sample.fit))

    def solve(self, values: Array) -> Solved:
        a, b, n = values[:, 0], values[:, 1], self.choice.n
        small, large = values[:, 2 : 2 + n], values[:, 2 + n : 2 + 2 * n]
        solve = compiled(regression_values, self.backend, static=("n_parts",))
        size, fit = self._fit
        mean, error = solve(small, large, size, b - a, fit, n_parts=self._sample.n_parts)
        return Solved(mean, error if self.freedom else None, a, b)


def game_of(pairs: Pairs, choice: Choice, backend: Backend, seed: int) -> Game:
    """Return the game that `choice` plays on `pairs`."""
    if choice.method == "exact":
        return ExactGame(pairs, choice, backend)
    kind = RegressionGame if choice.method == "regression" else OrdersGame
    return kind(pairs, choice, backend, seed)
