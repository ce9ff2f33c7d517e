"""The percentile interval: its definition, invariances, every backend."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fake_device import fake_array
from hypothesis import given
from hypothesis import strategies as st

from ranklens.arrays import Purpose, memory_budget, use_backend, words
from ranklens.core import CoarseIntervalWarning, MetricResult
from ranklens.stats import compare, compare_deltas, compare_segments, paired_bootstrap

ALTERNATIVES = ("two-sided", "greater", "less")


def resampled_means(deltas: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Return the means of the documented resamples."""
    n = deltas.shape[0]
    halves = words(seed, 0, n_resamples, -(-n // 2), Purpose.RESAMPLES)
    low, high = halves & np.uint64(2**32 - 1), halves >> np.uint64(32)
    drawn = np.stack([low, high], axis=1).reshape(-1, n_resamples)[:n]
    return deltas[(drawn * np.uint64(n)) >> np.uint64(32)].mean(axis=0)


@pytest.mark.parametrize("n", [1, 2, 21, 150])
def test_the_ends_are_the_quantiles_of_the_resampled_means(n):
    deltas = np.random.default_rng(n).normal(0.1, 1, size=n)
    means = resampled_means(deltas, 1999, 5)
    for alpha in (0.05, 0.1, 0.5):
        found = paired_bootstrap(deltas, n_resamples=1999, alpha=alpha, seed=5)
        expected = np.quantile(means, [alpha / 2, 1 - alpha / 2])
        np.testing.assert_allclose([found.low, found.high], expected, atol=1e-14)
        assert found.delta == pytest.approx(deltas.mean(), abs=1e-15)
        assert (found.alpha, found.n_queries, found.n_resamples, found.seed) == (alpha, n, 1999, 5)


def test_one_sided_intervals_are_open():
    deltas = np.random.default_rng(0).normal(0.1, 1, size=30)
    means = resampled_means(deltas, 10_000, 0)
    greater = paired_bootstrap(deltas, alternative="greater")
    less = paired_bootstrap(deltas, alternative="less")
    assert greater.high == math.inf
    assert greater.low == pytest.approx(np.quantile(means, 0.05), abs=1e-14)
    assert less.low == -math.inf
    assert less.high == pytest.approx(np.quantile(means, 0.95), abs=1e-14)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("value", [0.0, -0.0, 0.3, 2**0.5, -1e-9, 1e300])
def test_a_constant_sample_gives_that_constant(value, alternative):
    found = paired_bootstrap([value] * 10, n_resamples=99, alternative=alternative)
    ends = [end for end in (found.low, found.high) if math.isfinite(end)]
    assert {found.delta, *ends} == {value}
    assert not any(math.copysign(1, number) < 0 for number in (found.delta, *ends) if number == 0)


@pytest.mark.parametrize("n", [2, 51, 300])
def test_every_backend_gives_the_same_interval(user_backend, n):
    rng = np.random.default_rng(n)
    for deltas, slack in (
        (np.round(rng.normal(0.1, 1, size=n), 1), 0.0),
        (rng.normal(0.1, 1, size=n), 1e-14),
    ):
        with user_backend.precise():
            array = user_backend.asarray(deltas)
        expected = paired_bootstrap(deltas, n_resamples=3000)
        found = [paired_bootstrap(array, n_resamples=3000)]
        with use_backend(user_backend.name):
            found.append(paired_bootstrap(deltas.tolist(), n_resamples=3000))
        for interval in found:
            for name in ("delta", "low", "high"):
                assert getattr(interval, name) == pytest.approx(getattr(expected, name), abs=slack, rel=0)


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=60))
def test_swapping_the_runs_negates_the_interval(values):
    found = paired_bootstrap(values, n_resamples=200)
    swapped = paired_bootstrap([-value for value in values], n_resamples=200)
    slack = 4 * 2.0**-52 * max(abs(value) for value in values)
    assert abs(swapped.delta + found.delta) <= slack
    assert abs(swapped.low + found.high) <= slack
    assert abs(swapped.high + found.low) <= slack


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40))
def test_the_interval_lies_within_the_sample(values):
    found = paired_bootstrap(values, n_resamples=100)
    slack = 1e-15 * max(1.0, max(abs(value) for value in values))
    assert min(values) - slack <= found.low <= found.high <= max(values) + slack
    assert min(values) - slack <= found.delta <= max(values) + slack


def test_no_budget_and_no_magnitude_changes_an_interval():
    deltas = np.random.default_rng(0).normal(0.01, 1, size=2000)
    found = paired_bootstrap(deltas, n_resamples=1000)
    with memory_budget(2**20):
        assert paired_bootstrap(deltas, n_resamples=1000) == found
    for exponent in (-900, 900):
        scaled = paired_bootstrap(np.ldexp(deltas, exponent), n_resamples=1000)
        assert (scaled.low, scaled.high) == (
            math.ldexp(found.low, exponent),
            math.ldexp(found.high, exponent),
        )


def test_golden_intervals():
    deltas = (np.arange(40.0) % 7 - 2.5) / 8
    found, other = paired_bootstrap(deltas), paired_bootstrap(deltas, seed=1)
    assert (found.delta, found.low, found.high) == (0.046875, -0.028125, 0.121875)
    assert (other.low, other.high) == (-0.03125, 0.121875)


def test_exact_is_the_limit_of_many_resamples():
    deltas = np.random.default_rng(0).normal(0.1, 1, size=40)
    found = paired_bootstrap(deltas, n_resamples=100_000)
    exact = paired_bootstrap(deltas, method="exact")
    assert (exact.low, exact.high) == pytest.approx((found.low, found.high), abs=0.01)
    assert exact.n_resamples == 0
    assert exact.delta == pytest.approx(found.delta, abs=1e-15)


def test_one_transfer_to_the_host():
    deltas = np.random.default_rng(0).normal(0.3, 1, size=80)
    array, syncs = fake_array(deltas)
    found, expected = paired_bootstrap(array, n_resamples=300), paired_bootstrap(deltas, n_resamples=300)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-15)
    assert syncs.count == 1


@pytest.mark.parametrize("method", ["monte-carlo", "exact"])
def test_an_empty_sample_is_refused(method):
    with pytest.raises(ValueError, match="deltas is empty") as caught:
        paired_bootstrap([], method=method)
    assert type(caught.value) is ValueError


def test_what_is_not_finite_is_counted_and_placed(user_backend):
    with user_backend.precise():
        array = user_backend.asarray(np.array([0.1, math.nan, 0.3, math.inf]))
    with pytest.raises(
        ValueError, match=r"deltas has 2 of 4 values that are not finite \(at position 1, 3\)"
    ):
        paired_bootstrap(array, n_resamples=9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 0}, "n_resamples must be a whole number of at least 2, got 0"),
        ({"alpha": 0}, "alpha must lie between 0 and 1, got 0"),
        ({"alpha": 1.0}, "alpha must lie between 0 and 1, got 1.0"),
        ({"alternative": "up"}, "alternative must be one of two-sided, greater, less, got 'up'"),
        ({"method": "bca"}, "method must be one of monte-carlo, exact, auto, got 'bca'"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        paired_bootstrap([0.1, 0.2], **options)


@pytest.mark.parametrize("call", ["one sample", "two runs", "segments", "a batch"])
def test_too_few_resamples_for_a_level_warn_once_with_the_number_needed(call):
    deltas = np.random.default_rng(8).normal(size=50)
    a, b = (MetricResult("AP", {f"q{i}": float(x) for i, x in enumerate(v)}) for v in (0 * deltas, deltas))
    calls = {
        "one sample": lambda **levels: paired_bootstrap(deltas, **levels),
        "two runs": lambda **levels: compare(a, b, **levels),
        "segments": lambda **levels: compare_segments(
            a, b, {"half": {f"q{i}": i % 2 for i in range(50)}}, correction=None, **levels
        ),
        "a batch": lambda **levels: compare_deltas(
            np.stack([deltas, -deltas]), **{"method": "monte-carlo", "correction": None, **levels}
        ),
    }
    with pytest.warns(CoarseIntervalWarning, match="10000 .* alpha=0.00019.* at least 10527") as caught:
        calls[call](alpha=1.9e-4)
    assert len(caught) == 1
    for enough in (
        {"alpha": 2e-4},
        {"alpha": 1e-4, "alternative": "less"},
        {"alpha": 1e-6, "method": "exact"},
    ):
        calls[call](**enough)


def test_the_ideal_interval_reaches_further_than_too_few_resamples():
    deltas = np.random.default_rng(8).normal(size=50)
    ideal = paired_bootstrap(deltas, alpha=1e-6, method="exact")
    with pytest.warns(CoarseIntervalWarning):
        drawn = paired_bootstrap(deltas, alpha=1e-6)
    assert ideal.low < drawn.low
    assert drawn.high < ideal.high
