"""Planning: how many queries, what effect."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.core import InsufficientSampleError
from ranklens.stats import mde, minimum_detectable_effect, required_queries, standard_deviation


def test_known_effects():
    assert minimum_detectable_effect(0.1, 200) == pytest.approx(0.019810, abs=5e-7)
    assert minimum_detectable_effect(0.2, 50) == pytest.approx(0.0792408, abs=5e-8)
    assert mde is minimum_detectable_effect


def test_known_numbers_of_queries():
    assert required_queries(0.02, 0.1) == 197
    assert required_queries(0.05, 0.2) == 126


def test_no_spread_needs_the_minimum_and_sees_everything():
    assert minimum_detectable_effect(0, 10) == 0.0
    assert required_queries(0.1, 0) == 2


def test_a_large_effect_still_needs_two_queries():
    assert required_queries(100.0, 0.1) == 2


def test_the_sign_of_the_difference_does_not_matter():
    assert required_queries(-0.02, 0.1) == 197


@pytest.mark.parametrize("delta", [0, 0.0, -0.0, float("nan"), float("inf"), True, "0.1"])
def test_a_difference_of_nothing_is_refused(delta):
    with pytest.raises(ValueError, match="delta must be a finite difference other than zero, got"):
        required_queries(delta, 0.1)


@pytest.mark.parametrize("delta", [1e-200, 5e-324])
def test_a_number_of_queries_beyond_counting_is_refused(delta):
    with pytest.raises(ValueError, match="is too small beside sd"):
        required_queries(delta, 1.0)


@pytest.mark.parametrize("sd", [-0.1, float("nan"), float("inf"), None])
def test_a_spread_must_be_a_number_of_at_least_zero(sd):
    with pytest.raises(ValueError, match="sd must be a finite number of at least 0, got"):
        required_queries(0.1, sd)
    with pytest.raises(ValueError, match="sd must be a finite number of at least 0, got"):
        minimum_detectable_effect(sd, 10)


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_the_number_of_queries_must_be_whole(n):
    with pytest.raises(ValueError, match="n_queries must be a whole number of at least 1, got"):
        minimum_detectable_effect(0.1, n)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, float("nan"), None])
def test_alpha_lies_between_zero_and_one(alpha):
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1, got"):
        required_queries(0.1, 0.1, alpha=alpha)


@pytest.mark.parametrize("power", [0.05, 0.01, 1.0, float("nan")])
def test_power_lies_above_alpha(power):
    with pytest.raises(ValueError, match=r"power must lie between alpha = 0.05 and 1, got"):
        minimum_detectable_effect(0.1, 10, power=power)


levels = st.sampled_from([(0.05, 0.8), (0.01, 0.9), (0.1, 0.5)])


@given(st.integers(2, 10**7), st.floats(1e-6, 1e6), levels)
def test_the_two_formulas_are_inverse_to_each_other(n, sd, level):
    alpha, power = level
    effect = minimum_detectable_effect(sd, n, alpha=alpha, power=power)
    assert required_queries(effect, sd, alpha=alpha, power=power) == n


@given(st.floats(1e-4, 10), st.floats(1e-4, 10))
def test_the_number_is_the_smallest_that_suffices(delta, sd):
    n = required_queries(delta, sd)
    assert minimum_detectable_effect(sd, n) <= delta * (1 + 1e-12)
    if n > 2:
        assert minimum_detectable_effect(sd, n - 1) > delta * (1 - 1e-12)


def test_the_standard_deviation_has_ddof_one(backend):
    assert standard_deviation(backend.asarray(np.array([1.0, 2.0, 4.0, 5.0]))) == pytest.approx(
        math.sqrt(10 / 3), rel=1e-15
    )


def test_equal_differences_have_no_spread_even_after_rounding():
    assert standard_deviation([0.3] * 7) == 0.0
    assert standard_deviation([0.1 + 0.2, 0.3]) == 0.0


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30), st.integers(-900, 900))
def test_the_standard_deviation_scales_exactly_by_powers_of_two(values, exponent):
    values = [round(value, 6) for value in values]
    scaled = [math.ldexp(value, exponent) for value in values]
    assert standard_deviation(scaled) == math.ldexp(standard_deviation(values), exponent)


def test_a_spread_needs_two_finite_differences():
    with pytest.raises(InsufficientSampleError, match="1 queries, and at least 2"):
        standard_deviation([1.0])
    with pytest.raises(ValueError, match="not finite"):
        standard_deviation([1.0, float("nan")])


def test_an_effect_beyond_the_largest_number_is_refused():
    assert minimum_detectable_effect(1e308, 10) == pytest.approx(2.801585 / math.sqrt(10) * 1e308, rel=1e-6)
    with pytest.raises(ValueError, match="too large"):
        minimum_detectable_effect(1e308, 1)
    with pytest.raises(ValueError, match="n_queries must be a whole number"):
        minimum_detectable_effect(0.1, "10")
