"""Exact p-values where differences have few digits, steps in their noise, or a few giants among them."""

from __future__ import annotations

import numpy as np
import pytest
from exact_oracles import two_sided_p_by_fitting_subsets
from numpy.typing import NDArray

from ranklens.stats import permutation_test
from ranklens.stats.exact.p_value import exact_p_value

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@pytest.mark.parametrize("seed", range(10))
def test_differences_of_float32_scores_keep_all_their_digits(seed: int) -> None:
    b, a = np.random.default_rng(seed).random((2, 22), dtype=np.float32).astype(np.float64)
    assert permutation_test(b - a, method="exact") == float(two_sided_p_by_fitting_subsets(b - a))


def p_of_steps_and_noise(steps: Counts, noise: Counts) -> float:
    """Add up the chances of all sums of steps, and of noise that decides among equal ones."""
    reach, noise_reach = int(np.abs(steps).sum()), int(np.abs(noise).sum())
    law = np.zeros((2 * reach + 1, 2 * noise_reach + 1))
    law[reach, noise_reach] = 1.0
    for k, e in zip(steps.tolist(), noise.tolist(), strict=True):
        law = 0.5 * (np.roll(law, (k, e), (0, 1)) + np.roll(law, (-k, -e), (0, 1)))
    observed = (int(steps.sum()), int(noise.sum()))
    observed = max(observed, (-observed[0], -observed[1]))
    beyond = float(law[reach + observed[0] + 1 :].sum())
    beyond += float(law[reach + observed[0], noise_reach + observed[1] :].sum())
    return min(2.0 * beyond, 1.0)


@pytest.mark.parametrize("unit", [1e-6, 1e-9])
@pytest.mark.parametrize("n", [90, 130, 200])
def test_steps_in_the_noise_of_differences_near_a_lattice_are_bounded(n: int, unit: float) -> None:
    for seed in range(3):
        rng = np.random.default_rng([seed, n])
        steps, noise = rng.integers(-10, 11, n), rng.integers(-2, 3, n)
        found = exact_p_value(steps / 10 + noise * unit)
        assert abs(found.p_value - p_of_steps_and_noise(steps, noise)) <= found.p_error + 1e-12


def test_a_few_large_differences_let_no_others_tie() -> None:
    # Noise beyond the band of ties, which is far below 32 eps of the largest.
    for seed in range(8):
        rng = np.random.default_rng(seed)
        steps, noise = rng.integers(-3, 5, 30), np.where(rng.random(30) < 0.15, rng.choice([-1, 1], 30), 0)
        steps[:2] *= 60
        found = exact_p_value(steps / 10 + noise * 1e-13)
        assert found.p_value == pytest.approx(p_of_steps_and_noise(steps, noise), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_deep_tail_that_needs_every_giant_is_that_of_the_rest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    deltas = np.abs(rng.normal(0.0, 8.0, 700))
    deltas[:17] *= -1.0
    giants = [160.0, 976.0, 1903.0]
    assert deltas.sum() + 2.0 * giants[0] > np.abs(deltas).sum() > deltas.sum()
    alone, found = exact_p_value(deltas), exact_p_value(np.concatenate([deltas, giants]))
    assert abs(found.p_value - alone.p_value / 8.0) <= found.p_error + alone.p_error
    assert found.p_error <= 1e-6 * found.p_value
