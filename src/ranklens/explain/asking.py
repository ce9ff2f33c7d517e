"""Ask a model for the scores of many games in as few calls as possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ranklens.arrays import Backend, rows_within, to_host
from ranklens.core import ModelError
from ranklens.explain.games import ExactGame, Game
from ranklens.explain.method import Budget
from ranklens.explain.models.base import Model

Array = Any

FEWEST_ROWS = 4096
"""A call is never cut below this: twelve differing features are one call whatever the memory budget."""

MOST_ROWS = 65_536
"""Points of larger calls leave the cache, which costs more than the calls that are saved."""

REPEATABLE = 1e-4
"""How far two scores of the same row may differ, relative to the largest score."""


# Sums of thousands of numbers below it do not overflow.
_LARGE = 1e300


def call_size(n_features: int) -> int:
    """Return how many rows go into one call where the caller leaves it open."""
    # Points, the choice between A and B as integers and as flags, and the model's own copy.
    return max(FEWEST_ROWS, rows_within(24 * n_features, MOST_ROWS, share=0.5))


def game_values(
    model: Model, backend: Backend, games: Iterable[Game], batch_rows: int, budget: Budget
) -> Iterator[tuple[Game, Array]]:
    """Yield each game with the scores of its rows, shape (pairs, n_coalitions), in calls of `batch_rows`.

    Calls are filled across games, so that there are ceil(rows / batch_rows) of them. The last two rows are A
    and B once more, of the first pair that is counted in full and whose budget has room for them, to find out
    a model that draws at random or keeps a state. Games that sample ask for A again by themselves.
    """
    waiting = _Waiting(model, backend, budget)
    for game in games:
        start = 0
        while start < game.n_rows:
            stop = min(game.n_rows, start + batch_rows - waiting.n_rows)
            waiting.add(game, start, stop)
            start = stop
            if waiting.n_rows == batch_rows:
                yield from waiting.ask()
    yield from waiting.ask(room=batch_rows - waiting.n_rows)
    while waiting.ends:
        yield from waiting.ask(room=batch_rows)


class _Waiting:
    """Rows that wait for the next call, and the scores of games that are not complete yet."""

    def __init__(self, model: Model, backend: Backend, budget: Budget) -> None:
        self._model = model
        self._backend = backend
        self._budget = budget
        self._parts: list[tuple[Game, int, int]] = []
        self._scores: list[Array] = []
        self._checked: Game | None = None
        self._checked_scores: tuple[Array, ...] = ()
        self._again: list[Array] = []
        self.ends: list[int] = []
        self.n_rows = 0

    def add(self, game: Game, start: int, stop: int) -> None:
        self._parts.append((game, start, stop))
        self.n_rows += stop - start
        if self._checked is None and isinstance(game, ExactGame) and not self._model.pure:
            n = game.n_coalitions
            if self._budget.has_room_for_ends(n):
                self._checked, self.ends = game, [0, n - 1]
                game.n_again = len(self.ends)

    def ask(self, *, room: int = 0) -> Iterator[tuple[Game, Array]]:
        """Score the rows that wait, and yield the games that are complete now.

        Up to `room` of the `ends` are scored once more.
        """
        again, self.ends = self.ends[:room], self.ends[room:]
        blocks = [block for game, start, stop in self._parts for block in game.points(start, stop)]
        if self._checked is not None:
            blocks += [block for row in again for block in self._checked.points(row, row + 1)]
        if not blocks:
            return
        xp = self._backend.xp
        points = blocks[0] if len(blocks) == 1 else xp.concat(blocks, axis=0)
        del blocks
        scores = xp.astype(self._model.ask(points), self._backend.float_dtype)
        if self._backend.name == "numpy":
            self._model.require_finite(scores, points)
        position = 0
        for game, start, stop in self._parts:
            self._scores.append(scores[position : position + stop - start])
            position += stop - start
            if stop == game.n_rows:
                whole = self._scores[0] if len(self._scores) == 1 else xp.concat(self._scores)
                self._scores = []
                if game is self._checked:
                    ends = whole[: game.n_coalitions : game.n_coalitions - 1]
                    self._checked_scores = ends, xp.max(xp.abs(whole))
                yield game, xp.reshape(whole, (len(game.pairs), game.n_coalitions))
        self._parts, self.n_rows = [], 0
        if again:
            self._again.append(scores[position:])
            if not self.ends:
                first, largest, *now = to_host(*self._checked_scores, *self._again)
                require_repeatable(self._model, first, np.concatenate(now), largest)


def raise_not_finite(model: Model, game: Game, largest: float) -> None:
    """Ask for the rows of a game again, so that the model's own check names the one without a score.

    `largest` is the largest score by size. Where all are finite the differences of large ones are not.
    """
    for start in range(0, game.n_rows, FEWEST_ROWS):
        for points in game.points(start, min(start + FEWEST_ROWS, game.n_rows)):
            model.checked_scores(points)
    if largest > _LARGE:
        raise ModelError(
            f"{model.kind} returned scores up to {largest:.3g} in size, whose differences overflow; scale "
            "the scores down"
        )
    raise ModelError(f"{model.kind} returned scores that are not finite, and other ones when asked again")


def require_repeatable(model: Model, first: Any, last: Any, largest: Any) -> None:
    """Raise a `ModelError` when the model scored the same row differently the second time."""
    # Libraries round the same row differently in calls of other sizes.
    lost = np.isfinite(first) & ~np.isfinite(last)
    bad = np.flatnonzero(lost | (np.abs(first - last) > REPEATABLE * largest))
    if bad.size:
        raise ModelError(
            f"{model.kind} returned {first[bad[0]]} for a row and later {last[bad[0]]} for the same row: it "
            "keeps a state or draws at random, or scores a row by the other rows of a call; explain a model "
            "that answers a row the same each time"
        )
