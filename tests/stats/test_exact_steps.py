"""Every step of the ladder keeps the error that it reports, whatever the sample."""

from __future__ import annotations

import json
import math
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exact_oracles import two_sided_p_of_integers

from ranklens.arrays import Backend, memory_budget, open_backend
from ranklens.stats.exact.counting import lattice_convolution
from ranklens.stats.exact.far import tilted_inversions
from ranklens.stats.exact.inversion import plain_inversion
from ranklens.stats.exact.listing import subset_count
from ranklens.stats.exact.meeting import meeting_counts
from ranklens.stats.exact.near import plain_inversions
from ranklens.stats.exact.p_value import exact_p_value
from ranklens.stats.exact.signed import SignedRows, by_width
from ranklens.stats.exact.steps import commensurable_multiples, known_multiples
from ranklens.stats.exact.tail import FlipTail, FlipTails, Mass
from ranklens.stats.exact.tilt import TiltedSpectrum, tilted_inversion
from ranklens.stats.rows.jobs import together

EPS = 2.0**-52
NUMPY = open_backend("numpy")
PRIME = 7919


FIRST = np.zeros(1, dtype=np.int64)


def tails_of(deltas: np.ndarray) -> FlipTails:
    ((_, values),) = by_width(deltas[None, :])
    return FlipTails.of(SignedRows.of(values, EPS), np.zeros(1, dtype=bool))


def tail_of(deltas: np.ndarray) -> FlipTail:
    return tails_of(deltas).row(0)


def meet_in_the_middle(deltas: np.ndarray) -> Mass:
    (ways,) = together([meeting_counts(tails_of(deltas), FIRST, NUMPY)])
    return Mass(float(ways[0]), int(np.count_nonzero(deltas)), 0.0, "meet in the middle")


def batched(inversions: Any, deltas: np.ndarray) -> Mass:
    (found,) = together([inversions(tails_of(deltas), FIRST, NUMPY)])
    scale = math.exp(found.log_scale[0])
    return Mass(scale * found.mass[0], 0, scale * found.error[0], "batched")


def chance(mass: Mass) -> Fraction:
    return Fraction(mass.ways) / Fraction(2) ** mass.exponent


def error_of(mass: Mass) -> Fraction:
    return Fraction(mass.error) / Fraction(2) ** mass.exponent


def drifting(rng: np.random.Generator, magnitudes: np.ndarray, drift: float) -> np.ndarray:
    """Give large magnitudes a positive sign more often than small ones."""
    positive = rng.random(magnitudes.shape[0]) < 1 / (1 + np.exp(-2 * drift * magnitudes / magnitudes.mean()))
    return np.where(positive, magnitudes, -magnitudes)


def irregular(rng: np.random.Generator, kind: str, n: int, scale: int) -> np.ndarray:
    """Draw positive whole numbers without a common factor of note, all different or from a small stock."""
    if kind == "skewed":
        return np.rint(np.exp(rng.normal(0, 1.2, n)) * scale).astype(np.int64) + 1
    drawn = np.rint(np.abs(rng.normal(size=n)) * 5 * scale).astype(np.int64) + 1
    return drawn if kind == "different" else rng.choice(drawn[: int(kind)], n)


@pytest.mark.parametrize("drift", [0.0, 0.5, 1.5])
@pytest.mark.parametrize("kind", ["different", "skewed", "12", "20", "40"])
@pytest.mark.parametrize(("n", "scale"), [(30, 60), (53, 60), (60, 2000), (100, 2000), (200, 60)])
def test_an_unheard_of_lattice_is_found_and_keeps_its_error(
    n: int, scale: int, kind: str, drift: float
) -> None:
    rng = np.random.default_rng([n, scale, len(kind), int(10 * drift)])
    integers = drifting(rng, irregular(rng, kind, n, scale), drift)
    exact = two_sided_p_of_integers(integers.tolist())
    result = exact_p_value(integers / PRIME)
    assert abs(Fraction(result.p_value) - exact) <= Fraction(result.p_error) + exact * Fraction(1, 2**51)
    assert result.p_error <= 1e-4 * max(1e-2, result.p_value)


@pytest.mark.parametrize("drift", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("n", [30, 60, 200])
def test_all_steps_agree_on_a_lattice(n: int, drift: float) -> None:
    rng = np.random.default_rng([n, int(10 * drift)])
    integers = drifting(rng, irregular(rng, "different", n, 4), drift)
    exact = two_sided_p_of_integers(integers.tolist()) / 2
    tail = tail_of(integers / 10.0)
    masses = (lattice_convolution(tail), plain_inversion(tail, NUMPY), tilted_inversion(tail, NUMPY))
    for mass in masses:
        assert abs(chance(mass) - exact) <= error_of(mass) + exact * Fraction(1, 2**52), mass.step
        assert error_of(mass) <= Fraction(1, 10**12), mass.step
    assert math.exp(TiltedSpectrum.of(tail).log_tail(tail.n)) == pytest.approx(float(exact), rel=0.9)


def test_the_tilted_inversion_is_good_to_thirteen_digits_on_a_lattice() -> None:
    rng = np.random.default_rng(30)
    for drift in (0.7, 1.0, 1.6):
        integers = drifting(rng, irregular(rng, "different", 300, 2), drift)
        exact = two_sided_p_of_integers(integers.tolist()) / 2
        assert exact < Fraction(1, 10**20)
        mass = tilted_inversion(tail_of(integers.astype(float)), NUMPY)
        assert abs(chance(mass) / exact - 1) < Fraction(1, 10**13)


@pytest.mark.parametrize(("n", "mean", "decades"), [(220, 0.9, 30), (700, 1.1, 100)])
def test_a_continuous_law_far_out_agrees_with_long_integers(n: int, mean: float, decades: int) -> None:
    """The step is so fine that the nodes stop long before its period."""
    rng = np.random.default_rng(n)
    integers = np.rint(rng.normal(mean, 1, n) * 300).astype(np.int64)
    exact = two_sided_p_of_integers(integers.tolist()) / 2
    mass = tilted_inversion(tail_of(integers / PRIME), NUMPY)
    assert exact < Fraction(1, 10**decades)
    assert mass.error > 0
    assert abs(chance(mass) - exact) <= error_of(mass)
    assert error_of(mass) <= exact * Fraction(1, 10**6)


@pytest.mark.parametrize("n", [38, 40])
@pytest.mark.parametrize("drift", [0.0, 0.3, 0.6])
def test_inversions_of_real_values_agree_with_meeting_in_the_middle(n: int, drift: float) -> None:
    rng = np.random.default_rng([n, int(10 * drift)])
    deltas = drifting(rng, rng.gamma(1.5, size=n), drift)
    tail, exact = tail_of(deltas), chance(meet_in_the_middle(deltas))
    for inverted in (plain_inversion(tail, NUMPY), batched(plain_inversions, deltas)):
        assert abs(chance(inverted) - exact) <= error_of(inverted) < Fraction(1, 10**4)
    if exact < Fraction(1, 10**6):
        for tilted in (tilted_inversion(tail, NUMPY), batched(tilted_inversions, deltas)):
            assert abs(chance(tilted) - exact) <= error_of(tilted)


@pytest.mark.parametrize("drift", [0.8, 1.2])
def test_listing_subsets_agrees_with_meeting_in_the_middle(drift: float) -> None:
    rng = np.random.default_rng(int(10 * drift))
    deltas = drifting(rng, rng.gamma(2.0, size=36), drift)
    counted = subset_count(tail_of(deltas), 1 << 18)
    assert counted is not None
    assert counted.ways == meet_in_the_middle(deltas).ways


def test_the_memory_budget_bounds_the_listing_of_sums() -> None:
    deltas = np.random.default_rng(5).normal(0.2, 1, 38)
    free = meet_in_the_middle(deltas)
    tracemalloc.start()
    with memory_budget(4_000_000):
        bounded = meet_in_the_middle(deltas)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bounded == free
    assert peak < 4_000_000


def test_listing_gives_up_when_there_are_too_many_subsets() -> None:
    deltas = np.random.default_rng(0).normal(size=60)
    assert subset_count(tail_of(deltas), 1 << 10) is None


def test_few_distinct_irrational_values_are_counted_by_multiplicity() -> None:
    rng = np.random.default_rng(4)
    integers = rng.choice([1, 1000, 1001], 120, p=[0.4, 0.3, 0.3]) * rng.choice([1, 1, -1], 120)
    exact = two_sided_p_of_integers(integers.tolist())
    # 2 + √2/1000 : 2 : √2/1000 have no common step, but subsets of them sum as these whole numbers do.
    deltas = np.sign(integers) * (
        np.abs(integers) // 1000 * 2.0 + np.abs(integers) % 1000 * math.sqrt(2) / 1000
    )
    result = exact_p_value(deltas)
    assert result.step == "subset count"
    assert abs(Fraction(result.p_value) - exact) <= Fraction(result.p_error) + exact * Fraction(1, 2**52)
    assert result.p_error <= 1e-9 * result.p_value


def test_real_differences_of_fifty_topics_have_small_errors(data_dir: Path) -> None:
    stored = json.loads((data_dir / "dl21-passage" / "expected.json").read_text("utf-8"))
    column = stored["columns"].index("nDCG@10")
    runs = [[row[column] for row in run["per_query"].values()] for run in stored["runs"].values()]
    values = np.array(runs)
    for other in range(1, 32, 3):
        deltas = values[other] - values[0]
        result = exact_p_value(deltas)
        assert exact_p_value(-deltas) == result
        assert result.p_error <= 2e-6
        if np.count_nonzero(deltas) <= 44:
            assert result.p_error == 0


@pytest.mark.parametrize("name", ["jax", "torch", "array_api_strict"])
@pytest.mark.parametrize("n", [20, 53, 600])
def test_every_backend_gives_the_same_p(name: str, n: int) -> None:
    pytest.importorskip(name)
    rng = np.random.default_rng(n)
    backend = open_backend(name)
    for deltas in (rng.normal(0.2, 1, n), rng.normal(1.5, 1, n), rng.integers(-8, 11, n) / 10):
        expected = exact_p_value(deltas)
        with backend.precise():
            there = backend.asarray(deltas)
            result = exact_p_value(there)
        assert result.step == expected.step
        assert abs(result.p_value - expected.p_value) <= expected.p_error + 1e-12 * expected.p_value
        assert result.log10_p == pytest.approx(expected.log10_p, rel=1e-9, abs=1e-12)
        if expected.p_error == 0:
            assert result == expected


def test_arrays_stay_on_their_device(backend: Backend) -> None:
    deltas = backend.asarray(np.array([0.5, 0.25, -0.125, 0.7, 0.3]))
    assert exact_p_value(deltas, "greater").p_value == 2 / 32


def test_steps_that_measures_have_are_known() -> None:
    tenths = np.array([0.3, -0.7, 0.1])
    assert known_multiples(tenths, EPS).tolist() == [3, -7, 1]
    assert known_multiples(tenths * 2.0**-600, EPS) is not None
    assert known_multiples(np.array([0.3, math.sqrt(2)]), EPS) is None


def test_any_common_step_is_found_and_none_is_invented() -> None:
    rng = np.random.default_rng(1)
    integers = rng.integers(-5000, 5001, (3, 60))
    found, multiples = commensurable_multiples(integers * 0.0123, EPS)
    assert found.all()
    largest = np.abs(integers).max(axis=1, keepdims=True)
    assert np.array_equal(multiples * largest, integers * np.abs(multiples).max(axis=1, keepdims=True))
    five_decimals = np.round(rng.random((2, 53)), 5) - np.round(rng.random((2, 53)), 5)
    assert commensurable_multiples(five_decimals, EPS)[0].all()
    assert not commensurable_multiples(rng.normal(size=(200, 24)), EPS)[0].any()
