"""Exact p-values of differences of very different sizes, or near a lattice, are right within their errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from exact_oracles import pruned_two_sided_p, two_sided_p_of_integers

from ranklens.stats import compare_deltas, permutation_test
from ranklens.stats.exact.p_value import exact_p_value

N = 96
WEIGHTS = np.round(np.random.default_rng(0).pareto(0.7, N) * 20 + 1)
CLUSTERS = np.arange(N) % 60

Draw = Callable[[np.random.Generator, int], np.ndarray]


def signed(rng: np.random.Generator, magnitudes: np.ndarray, losing: float = 0.4) -> np.ndarray:
    return magnitudes * np.where(rng.random(len(magnitudes)) < losing, -1.0, 1.0)


def few_changed(rng: np.random.Generator, n: int, noise: float) -> np.ndarray:
    changed = rng.normal(size=int(rng.integers(2, 9))) * 0.2 + 0.1
    return np.concatenate([changed, rng.normal(size=n - len(changed)) * noise])


def near_steps(rng: np.random.Generator, n: int, steps: int, noise: float) -> np.ndarray:
    return signed(rng, rng.integers(1, steps + 1, n) / steps + rng.normal(size=n) * noise)


HOSTILE: dict[str, Draw] = {
    "Pareto of index 1/2": lambda rng, n: signed(rng, rng.pareto(0.5, n)),
    "Pareto of index 1": lambda rng, n: signed(rng, rng.pareto(1.0, n)),
    "Cauchy squared": lambda rng, n: signed(rng, rng.standard_cauchy(n) ** 2),
    "lognormal of 6": lambda rng, n: signed(rng, np.exp(rng.normal(size=n) * 6)),
    "lognormal of 3": lambda rng, n: signed(rng, np.exp(rng.normal(size=n) * 3)),
    "few changed, others rounded": lambda rng, n: few_changed(rng, n, 1e-7),
    "few changed, others slightly": lambda rng, n: few_changed(rng, n, 3e-3),
    "one broken": lambda rng, n: np.concatenate([[1.0], signed(rng, rng.random(n - 1) * 0.01)]),
    "near tenths": lambda rng, n: near_steps(rng, n, 10, 1e-9),
    "near tenths, roughly": lambda rng, n: near_steps(rng, n, 10, 1e-3),
    "near tenths, very roughly": lambda rng, n: near_steps(rng, n, 10, 1e-2),
    "near hundredths": lambda rng, n: near_steps(rng, n, 100, 1e-6),
    "tenths and others": lambda rng, n: np.concatenate([rng.normal(size=6), near_steps(rng, n - 6, 10, 0.0)]),
    "few values and noise": lambda rng, n: signed(
        rng, rng.choice(rng.random(5), n) + rng.normal(size=n) * 1e-9
    ),
    "traffic": lambda rng, n: np.round(rng.pareto(0.7, n) * 20 + 1) * (rng.normal(size=n) * 0.2 + 0.05),
    "normal": lambda rng, n: rng.normal(size=n) + 0.2,
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("n", [41])
def test_the_error_of_a_hostile_sample_covers_what_counting_says(kind: str, n: int) -> None:
    for seed in range(2):
        deltas = HOSTILE[kind](np.random.default_rng([n, seed]), n)
        found, right = exact_p_value(deltas), pruned_two_sided_p(deltas)
        assert abs(found.p_value - float(right)) <= found.p_error + 1e-14


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("n", [60, 300])
def test_more_differences_than_can_be_counted_agree_with_sampling(kind: str, n: int) -> None:
    deltas = HOSTILE[kind](np.random.default_rng([n, 7]), n)
    found = exact_p_value(deltas)
    sampled = permutation_test(deltas, n_permutations=100_000, seed=1)
    noise = 5.0 * np.sqrt(sampled * (1.0 - sampled) / 100_000) + 1e-4
    assert abs(found.p_value - sampled) <= found.p_error + noise


@pytest.mark.parametrize("design", [{}, {"weights": WEIGHTS}, {"clusters": CLUSTERS}])
def test_hostile_rows_of_a_batch_are_the_single_calls(design: dict[str, np.ndarray]) -> None:
    rows = np.stack([draw(np.random.default_rng(3), N) for draw in HOSTILE.values()])
    table = compare_deltas(rows, method="auto", seed=5, correction=None, **design)
    single = [permutation_test(row, method="auto", seed=5, **design) for row in rows]
    assert table.p_value.tolist() == single
    certain = (table.p_error <= 0.01 * table.p_value) | (table.p_error <= 1e-6)
    assert all(certain | (table.method == "monte-carlo"))


def test_a_lattice_of_any_step_has_its_p_in_a_batch_too() -> None:
    whole = np.rint((np.random.default_rng(4).normal(size=(1, 50)) + 0.25) * 75)
    steps = np.array([1e-5, 1e-6, 1 / 7000, np.pi / 7919, np.float64(np.float32(0.1))])[:, None]
    table = compare_deltas(whole * steps, method="exact", correction=None)
    assert len(set(table.p_value.tolist())) == 1
    right = float(two_sided_p_of_integers(whole[0].astype(int).tolist()))
    assert table.p_value[0] == pytest.approx(right, rel=1e-13)
