"""Explain aligned rows: sort the pairs into games, ask the model, and bring the answers to the host once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, rows_within, to_host
from ranklens.core.explanations import PairwiseExplanations
from ranklens.explain.asking import call_size, game_values, raise_not_finite, require_repeatable
from ranklens.explain.games import ExactGame, Game, Pairs, SampledGame, game_of
from ranklens.explain.method import Budget, Choice
from ranklens.explain.models.base import Model
from ranklens.explain.players import Players
from ranklens.explain.rows import Rows, differing
from ranklens.kernels.shapley import WIDEST_PRODUCT

Floats = NDArray[np.float64]


def explain_rows(
    model: Model,
    backend: Backend,
    a: Rows,
    b: Rows,
    players: Players,
    *,
    budget: Budget,
    batch_rows: int | None,
    seed: int,
) -> PairwiseExplanations:
    """Explain row i of `b` against row i of `a`, both of shape (n, features) and one floating type."""
    setup = Setup(model, backend, a, b, players, differing(a, b))
    answer = Answer.empty(len(a), len(players.labels))
    with backend.precise():
        games = setup.games(budget, seed, programs=batch_rows is None)
        answer.fill(setup, setup.solved(games, batch_rows, budget))
    return PairwiseExplanations(
        names=players.labels,
        feature_names=model.names,
        contributions=answer.contributions,
        scores=answer.scores,
        values_a=a,
        values_b=b,
        standard_errors=answer.errors,
        n_model_rows=answer.n_rows,
        degrees_of_freedom=answer.freedom,
        methods=answer.methods,
        seed=seed,
    )


class Setup(NamedTuple):
    """What a call is about, on the host."""

    model: Model
    backend: Backend
    a: Rows
    b: Rows
    players: Players
    differs: NDArray[np.bool_]

    def games(self, budget: Budget, seed: int, *, programs: bool) -> Iterator[Game]:
        """Yield games that together hold all pairs, each as large as the memory budget allows.

        With `programs` those that fit the model's own program have arrays of the sizes that this wants.
        """
        plays = self.playing()
        n_players = plays.sum(axis=1)
        for k in np.unique(n_players).tolist():
            choice = budget.choose(k)
            index = np.flatnonzero(n_players == k)
            # Scores, their differences, and as much again for what follows from them.
            step = rows_within(48 * choice.n_rows(k), len(index), share=0.5)
            game: Game | None = None
            for start in range(0, len(index), step):
                some = index[start : start + step]
                spare = self.model.spare_pairs(len(some)) if programs and fits_program(choice, k) else 0
                pairs = self.pairs(some, plays, k, choice, spare)
                game = game.on(pairs) if game else game_of(pairs, choice, self.backend, seed)
                yield game

    def solved(
        self, games: Iterator[Game], batch_rows: int | None, budget: Budget
    ) -> Iterator[tuple[Game, Sequence[Any]]]:
        """Yield each game with what `on_device` finds out; in the model's own program where it has one."""
        done: list[tuple[Game, Sequence[Any]]] = []

        def asked() -> Iterator[Game]:
            for game in games:
                fits = batch_rows is None and fits_program(game.choice, game.pairs.k)
                table = in_program(self.model, game) if fits else None
                if table is None:
                    yield game
                else:
                    done.append((game, [table]))

        size = batch_rows or call_size(self.a.shape[1])
        for game, values in game_values(self.model, self.backend, asked(), size, budget):
            yield game, on_device(game, values, self.backend.xp)
        yield from done

    def playing(self) -> NDArray[np.bool_]:
        """Say which players differ, shape (pairs, players)."""
        if len(self.players.labels) == self.differs.shape[1]:
            return self.differs
        plays = np.zeros((len(self.differs), len(self.players.labels)), dtype=np.bool_)
        for feature, player in enumerate(self.players.of_feature.tolist()):
            plays[:, player] |= self.differs[:, feature]
        return plays

    def pairs(
        self, index: NDArray[np.int64], plays: NDArray[np.bool_], k: int, choice: Choice, spare: int = 0
    ) -> Pairs:
        """Put some pairs on the device, with `spare` copies of the last one behind them."""
        own = plays[index]
        slot_of_player = np.where(own, np.cumsum(own, axis=1) - 1, k)
        slot = np.where(self.differs[index], slot_of_player[:, self.players.of_feature], k)
        a, b = self.a[index], self.b[index]
        turned = self.turned(index)[:, None] if choice.method != "exact" else None
        if turned is not None:
            a, b = np.where(turned, b, a), np.where(turned, a, b)
        to_device, xp = self.backend.asarray, self.backend.xp
        kind = self.model.dtype or getattr(xp, a.dtype.name)
        players = np.nonzero(own)[1].reshape(len(index), k)
        # Padded on the host: on the device each number of pairs would be compiled for.
        a, b, slot = (
            np.pad(rows, ((0, spare), (0, 0)), mode="edge") if spare else rows for rows in (a, b, slot)
        )
        return Pairs(
            index,
            players,
            to_device(a, dtype=kind),
            to_device(b, dtype=kind),
            to_device(slot, dtype=xp.int32),
        )

    def turned(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which pairs are sampled from B to A, so that (B, A) gives exactly minus what (A, B) does."""
        first = np.argmax(self.differs[index], axis=1)
        a, b = self.a[index, first], self.b[index, first]
        found: NDArray[np.bool_] = (a > b) | np.isnan(a)
        return found


class Answer(NamedTuple):
    """What is found out about each pair, on the host; features that do not differ stay zero."""

    contributions: Floats
    errors: Floats
    scores: tuple[Floats, Floats]
    n_rows: NDArray[np.int64]
    freedom: NDArray[np.int64]
    methods: list[str]

    @classmethod
    def empty(cls, n: int, n_players: int) -> Answer:
        """Return the answer before anything is known."""
        zeros, counts = np.zeros((2, n, n_players)), np.zeros((2, n), dtype=np.int64)
        return cls(zeros[0], zeros[1], (np.zeros(n), np.zeros(n)), counts[0], counts[1], ["exact"] * n)

    def fill(self, setup: Setup, solved: Iterator[tuple[Game, Sequence[Any]]]) -> None:
        """Bring what was found out about the games to the host, all at the end."""
        games, arrays = [], []
        for game, found in solved:
            games.append(game)
            arrays.append(found)
        host = iter(to_host(*(array for found in arrays for array in found)) if arrays else ())
        for game, found in zip(games, arrays, strict=True):
            brought = [next(host) for _ in found]
            self.take(setup, game, *(from_table(brought[0], game) if len(found) == 1 else brought))

    def take(self, setup: Setup, game: Game, found: Any, errors: Any, *rest: Any) -> None:
        """Take over what was found out about one game."""
        score_a, score_b, again, largest = rest
        index, where = game.pairs.index, (game.pairs.index[:, None], game.pairs.players)
        if not (np.isfinite(largest).all() and np.isfinite(found).all()):
            raise_not_finite(setup.model, game, float(largest.max()))
        require_repeatable(setup.model, score_a, again, largest)
        turned = np.zeros(len(index), dtype=np.bool_)
        if not isinstance(game, ExactGame):
            turned = setup.turned(index)
        self.contributions[where] = np.where(turned[:, None], -found, found) + 0.0
        self.errors[where] = errors
        self.scores[0][index] = np.where(turned, score_b, score_a)
        self.scores[1][index] = np.where(turned, score_a, score_b)
        self.n_rows[index] = game.n_coalitions
        self.n_rows[index[:1]] += game.n_again
        self.freedom[index] = game.freedom
        for i in index.tolist():
            self.methods[i] = game.choice.method


def on_device(game: Game, values: Any, xp: Any) -> Sequence[Any]:
    """Return contributions, errors, both scores, the score of A once more, and the largest score."""
    # What overflows is told when all is on the host.
    with np.errstate(over="ignore", invalid="ignore"):
        found = game.solve(values)
    errors = found.errors if found.errors is not None else xp.zeros_like(found.contributions)
    again = found.score_a if isinstance(game, ExactGame) else values[:, -1]
    # Sums are new arrays; views would keep all scores alive.
    ends = (found.score_a + 0.0, found.score_b + 0.0, again + 0.0)
    return found.contributions, errors, *ends, xp.max(xp.abs(values), axis=1)


def fits_program(choice: Choice, k: int) -> bool:
    """Whether the model's own program, if it has one, can explain pairs of `k` players."""
    return 1 <= k <= WIDEST_PRODUCT if choice.method == "exact" else True


def in_program(model: Model, game: Game) -> Any:
    """Return the table that a model's own program makes, or None where it has none."""
    if isinstance(game, SampledGame):
        return model.sampled(game)
    return model.exact(game.pairs)


def from_table(table: Any, game: Game) -> Sequence[Any]:
    """Return what `on_device` does, from the rows and columns of a model's own program."""
    found, k = table[: len(game.pairs)], game.pairs.k
    if isinstance(game, SampledGame):
        ends = found.shape[1] - 4
        errors = found[:, ends // 2 : ends // 2 + k]
        return found[:, :k], errors if game.freedom else 0 * errors, *found[:, ends:].T
    score_a, score_b, largest = (found[:, WIDEST_PRODUCT + column] for column in range(3))
    return found[:, :k], np.zeros((len(found), k)), score_a, score_b, score_a, largest
