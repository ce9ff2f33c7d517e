"""One-sided exact p-values where the observed sum is within rounding of zero count its own ties only."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_oracles import EPS, enumerated_p_of_floats
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklens.arrays import Backend
from ranklens.stats import compare_deltas, permutation_test
from ranklens.stats.exact.p_value import exact_p_value

ALTERNATIVES = ("two-sided", "greater", "less")
# The integers that stand for differences are rounded to 2^-61 of their sum.
NARROWER, WIDER = Fraction(99, 100), Fraction(101, 100)


def with_a_sum_of(bands: float, magnitudes: np.ndarray, order: np.random.Generator) -> np.ndarray:
    """Pair each magnitude with its negative, and move the largest to make the sum so many bands of ties."""
    deltas = np.concatenate([magnitudes, -magnitudes])
    band = 8 * float(EPS) * float(np.abs(deltas).sum())
    deltas[np.argmax(magnitudes)] += bands * band
    return order.permutation(deltas)


def assert_counted(found: float, deltas: np.ndarray, alternative: str) -> None:
    narrow, wide = (
        enumerated_p_of_floats(deltas.tolist(), alternative, width) for width in (NARROWER, WIDER)
    )
    assert narrow <= Fraction(found) <= wide


@pytest.mark.parametrize(("alternative", "right"), [("greater", 0.5), ("less", 0.625), ("two-sided", 1.0)])
def test_a_sum_of_over_half_a_band_ties_on_one_side_only(alternative: str, right: float) -> None:
    deltas = [0.22512912, -0.51668965, -0.22512912, 0.51668965 * (1 + 4.3e-15)]
    assert enumerated_p_of_floats(deltas, alternative) == Fraction(right)
    assert permutation_test(deltas, alternative=alternative, method="exact") == right
    negated = {"greater": "less", "less": "greater"}.get(alternative, alternative)
    assert permutation_test([-delta for delta in deltas], alternative=negated, method="exact") == right


@settings(deadline=None, max_examples=120)
@given(
    st.integers(1, 5),
    st.sampled_from([1.0, 1e-300, 1e290]),
    st.floats(-2.0, 2.0),
    st.integers(0, 2**32),
    st.sampled_from(ALTERNATIVES),
)
def test_sums_of_up_to_two_bands_count_as_enumeration_does(
    pairs: int, scale: float, bands: float, seed: int, alternative: str
) -> None:
    # Drawn from a seed: magnitudes such as 1/4 lie on a lattice, whose rows tie within a few more last bits.
    rng = np.random.default_rng(seed)
    deltas = with_a_sum_of(bands, rng.uniform(0.01, 1.0, pairs), rng) * scale
    assert_counted(exact_p_value(deltas, alternative).p_value, deltas, alternative)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_rows_of_a_batch_and_every_backend_count_the_same_ties(backend: Backend, alternative: str) -> None:
    rng = np.random.default_rng(5)
    rows = np.stack([with_a_sum_of(bands, rng.random(5) + 0.1, rng) for bands in np.linspace(-2.0, 2.0, 17)])
    table = compare_deltas(backend.asarray(rows), method="exact", alternative=alternative, min_queries=2)
    for deltas, found in zip(rows, table.p_value.tolist(), strict=True):
        assert_counted(found, deltas, alternative)
        assert exact_p_value(backend.asarray(deltas), alternative).p_value == found


@pytest.mark.parametrize("bands", [-1.5, -0.7, -0.4, 0.4, 0.7, 1.5])
def test_both_sides_together_count_what_ties_twice(bands: float) -> None:
    """P(T >= s - band) + P(T <= s + band) = 1 + P(|T - s| <= band), by counting all sums."""
    rng = np.random.default_rng(8)
    deltas = with_a_sum_of(bands, rng.random(8) + 0.1, rng)
    greater, less = (exact_p_value(deltas, side).p_value for side in ("greater", "less"))
    sums = np.zeros(1)
    for delta in deltas:
        sums = np.concatenate([sums + delta, sums - delta])
    near = np.count_nonzero(np.abs(sums - deltas.sum()) <= 8 * float(EPS) * np.abs(deltas).sum())
    assert greater + less == pytest.approx(1 + near / len(sums), abs=1e-15)
