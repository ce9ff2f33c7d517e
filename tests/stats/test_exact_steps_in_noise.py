"""Differences near a lattice whose noise has steps of its own have the p-value of counting both."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_oracles import two_sided_p_of_integers

from ranklens.stats.exact.noisy import NoisySteps, may_lie_near
from ranklens.stats.exact.p_value import ExactP, exact_p_value
from ranklens.stats.exact.peaks import Peaks
from ranklens.stats.exact.steps import commensurable_multiples


def assert_counted(integers: np.ndarray, result: ExactP) -> None:
    exact = two_sided_p_of_integers(integers.tolist())
    assert abs(Fraction(result.p_value) - exact) <= Fraction(result.p_error) + exact * Fraction(1, 2**51)
    assert result.p_error <= 1e-8 * result.p_value


def of_both(steps: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Put what subsets of the parts may differ by between two steps: sums keep their order."""
    return steps * (int(np.abs(parts).sum()) + 1) + parts


@pytest.mark.parametrize("fine", [1e-5, 1e-7, 1e-10])
@pytest.mark.parametrize("positive", [0.5, 0.8])
@pytest.mark.parametrize("n", [60, 130, 200])
def test_tenths_with_noise_of_few_values(n: int, positive: float, fine: float) -> None:
    rng = np.random.default_rng([n, int(10 * positive)])
    steps = rng.integers(1, 11, n) * np.where(rng.random(n) < positive, 1, -1)
    parts = rng.integers(-2, 3, n)
    assert_counted(of_both(steps, parts), exact_p_value((steps + parts * fine) * 0.1))


@pytest.mark.parametrize("step", [np.pi, 1 / 7, 1 / 2520, 0.25])
@pytest.mark.parametrize("most", [1, 10, 60])
def test_steps_of_any_size(step: float, most: int) -> None:
    rng = np.random.default_rng(most)
    steps = rng.integers(1, most + 1, 90) * rng.choice([-1, 1], 90)
    parts = rng.integers(0, 5, 90)
    assert_counted(of_both(steps, parts), exact_p_value((steps + parts * 1e-8) * step))


@pytest.mark.parametrize("slope", [-3, 1, 7])
def test_noise_that_goes_with_the_steps(slope: int) -> None:
    rng = np.random.default_rng(11)
    steps = rng.integers(1, 11, 120) * rng.choice([-1, 1], 120)
    parts = rng.integers(-1, 2, 120)
    deltas = (steps + (parts + slope * steps) * 1e-7) * 0.1
    assert_counted(of_both(steps, parts), exact_p_value(deltas))


def test_a_few_whole_steps_among_multiples_of_the_fine_one() -> None:
    rng = np.random.default_rng(5)
    steps = np.where(np.arange(120) < 20, rng.integers(1, 4, 120), 0) * rng.choice([-1, 1], 120)
    parts = rng.integers(1, 11, 120) * rng.choice([-1, 1], 120)
    assert_counted(of_both(steps, parts), exact_p_value((steps + parts * 1e-8) * 0.25))


def test_a_lattice_so_fine_that_the_whole_steps_return_late() -> None:
    rng = np.random.default_rng(8)
    steps = rng.integers(1, 61, 110) * rng.choice([-1, 1], 110)
    parts = rng.integers(-2, 3, 110)
    assert_counted(of_both(steps, parts), exact_p_value(steps + parts * 1e-4))


@pytest.mark.parametrize("positive", [0.5, 0.7])
def test_more_differences_are_inverted_on_every_node(positive: float) -> None:
    rng = np.random.default_rng(3)
    steps = rng.integers(1, 11, 240) * np.where(rng.random(240) < positive, 1, -1)
    parts = rng.integers(-3, 4, 240)
    found = exact_p_value((steps + parts * 1e-8) * 0.1)
    assert found.step == "tilted characteristic function"
    assert_counted(of_both(steps, parts), found)


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_both_sides_add_up(alternative: str) -> None:
    rng = np.random.default_rng(2)
    deltas = (rng.integers(-9, 11, 100) + rng.integers(-2, 3, 100) * 1e-8) * 0.1
    own = exact_p_value(deltas, alternative)
    mirrored = exact_p_value(-deltas, "less" if alternative == "greater" else "greater")
    assert own == mirrored


def test_a_ratio_at_the_very_edge_of_the_slack_ends_the_search() -> None:
    values = np.array([[799.8, 1399.7, 3000.0], [3000.0, 1500.0, 1000.0]])
    found, _ = commensurable_multiples(values, 1e-4 / 32.0, sure=0.1, believed=0.7)
    assert found.tolist() == [False, True]


@pytest.mark.parametrize("step", [0.1, np.pi, 1 / 7, 4 / 2520])
def test_the_widest_step_of_a_row_near_a_lattice_is_found(step: float) -> None:
    rng = np.random.default_rng(1)
    steps = np.sort(rng.integers(1, 21, 80)) + rng.normal(size=80) * 1e-10
    magnitudes = np.rint(steps * step * 2.0**50).astype(np.int64)[None]
    found = Peaks.of(magnitudes, np.array([80]), np.zeros(1, dtype=np.int64), 90.0)
    assert found.steps[0] == pytest.approx(1.0 / np.sqrt(np.sum(steps**2)), rel=1e-2)
    assert found.log_height[0] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("n", [41, 60, 300])
@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-5])
def test_what_a_few_differences_rule_out_no_closer_look_finds(n: int, noise: float) -> None:
    rng = np.random.default_rng(n)
    tenths = rng.integers(1, 11, (20, n)) * 10**14
    near = tenths + np.rint(noise * 1e15 * rng.normal(size=(20, n))).astype(np.int64)
    rows = np.sort(np.abs(np.concatenate([near, rng.integers(1, 10**15, (20, n))])), axis=1)
    rows[::3, : n // 4] = 0
    may = may_lie_near(rows, np.arange(40))
    assert may[:20].all()
    assert np.count_nonzero(may[20:]) <= 3
    for row in rows[~may]:
        assert not NoisySteps.near(row[row > 0])
