"""Intervals of sampled contributions hold the truth about as often as they say, whatever the game."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtrit

from ranklens.explain import CallableAdapter, leverage, pairwise

Floats = np.ndarray
Game = tuple[Callable[[Floats], Floats], Floats]

K = 30
N_GAMES = 200
GAMES_A_SAMPLE = 10


def conjunctions(seed: int, k: int = K) -> Game:
    """As the leaves of a few trees: rewards for a few features of B where others are still of A.

    A reward w for p features of B and q of A is worth w (p - 1)! q! / (p + q)! to each of the first, and
    -w p! (q - 1)! / (p + q)! to each of the others.
    """
    rng = np.random.default_rng(seed)
    often = 1.0 / np.arange(1, k + 1)
    leaves, truth = [], np.zeros(k)
    for _ in range(60):
        chosen = rng.choice(k, size=rng.integers(1, 6), replace=False, p=often / often.sum())
        p = int(rng.integers(0, len(chosen) + 1))
        w, q = float(rng.normal()), len(chosen) - p
        leaves.append((w, chosen[:p], chosen[p:]))
        paths = math.factorial(p + q)
        if p:
            truth[chosen[:p]] += w * math.factorial(p - 1) * math.factorial(q) / paths
        if q:
            truth[chosen[p:]] -= w * math.factorial(p) * math.factorial(q - 1) / paths

    def score(x: Floats) -> Floats:
        return sum(w * x[:, of_b].prod(axis=1) * (1 - x[:, of_a]).prod(axis=1) for w, of_b, of_a in leaves)

    return score, truth


def cubes(seed: int, k: int = K) -> Game:
    """Every three features interact: (Σ w x)³ + Σ u x, whose contributions follow from moments.

    With E over orders of the coalition before player i: E[(S + w)³ - S³], S the sum of the w before.
    """
    rng = np.random.default_rng(seed)
    w, u = rng.normal(size=(2, k)) / np.sqrt(k)
    truth = np.empty(k)
    for i in range(k):
        others = np.delete(w, i)
        # A player comes before i with probability 1/2, two of them with 1/3.
        first, both = others.sum(), np.sum(others**2)
        square = both / 2 + (first**2 - both) / 3
        truth[i] = w[i] ** 3 + 3 * w[i] ** 2 * first / 2 + 3 * w[i] * square + u[i]
    return lambda x: (x @ w) ** 3 + x @ u, truth


GAMES = {"sparse": conjunctions, "dense": cubes}


def covered(games: Callable[[int, int], Game], k: int = K, **options: Any) -> tuple[float, int]:
    """Return the share of 95 % intervals that hold the truth, over features that have an effect."""
    held: list[bool] = []
    for number in range(N_GAMES):
        score, truth = games(number, k)
        model = CallableAdapter(score, [f"x{i}" for i in range(k)])
        found = pairwise(model, [0] * k, [1] * k, seed=number // GAMES_A_SAMPLE, **options)
        assert found.standard_errors is not None
        assert found.degrees_of_freedom is not None
        reach = stdtrit(found.degrees_of_freedom, 0.975) * np.asarray([*found.standard_errors.values()])
        error = np.abs(np.asarray([*found.contributions.values()]) - truth)
        held += (error <= reach + 1e-12)[truth != 0.0].tolist()
    return float(np.mean(held)), len(held)


def assert_as_often_as_said(share: float, n: int) -> None:
    assert n >= 1000
    assert 0.92 <= share <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("rows_a_player", [5, 8, 16, 32, 64])
def test_intervals_of_regressions_cover(game: str, rows_a_player: int) -> None:
    assert_as_often_as_said(*covered(GAMES[game], method="regression", max_rows=rows_a_player * K + 3))


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(("k", "max_rows"), [(13, 4096), (14, 4096), (13, 7000)])
def test_intervals_cover_where_a_large_share_of_all_coalitions_is_drawn(
    game: str, k: int, max_rows: int
) -> None:
    assert_as_often_as_said(*covered(GAMES[game], k, max_rows=max_rows))


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_intervals_cover_where_interactions_are_fitted_to_a_part(
    game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leverage, "SEEN", 160)
    leverage.sample_coalitions.cache_clear()
    try:
        assert_as_often_as_said(*covered(GAMES[game], method="regression", max_rows=16 * K + 3))
    finally:
        leverage.sample_coalitions.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(("method", "together"), [("antithetic", 2), ("orders", 1)])
@pytest.mark.parametrize("n_samples", [2, 3, 5, 10, 30])
def test_intervals_of_orders_cover(game: str, method: str, together: int, n_samples: int) -> None:
    assert_as_often_as_said(*covered(GAMES[game], method=method, n_permutations=together * n_samples))


@pytest.mark.slow
def test_the_games_have_the_stated_contributions() -> None:
    for games in GAMES.values():
        score, truth = games(0)
        model = CallableAdapter(score, [f"x{i}" for i in range(K)])
        found = pairwise(model, [0] * K, [1] * K, method="orders", n_permutations=20_000)
        assert found.standard_errors is not None
        error = np.abs(np.asarray([*found.contributions.values()]) - truth)
        assert np.all(error <= 5 * np.asarray([*found.standard_errors.values()]) + 1e-12)
