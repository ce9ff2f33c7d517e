"""When sums of rounded differences count as equal."""

from __future__ import annotations

import numpy as np
import pytest

from ranklens.arrays import to_host
from ranklens.kernels.ties import EXACT_BAND, comparable

EPS = 2.0**-52


def on_host(backend, deltas, eps=EPS):
    return to_host(*comparable(backend.asarray(np.asarray(deltas, dtype=float)), eps))


@pytest.mark.parametrize(
    ("deltas", "factor", "integers"),
    [
        ([3.0, -2.0, 0.0], 1, [3, -2, 0]),
        ([0.3 - 0.2, 0.1 - 0.4, 0.7 - 0.1], 10, [1, -3, 6]),
        ([1 / 3 - 1 / 2, 1 - 1 / 7, 1 / 9 - 1 / 10], 2520, [-420, 2160, 28]),
        ([0.1234 - 0.1233, 0.9876 - 0.0001], 10_000, [1, 9875]),
        ([0.125, 0.25, -1.0], 8, [1, 2, -8]),
    ],
)
def test_multiples_of_a_step_become_integers(backend, deltas, factor, integers):
    values, found, band = on_host(backend, deltas)
    assert float(found) == factor
    assert values.tolist() == integers
    assert float(band) == EXACT_BAND


def test_each_row_of_a_batch_has_its_own_step(backend):
    rows = np.array([[0.1, 0.2, -0.4], [1.0, 2.0, 3.0], [2**0.5, 0.1, 0.2], [0.0, 0.0, 0.0]])
    values, factor, band = on_host(backend, rows)
    assert factor.tolist() == [10.0, 1.0, 1.0, 1.0]
    assert values[0].tolist() == [1, 2, -4]
    np.testing.assert_array_equal(values[2], rows[2])
    np.testing.assert_allclose(band, [0.5, 0.5, 8 * EPS * np.abs(rows[2]).sum(), 0.0], rtol=1e-12)


@pytest.mark.parametrize(
    "deltas", [[0.1 * 2**0.5, 0.2], [1e300, -1e299], [2.0**52, 2.0**52], [1e-300, 2e-300]]
)
def test_what_lies_on_no_step_keeps_its_digits(backend, deltas):
    values, factor, _ = on_host(backend, deltas)
    assert np.log2(float(factor)) == round(np.log2(float(factor)))
    np.testing.assert_array_equal(values / factor, deltas)
    assert 2.0**-700 < np.abs(values).max() < 2.0**700


def test_steps_of_a_narrow_type_are_found_with_its_own_slack(backend):
    narrow = np.array([0.1, 0.7, -0.3], dtype=np.float32).astype(np.float64)
    values, factor, _ = on_host(backend, narrow, eps=2.0**-23)
    assert float(factor) == 10
    assert values.tolist() == [1, 7, -3]
    # Widened they are known by their few digits; values as far off a step that have all digits are on none.
    assert float(on_host(backend, narrow)[1]) == 10
    assert float(on_host(backend, narrow + 1e-9 / 3.0)[1]) == 1.0
