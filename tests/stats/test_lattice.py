"""Differences that are multiples of a step."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.kernels.ties import SCALES
from ranklens.stats import compare_deltas, lattice_of, permutation_test


@given(st.sampled_from(SCALES), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1))
def test_differences_of_multiples_are_found(scale, pairs):
    deltas = np.array([b / scale - a / scale for a, b in pairs])
    found = lattice_of(deltas)
    if all(a == b for a, b in pairs):
        assert found is None
        return
    assert found.scale <= scale
    exact = [Fraction(b - a, scale) for a, b in pairs]
    assert [Fraction(k, found.scale) for k in found.integers.tolist()] == exact


@pytest.mark.parametrize(
    "deltas",
    [
        [0.1, 2**0.5],
        [0.12345, 0.5],
        [0.0, -0.0],
        [1e-300, 3e-300],
        [1e300, 2e300],
        [2.0**53, 1.0],
        [1e-9, 1.0],
    ],
)
def test_what_lies_on_no_step(deltas):
    assert lattice_of(np.array(deltas)) is None


def test_the_scales_are_sorted_and_coarse_ones_win():
    assert list(SCALES) == sorted(SCALES)
    assert lattice_of(np.array([0.5, 1.0])).scale == 2
    assert lattice_of(np.array([0.5, 0.1])).scale == 10


def test_a_late_value_off_the_step_is_seen():
    deltas = np.full(5000, 0.1)
    assert lattice_of(deltas).scale == 10
    deltas[-1] = 0.1 + 1e-9
    assert lattice_of(deltas) is None


def test_normal_draws_lie_on_no_step():
    for seed in range(50):
        assert lattice_of(np.random.default_rng(seed).normal(size=3)) is None


def test_float32_values_that_were_widened_are_recognised():
    tenths = (np.arange(11) / 10).astype(np.float32).astype(np.float64)
    rng = np.random.default_rng(0)
    deltas = rng.choice(tenths, 60) - rng.choice(tenths, 60)
    found = lattice_of(deltas)
    assert found.scale == 10
    assert np.abs(found.integers - 10 * deltas).max() < 1e-5
    assert lattice_of(rng.random(60).astype(np.float32).astype(np.float64)) is None


def test_an_exact_and_a_sampled_p_take_float32_values_for_what_they_are(backend):
    tenths = (np.arange(11) / 10).astype(np.float32)
    rng = np.random.default_rng(1)
    a, b = rng.choice(tenths, 70), rng.choice(tenths, 70)
    wide = b.astype(np.float64) - a.astype(np.float64)
    exact = permutation_test(b - a, method="exact")
    assert permutation_test(wide, method="exact") == exact
    assert compare_deltas(wide[None], method="exact", correction=None).p_value[0] == exact
    with backend.precise():
        sampled = permutation_test(backend.asarray(wide))
    assert sampled == permutation_test(b - a)
