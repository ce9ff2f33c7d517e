"""Differences near a lattice, however many: the bound of an exact p-value covers what a sample shows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklens.stats import permutation_test
from ranklens.stats.exact.p_value import exact_p_value
from ranklens.stats.exact.trust import uncertain

FLIPS = 100_000


def near_halves(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return np.asarray(0.5 * rng.integers(1, 3, n) * rng.choice([-1, 1], n) + rng.normal(size=n) * 1e-9)


def near_integers(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return np.asarray(rng.integers(1, 6, n) * rng.choice([-1, 1], n) + rng.normal(size=n) * 1e-5)


def half_of_them_noise(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    deltas = rng.normal(size=n) * 1e-9
    deltas[: n // 2] = 0.5 * rng.integers(1, 3, n // 2) * rng.choice([-1, 1], n // 2)
    return np.asarray(deltas)


def a_few_giants(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    deltas = rng.normal(size=n) * 1e-4
    deltas[:5] = rng.choice([0.5, 1.0], 5) * rng.choice([-1, 1], 5)
    return np.asarray(deltas)


@pytest.mark.parametrize("n", [60, 97, 120, 250])
@pytest.mark.parametrize("draw", [near_halves, near_integers, half_of_them_noise, a_few_giants])
def test_the_exact_p_value_agrees_with_a_large_sample_of_flips(draw, n):
    for seed in range(3):
        deltas = draw(np.random.default_rng([seed, n]), n)
        found = exact_p_value(deltas)
        if uncertain(np.array([found.p_value]), np.array([found.p_error]))[0]:
            continue
        sampled = permutation_test(deltas, n_permutations=FLIPS, seed=seed)
        noise = 5.0 * math.sqrt(max(found.p_value * (1.0 - found.p_value), 1e-5) / FLIPS)
        assert abs(found.p_value - sampled) <= noise + found.p_error + 1.0 / FLIPS


def test_few_of_them_are_refused():
    certain = 0
    for draw in (near_halves, near_integers, half_of_them_noise, a_few_giants):
        for seed in range(5):
            found = exact_p_value(draw(np.random.default_rng([seed, 120]), 120))
            certain += not uncertain(np.array([found.p_value]), np.array([found.p_error]))[0]
    assert certain >= 18
