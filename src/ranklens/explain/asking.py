"""Ask a model for the scores of many games in as few calls as possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ranklens.arrays import Backend, rows_within, to_host
from ranklens.core import ModelError
from ranklens.explain.games import ExactGame, Game
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
    model: Model, backend: Backend, games: Iterable[Game], batch_rows: int, max_rows: int = FEWEST_ROWS
) -> Iterator[tuple[Game, Array]]:
    """Yield each game with the scores of its rows, shape (pairs, n_coalitions), in calls of `batch_rows`.

    Calls are filled across games, so that there are ceil(rows / batch_rows) of them. Where the last one has
    room, it asks once more for A and B of the first pair whose budget of `max_rows` has room as well, to find
    out a model that draws at random or keeps a state. Games that sample ask for A again by themselves.
    """
    waiting = _Waiting(model, backend, max(FEWEST_ROWS, max_rows))
    for game in games:
        start = 0
        while start < game.n_rows:
            stop = min(game.n_rows, start + batch_rows - waiting.n_rows)
            waiting.add(game, start, stop)
            start = stop
            if waiting.n_rows == batch_rows:
                yield from waiting.ask()
    yield from waiting.ask(room=batch_rows - waiting.n_rows)


class _Waiting:
    """Rows that wait for the next call, and the scores of games that are not complete yet."""

    def __init__(self, model: Model, backend: Backend, max_rows: int) -> None:
        self._model = model
        self._backend = backend
        self._max_rows = max_rows
        self._parts: list[tuple[Game, int, int]] = []
        self._scores: list[Array] = []
        self._checked: Game | None = None
        self._ends: Array = None
        self.n_rows = 0

    def add(self, game: Game, start: int, stop: int) -> None:
        self._parts.append((game, start, stop))
        self.n_rows += stop - start
        if self._checked is None and isinstance(game, ExactGame) and not self._model.pure:
            self._checked = game if 1 < game.n_coalitions <= self._max_rows - 2 else None

    def ask(self, *, room: int = 0) -> Iterator[tuple[Game, Array]]:
        """Score the rows that wait, and yield the games that are complete now.

        Up to `room` rows may be scored once more.
        """
        if not self._parts:
            return
        xp = self._backend.xp
        blocks = [block for game, start, stop in self._parts for block in game.points(start, stop)]
        again = list(self._again(room))
        blocks.extend(again)
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
                    self._ends = whole[: game.n_coalitions : game.n_coalitions - 1]
                yield game, xp.reshape(whole, (len(game.pairs), game.n_coalitions))
        self._parts, self.n_rows = [], 0
        if again:
            largest = self._backend.xp.max(self._backend.xp.abs(scores))
            before, now, largest = to_host(self._ends[: len(again)], scores[position:], largest)
            require_repeatable(self._model, before, now, largest)

    def _again(self, room: int) -> Iterator[Array]:
        """Yield A and B of the pair that is checked, as far as there is room."""
        if self._checked is not None:
            last = self._checked.n_coalitions - 1
            for row in (0, last)[:room]:
                yield from self._checked.points(row, row + 1)


def raise_not_finite(model: Model, game: Game, largest: float) -> None:
    """Ask for the rows of a game again, so that the model's own check names the one without a score.

    `largest` is the largest score by size. Where all are finite the differences of large ones are not.
    """
    for start in range(0, game.n_rows, FEWEST_ROWS):
        for points in game.points(start, min(start + FEWEST_ROWS, game.n_rows)):
            model.score(points)
    if largest > _LARGE:
        raise ModelError(
            f"{model.kind} returned scores up to {largest:.3g} in size, whose differences overflow; scale "
            "the scores down"
        )
    raise ModelError(f"{model.kind} returned scores that are not finite, and other ones when asked again")


def require_repeatable(model: Model, first: Any, last: Any, largest: Any) -> None:
    """Raise a `ModelError` when the model scored the same row differently the second time."""
    # Libraries round the same row differently in calls of other sizes.
    bad = np.flatnonzero(np.abs(first - last) > REPEATABLE * largest)
    if bad.size:
        raise ModelError(
            f"{model.kind} returned {first[bad[0]]} for a row and later {last[bad[0]]} for the same row: it "
            "keeps a state or draws at random, or scores a row by the other rows of a call; explain a model "
            "that answers a row the same each time"
        )
