"""The sign-flip test: enumerations, invariances, every backend."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from fake_device import fake_array
from hypothesis import given
from hypothesis import strategies as st

from ranklens.arrays import memory_budget, use_backend
from ranklens.core import InsufficientSampleError
from ranklens.stats import permutation_test, sign_flip_test

ALTERNATIVES = ("two-sided", "greater", "less")
M = 10_000


def enumerated(numerators: list[int], alternative: str) -> float:
    """Return the p-value over all sign assignments of integers."""
    observed = sum(numerators)
    sums = [
        sum(s * d for s, d in zip(signs, numerators, strict=True))
        for signs in itertools.product((1, -1), repeat=len(numerators))
    ]
    extreme = {
        "two-sided": sum(abs(s) >= abs(observed) for s in sums),
        "greater": sum(s >= observed for s in sums),
        "less": sum(s <= observed for s in sums),
    }[alternative]
    return extreme / len(sums)


def assert_monte_carlo(p: float, exact: float, m: int = M) -> None:
    """Within five standard errors of the binomial proportion that the flips estimate."""
    count = p * (m + 1) - 1
    assert abs(count - m * exact) <= 5 * math.sqrt(m * exact * (1 - exact)) + 1e-6


SAMPLES = [
    pytest.param([1, 2, 3, 4, 5], 1, id="five, all positive"),
    pytest.param([0, 0, 0], 1, id="all zero"),
    pytest.param([1, 0, 2], 1, id="with a zero"),
    pytest.param([1, 1, 1, 1, -1000], 1, id="one large loser"),
    pytest.param([1, 1, 1, 1, 1000], 1, id="one large winner"),
    pytest.param([1, 2, -3], 10, id="sums that cancel"),
    pytest.param([1] * 8 + [-1] * 2, 10, id="tenths, many ties"),
    pytest.param([1, 2, 3, -2, 1, 3, -1, 2], 10, id="tenths, ties that rounding parts"),
    pytest.param([3] * 10, 10, id="constant"),
    pytest.param([0] * 49 + [7], 100, id="one difference among fifty"),
    pytest.param([420, 1260, -840, 2520, 280, -315, 252, 360], 2520, id="reciprocal ranks"),
]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("numerators", "scale"), SAMPLES)
def test_flips_agree_with_enumeration(numerators, scale, alternative):
    deltas = [numerator / scale for numerator in numerators]
    moving = [numerator for numerator in numerators if numerator]
    assert_monte_carlo(permutation_test(deltas, alternative=alternative), enumerated(moving, alternative))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_ties_are_seen_in_every_type(dtype):
    deltas = np.array([0.1, 0.2, 0.3, -0.2, 0.1, 0.3, -0.1, 0.2], dtype=dtype)
    assert permutation_test(deltas) == permutation_test([1, 2, 3, -2, 1, 3, -1, 2])


def test_ties_of_differences_of_scores_are_seen():
    a = np.array([0.3, 0.7, 0.1, 0.9, 0.4, 0.2, 0.6, 0.8])
    b = np.array([0.4, 0.9, 0.4, 0.7, 0.5, 0.5, 0.5, 1.0])
    assert permutation_test(b - a) == permutation_test([1, 2, 3, -2, 1, 3, -1, 2])


@pytest.mark.parametrize("zeros", [[0.0] * 6, [0.0, -0.0, 0.0]])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_all_zeros_give_one(zeros, alternative):
    assert permutation_test(zeros, alternative=alternative) == 1.0


def test_the_smallest_p_is_one_over_m_plus_one():
    found = sign_flip_test([1.0] * 50, n_permutations=99)
    assert found.p_value == 0.01
    assert found.log10_p == -2.0
    assert found.p_error == pytest.approx(math.sqrt(0.01 * 0.99 / 99))
    assert (found.method, found.n_permutations, found.seed) == ("monte-carlo", 99, 0)


@pytest.mark.parametrize("n", [6, 8, 11])
def test_all_positive_gives_two_to_the_one_minus_n(n):
    assert_monte_carlo(
        permutation_test(list(range(1, n + 1)), n_permutations=200_000), 2.0 ** (1 - n), 200_000
    )


def test_exhaustive_agreement_on_real_valued_samples():
    for n in (3, 9, 14):
        deltas = np.random.default_rng(n).normal(0.3, 1, size=n)
        signs = np.array(list(itertools.product((1, -1), repeat=n)))
        exact = float(np.mean(np.abs(signs @ deltas) >= abs(deltas.sum()) - 1e-12))
        assert_monte_carlo(permutation_test(deltas), exact)


def test_golden_p_values():
    deltas = np.cos(np.arange(100.0) ** 2)
    assert [round(permutation_test(deltas, alternative=a) * (M + 1)) for a in ALTERNATIVES] == [
        1316,
        660,
        9342,
    ]
    assert round(permutation_test(deltas, seed=1) * (M + 1)) == 1326


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [2, 50, 65, 300])
def test_every_backend_gives_the_same_p(user_backend, n, alternative):
    rng = np.random.default_rng(n)
    for deltas in (rng.normal(0.1, 1, size=n), np.round(rng.normal(0.1, 1, size=n), 1)):
        with user_backend.precise():
            array = user_backend.asarray(deltas)
        expected = permutation_test(deltas, alternative=alternative)
        assert permutation_test(array, alternative=alternative) == expected
        with use_backend(user_backend.name):
            assert permutation_test(deltas.tolist(), alternative=alternative) == expected


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=80), st.sampled_from(ALTERNATIVES), st.integers(-200, 200)
)
def test_scaling_by_powers_of_two_changes_nothing(values, alternative, exponent):
    kept = {"alternative": alternative, "n_permutations": 300}
    values = [value if abs(value) > 1e-9 else 0.0 for value in values]
    scaled = [math.ldexp(value, exponent) for value in values]
    assert permutation_test(scaled, **kept) == permutation_test(values, **kept)


@pytest.mark.parametrize("factor", [1e-300, 1e300, 1e-5, 1e5, 3.0])
@pytest.mark.parametrize("decimals", [1, 15])
def test_no_scale_changes_a_p_value(factor, decimals):
    deltas = np.round(np.random.default_rng(0).normal(0.1, 0.3, size=60), decimals)
    assert permutation_test(deltas * factor) == permutation_test(deltas)


def test_magnitudes_near_the_ends_of_the_range():
    deltas = np.random.default_rng(0).normal(0.1, 0.3, size=60)
    expected = permutation_test(deltas)
    assert permutation_test(deltas / np.abs(deltas).max() * 1.7e308) == expected
    assert permutation_test([5e-324, 5e-324, 5e-324]) == permutation_test([1, 1, 1])


@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=70))
def test_swapping_the_runs_swaps_the_sides(values):
    swapped = [-value for value in values]
    for side, other in (("two-sided", "two-sided"), ("greater", "less"), ("less", "greater")):
        p = permutation_test(values, alternative=side, n_permutations=200)
        assert permutation_test(swapped, alternative=other, n_permutations=200) == p


def test_zeros_change_no_p_value_when_they_come_last():
    deltas = [1.0, 2.0, -1.0, 4.0]
    assert permutation_test(deltas + [0.0] * 9) == permutation_test(deltas)
    assert_monte_carlo(permutation_test([0.0, *deltas]), 3 / 8)


def test_more_flips_extend_the_sequence():
    deltas = np.random.default_rng(0).normal(0.2, 1, size=40)
    counts = [round(permutation_test(deltas, n_permutations=m) * (m + 1)) - 1 for m in (1000, 1001, 9000)]
    assert counts[0] <= counts[1] <= counts[0] + 1
    assert counts[1] <= counts[2] <= counts[1] + 7999


def test_no_budget_changes_a_p_value():
    deltas = np.random.default_rng(0).normal(0.01, 1, size=5000)
    expected = permutation_test(deltas)
    with memory_budget(2**20):
        assert permutation_test(deltas) == expected


def test_one_transfer_to_the_host():
    deltas = np.random.default_rng(0).normal(0.3, 1, size=100)
    array, syncs = fake_array(deltas)
    assert permutation_test(array, n_permutations=500) == permutation_test(deltas, n_permutations=500)
    assert syncs.count == 1


def test_exact_takes_at_most_two_transfers():
    array, syncs = fake_array([0.1, 0.2, 0.3, 0.1, 0.2])
    assert permutation_test(array, method="exact") == 2 / 32
    assert syncs.count <= 2


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_differences(n):
    with pytest.raises(InsufficientSampleError, match=f"{n} queries, and at least 2 are needed"):
        permutation_test([0.5] * n)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_counted_and_placed(user_backend, bad):
    deltas = [0.1, bad, 0.3, 0.2, bad]
    message = r"deltas has 2 of 5 values that are not finite \(at position 1, 4\)"
    with user_backend.precise():
        array = user_backend.asarray(np.array(deltas))
    with pytest.raises(ValueError, match=message):
        permutation_test(array, n_permutations=9)
    with use_backend(user_backend.name), pytest.raises(ValueError, match=message):
        permutation_test(deltas, n_permutations=9)


@pytest.mark.parametrize(
    ("deltas", "options", "message"),
    [
        ([[1.0, 2.0]], {}, r"deltas must be one-dimensional, got shape \(1, 2\)"),
        ([[1.0], [2.0, 3.0]], {}, "deltas must be a sequence of numbers, all of one length"),
        (["a", "b"], {}, "deltas must be real numbers"),
        ([1j, 2.0], {}, "deltas must be real numbers"),
        ([1.0, 2.0], {"n_permutations": 0}, "n_permutations must be a whole number of at least 1, got 0"),
        ([1.0, 2.0], {"n_permutations": 9.5}, "n_permutations must be a whole number of at least 1, got 9.5"),
        (
            [1.0, 2.0],
            {"alternative": "both"},
            "alternative must be one of two-sided, greater, less, got 'both'",
        ),
        ([1.0, 2.0], {"method": "fft"}, "method must be one of monte-carlo, exact, auto, got 'fft'"),
        ([1.0, 2.0], {"seed": -1}, "seed must be a non-negative integer"),
    ],
)
def test_bad_arguments_are_named(deltas, options, message):
    with pytest.raises(ValueError, match=message):
        permutation_test(deltas, **options)


def test_seeds_of_every_kind_are_recorded_and_reproduce():
    deltas = np.random.default_rng(0).normal(0.2, 1, size=40)
    for seed in (None, np.random.SeedSequence(3), np.random.default_rng(3)):
        found = sign_flip_test(deltas, seed=seed)
        assert sign_flip_test(deltas, seed=found.seed).p_value == found.p_value
