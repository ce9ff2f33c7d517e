"""Rounding many numbers to fifteen digits at once is rounding each."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ranklens.stats.digits import all_to_15_digits, to_15_digits


def one_by_one(values):
    return [to_15_digits(value) for value in values]


@given(st.lists(st.floats(0.0, 1e20), max_size=20))
def test_any_numbers_are_rounded_as_one_at_a_time(values):
    assert all_to_15_digits(np.array(values)).tolist() == one_by_one(values)


def test_around_powers_of_ten_and_halves_between_two_decimals():
    around = [10.0**e * (1.0 + ulps * 2.0**-53) for e in range(-9, 16) for ulps in range(-30, 31)]
    # 2^-22 has sixteen digits, the last of them a five.
    halves = [2.0**-e * k for e in range(60) for k in (1, 3, 5, 7)]
    for values in (around, halves, [0.0, 5e-324, 1e-300, 1e22]):
        assert all_to_15_digits(np.array(values)).tolist() == one_by_one(values)
    assert all_to_15_digits(np.array([0.1 * 3, 2.0**-22])).tolist() == [0.3, 2.38418579101562e-07]


@given(st.lists(st.integers(10**14, 10**16 - 1), max_size=20), st.integers(-330, -8), st.integers(-1, 1))
def test_decimals_whose_powers_of_ten_are_no_doubles_are_rounded_as_one_at_a_time(digits, exponent, ulps):
    # Sixteen digits that end in a five lie halfway, but for the rounding of the double.
    decimals = [float(f"{number}5e{exponent - 15}") for number in digits]
    values = [value * (1.0 + ulps * 2.0**-52) for value in decimals]
    assert all_to_15_digits(np.array(values)).tolist() == one_by_one(values)
