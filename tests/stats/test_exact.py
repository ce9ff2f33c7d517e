"""The exact sign-flip p-value: cases that are right by enumeration, ties, symmetries, extremes."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from exact_oracles import (
    enumerated_p,
    enumerated_p_of_floats,
    pruned_two_sided_p,
    two_sided_p_of_integers,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklens.arrays import Backend
from ranklens.stats import permutation_test
from ranklens.stats.exact.p_value import exact_is_cheap, exact_p_value

EDGE = Fraction(1, 2**7)
SIDES = ("two-sided", "greater", "less")


def p_values(deltas: list[float]) -> tuple[float, float, float]:
    two_sided, greater, less = (exact_p_value(deltas, side).p_value for side in SIDES)
    return two_sided, greater, less


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ([0.3, 0.1, 0.7, 0.2, 0.4], (2 / 32, 1 / 32, 1)),
        ([0.0] * 6, (1, 1, 1)),
        ([0.0, -0.0, 0.0], (1, 1, 1)),
        ([1.0, -0.0, 2.0], (1 / 2, 1 / 4, 1)),
        ([1.0, 1, 1, 1, -1000], (1, 17 / 32, 1 / 2)),
        ([1.0, 1, 1, 1, 1000], (1 / 16, 1 / 32, 1)),
        ([0.1, 0.2, -0.3], (1, 5 / 8, 5 / 8)),
        ([0.1, 0.2, -0.3, 0.001], (1, 1 / 2, 5 / 8)),
        ([0.1] * 8 + [-0.1] * 2, (0.109375, 0.0546875, 1013 / 1024)),
        ([0.3] * 10, (1 / 512, 1 / 1024, 1)),
        ([0.0] * 30 + [-0.2] + [0.0] * 19, (1, 1, 1 / 2)),
        ([1.0, 2, -1, 4], (3 / 8, 3 / 16, 15 / 16)),
    ],
)
def test_small_samples_are_right_by_enumeration(
    deltas: list[float], expected: tuple[float, float, float]
) -> None:
    counted = tuple(float(enumerated_p_of_floats(deltas, side)) for side in SIDES)
    assert p_values(deltas) == pytest.approx(expected, abs=0) == counted


def test_rounded_differences_tie_as_the_decimals_do(backend: Backend) -> None:
    deltas = backend.asarray(np.array([0.1, 0.2, 0.3, -0.2, 0.1, 0.3, -0.1, 0.2]))
    assert exact_p_value(deltas).p_value == 44 / 256


def test_float32_differences_tie_as_the_decimals_do() -> None:
    deltas = np.array([0.1, 0.2, 0.3, -0.2, 0.1, 0.3, -0.1, 0.2], dtype=np.float32)
    assert exact_p_value(deltas).p_value == 44 / 256
    assert exact_p_value(np.tile(deltas, 8)).p_value == exact_p_value(np.tile(deltas, 8).round(1)).p_value


def test_the_test_itself_keeps_the_type_of_its_differences() -> None:
    deltas = np.array([0.1, 0.2, 0.3, -0.2, 0.1, 0.3, -0.1, 0.2], dtype=np.float32)
    assert permutation_test(deltas, method="exact") == 44 / 256


def test_thirds_tie_in_float32_too() -> None:
    deltas = [1 / 3, 1 / 6, -1 / 2, 1 / 3, 1 / 7]
    exact = enumerated_p([Fraction(d).limit_denominator(50) for d in deltas], "greater")
    assert exact_p_value(deltas, "greater").p_value == exact
    assert exact_p_value(np.array(deltas, dtype=np.float32), "greater").p_value == exact


@pytest.mark.parametrize(("alpha", "n"), [(0.05, 6), (0.01, 8), (0.001, 11)])
def test_the_smallest_sample_that_can_reach_a_level(alpha: float, n: int) -> None:
    assert exact_p_value([0.5] * (n - 1)).p_value > alpha >= exact_p_value([0.5] * n).p_value


def test_integers_and_booleans_are_widened() -> None:
    integers = np.array([100, 27, -1, 120], dtype=np.int8)
    assert exact_p_value(integers).p_value == exact_p_value(integers.astype(float)).p_value
    assert exact_p_value(np.array([True, True, False, True])).p_value == 1 / 4


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("largest", [1.0, 1e300])
@given(st.data())
def test_any_floats_agree_with_enumeration(side: str, largest: float, data: st.DataObject) -> None:
    deltas = data.draw(st.lists(st.floats(-largest, largest), min_size=1, max_size=9))
    # Counting to 61 digits moves the edge of the band of ties by less.
    narrower, wider = (enumerated_p_of_floats(deltas, side, 1 + off) for off in (-EDGE, EDGE))
    assert narrower <= exact_p_value(deltas, side).p_value <= wider


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    "deltas",
    [
        [0.125, 2.2e-16],
        [0.125, 1e-16, 1e-16],
        [1e-4, -1e-4, 8e-16],
        [0.5, 2.0**-24],
        [0.1, 0.2, -0.3, 3e-16, -2e-16],
        [2.0**50, 1.0],
        [0.125] * 8 + [2.2e-16],
    ],
)
def test_no_difference_is_rounded_away_on_a_lattice(side: str, deltas: list[float]) -> None:
    assert exact_p_value(deltas, side).p_value == enumerated_p_of_floats(deltas, side)


@pytest.mark.parametrize("small", [2.2e-16, 1e-17, 1e-15, 3e-13])
def test_nor_on_a_step_that_many_ratios_tell(small: float) -> None:
    deltas = [0.125, -0.375 / 7, 0.25 / 7] * 8 + [small, -small / 3]
    assert exact_p_value(deltas).p_value == pruned_two_sided_p(deltas)


@pytest.mark.parametrize("side", SIDES)
@given(st.lists(st.integers(-10, 10), min_size=1, max_size=10))
def test_lattice_differences_agree_with_rational_enumeration(side: str, tenths: list[int]) -> None:
    exact = enumerated_p([Fraction(t, 10) for t in tenths], side)
    assert exact_p_value([t / 10 for t in tenths], side).p_value == exact


@pytest.mark.parametrize("kind", ["normal", "skewed", "reciprocal", "tied"])
@pytest.mark.parametrize("side", SIDES)
def test_sixteen_differences_agree_with_enumeration(kind: str, side: str) -> None:
    rng = np.random.default_rng(len(kind))
    deltas = {
        "normal": rng.normal(0.3, 1, 16),
        "skewed": rng.exponential(size=16) ** 2 - 0.6,
        "reciprocal": 1 / rng.integers(1, 60, 16) - 1 / rng.integers(1, 90, 16),
        "tied": rng.choice([0.25, 0.1, -0.1, math.sqrt(0.5)], 16),
    }[kind].tolist()
    assert exact_p_value(deltas, side).p_value == enumerated_p_of_floats(deltas, side)


@given(
    st.lists(
        st.floats(-1, 1, allow_subnormal=False).filter(lambda d: d == 0 or abs(d) > 1e-20),
        min_size=2,
        max_size=70,
    ),
    st.integers(-900, 900),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_sign_scale_order_and_zeros_change_no_bit(deltas: list[float], exponent: int, random: object) -> None:
    result = exact_p_value(deltas)
    shuffled = deltas[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert exact_p_value([-d for d in deltas]) == result
    assert exact_p_value([math.ldexp(d, exponent) for d in deltas]) == result
    assert exact_p_value([*shuffled, 0.0, -0.0]) == result
    assert exact_p_value([-d for d in deltas], "less") == exact_p_value(deltas, "greater")


def test_real_sized_samples_are_symmetric_bit_for_bit() -> None:
    rng = np.random.default_rng(3)
    for n in (34, 53, 200, 3000):
        deltas = rng.normal(0.1, 1, n)
        assert (
            exact_p_value(-deltas)
            == exact_p_value(deltas)
            == exact_p_value(rng.permutation(deltas) * 2.0**-60)
        )


def test_all_fifty_positive() -> None:
    result = exact_p_value(np.linspace(0.01, 1, 50))
    assert result.p_value == 2.0**-49
    assert result.log10_p == pytest.approx(-49 * math.log10(2), rel=1e-15)
    assert result.p_error == 0


def test_one_small_loser_among_a_hundred() -> None:
    deltas = np.linspace(1.0, 1.37, 100) ** 1.5
    deltas[17] = -0.5
    result = exact_p_value(deltas)
    assert (result.p_value, result.p_error, result.step) == (4 / 2**100, 0.0, "subset count")


@pytest.mark.parametrize("n", [2000, 7000])
def test_p_stays_above_zero_while_its_logarithm_goes_on(n: int) -> None:
    result = exact_p_value(np.linspace(0.5, 1.0, n))
    assert result.p_value == sys.float_info.min
    assert result.p_error >= result.p_value - 2.0 ** (1 - 1074)
    assert result.log10_p == pytest.approx((1 - n) * math.log10(2), rel=1e-14)


def test_a_complement_of_a_tiny_tail_is_one_and_never_more() -> None:
    deltas = np.linspace(0.5, 1.0, 90)
    assert exact_p_value(deltas, "less").p_value == 1.0
    assert exact_p_value(np.r_[deltas, -0.01], "less").p_value == 1.0


@pytest.mark.parametrize("n", [10, 50, 200])
@pytest.mark.parametrize("step", [10, 20, 2520, 10_000])
def test_known_lattices_of_any_size_agree_with_long_integers(n: int, step: int) -> None:
    rng = np.random.default_rng(n + step)
    integers = np.rint(rng.normal(0.06, 0.2, n) * step).astype(int).tolist()
    exact = two_sided_p_of_integers(integers)
    result = exact_p_value([k / step for k in integers])
    assert abs(Fraction(result.p_value) - exact) <= Fraction(result.p_error) + exact * Fraction(1, 2**52)
    assert result.p_error <= 1e-9


def test_a_p_value_of_ten_to_the_minus_122() -> None:
    rng = np.random.default_rng(8)
    integers = np.clip(np.rint(rng.normal(4.2, 5, 1200)), -10, 10).astype(int).tolist()
    exact = two_sided_p_of_integers(integers)
    result = exact_p_value([k / 10 for k in integers])
    assert exact < Fraction(1, 10**100)
    assert abs(Fraction(result.p_value) / exact - 1) < Fraction(1, 10**12)
    assert result.p_error < 1e-10 * result.p_value


@pytest.mark.parametrize("side", ["two_sided", "", None])
def test_an_unknown_alternative_is_named(side: str | None) -> None:
    with pytest.raises(
        ValueError, match=f"alternative must be one of two-sided, greater, less, got {side!r}"
    ):
        exact_p_value([1.0, 2.0], side)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [[1.0, math.nan], [math.inf, 1.0]])
def test_values_that_are_not_finite_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="not finite"):
        exact_p_value(bad)


@pytest.mark.parametrize("n", [41, 42, 43, 44])
def test_up_to_44_differences_are_counted_where_an_inversion_leaves_a_doubt(n: int) -> None:
    rng = np.random.default_rng(n)
    methods = set()
    for power in (1, 4, 8, 16):
        deltas = rng.normal(0.3, 1, n) * rng.uniform(0.01, 1, n) ** power
        result = exact_p_value(deltas)
        assert result.p_error <= 4e-3 * result.p_value
        assert abs(Fraction(result.p_value) - pruned_two_sided_p(deltas.tolist())) <= result.p_error
        methods.add(result.step)
    assert methods & {"meet in the middle", "subset count"}


def test_cheap_is_what_costs_no_more_than_flips() -> None:
    rng = np.random.default_rng(0)
    assert exact_is_cheap([0.0, 0.0])
    assert exact_is_cheap(rng.normal(size=12))
    assert exact_is_cheap(rng.integers(-10, 11, 50) / 10)
    assert all(exact_is_cheap(rng.normal(size=n)) for n in range(34, 38))
    assert not any(exact_is_cheap(rng.normal(size=n)) for n in range(38, 41))
    assert exact_is_cheap(rng.normal(size=41))
    assert exact_is_cheap(rng.normal(size=7000))
