"""What the looks at rows of differences share: it follows from each row alone, and nothing is lost by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.stats.exact.differences import DifferenceRows, times_power_of_two

EPS = float(np.finfo(np.float64).eps)
finite = st.floats(min_value=-1e300, max_value=1e300, allow_subnormal=False)


@given(st.lists(finite, min_size=1, max_size=12).filter(any))
def test_the_largest_of_a_rescaled_row_lies_between_512_and_1024(row: list[float]) -> None:
    rows = DifferenceRows(np.array([row]), EPS)
    largest = float(np.abs(rows.rescaled).max())
    assert 512.0 <= largest < 1024.0
    assert largest == float(np.ldexp(rows.largest, rows.doublings)[0])
    kept = np.abs(rows.rescaled) > 1e-290
    assert np.array_equal(np.ldexp(rows.rescaled, -rows.doublings[:, None])[kept], rows.values[kept])


def test_some_rows_have_what_they_have_among_others() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=(5, 200)) * 10.0 ** rng.integers(-250, 250, (5, 1))
    values[3] = np.float32(0.3) - rng.random(200).astype(np.float32).astype(np.float64)
    rows, places = DifferenceRows(values, EPS), np.array([1, 3])
    some = rows.take(places)
    for name in ("values", "magnitudes", "largest", "units", "doublings", "rescaled"):
        assert np.array_equal(getattr(some, name), getattr(rows, name)[places]), name
    assert rows.units[3] > EPS == rows.units[0]
    assert rows.take(np.arange(5)) is rows


@pytest.mark.parametrize("exponent", [-1060, -1000, -3, 0, 1000, 1060])
def test_powers_of_two_beyond_the_range_of_floats_multiply_as_others_do(exponent: int) -> None:
    values = np.array([[3.0, -0.7, 0.0]]) * 2.0 ** (-exponent // 2)
    exponents = np.array([exponent])
    assert np.array_equal(times_power_of_two(values, exponents), np.ldexp(values, exponent))
