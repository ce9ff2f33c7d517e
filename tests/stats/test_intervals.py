"""The kinds of interval: against scipy, closed forms, enumeration, and where samples degenerate."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from fake_device import fake_array
from hypothesis import given
from hypothesis import strategies as st

from ranklens.arrays import memory_budget
from ranklens.core import InsufficientSampleError
from ranklens.stats import compare, paired_bootstrap, permutation_test
from ranklens.stats.interval_levels import bca_tails, expanded_tail, jackknife_acceleration

KINDS = ("percentile", "expanded", "bca", "studentized")
SAMPLES = {
    "normal": np.random.default_rng(0).normal(0.1, 1.0, 30),
    "exponential": np.random.default_rng(1).exponential(1.0, 25),
    "lattice": np.random.default_rng(2).choice([-0.1, 0.0, 0.1, 0.3], 40),
}


def resampled(deltas, n_resamples=200_000):
    rng = np.random.default_rng(5)
    return deltas[rng.integers(0, len(deltas), (n_resamples, len(deltas)))]


@pytest.mark.parametrize("method", ["monte-carlo", "exact"])
@pytest.mark.parametrize("kind", SAMPLES)
def test_bca_agrees_with_scipy(kind, method):
    deltas = SAMPLES[kind]
    right = scipy.stats.bootstrap(
        (deltas,), np.mean, n_resamples=100_000, method="BCa", rng=np.random.default_rng(3), batch=10_000
    ).confidence_interval
    found = paired_bootstrap(deltas, interval="bca", method=method, n_resamples=50_000)
    slack = 0.06 * deltas.std() / math.sqrt(len(deltas)) + (0.1 / len(deltas) if kind == "lattice" else 0.0)
    assert (found.low, found.high) == pytest.approx((right.low, right.high), abs=slack)


@pytest.mark.parametrize("kind", SAMPLES)
def test_studentized_is_the_bootstrap_t(kind):
    deltas = SAMPLES[kind]
    drawn = resampled(deltas, 100_000)
    t = (drawn.mean(axis=1) - deltas.mean()) / (drawn.std(axis=1, ddof=1) / math.sqrt(len(deltas)))
    error = deltas.std(ddof=1) / math.sqrt(len(deltas))
    expected = deltas.mean() - np.quantile(t, [0.975, 0.025]) * error
    found = paired_bootstrap(deltas, interval="studentized", n_resamples=50_000)
    assert (found.low, found.high) == pytest.approx(expected, abs=0.06 * error)


@pytest.mark.parametrize("n", [2, 3, 10, 50, 1000])
def test_expanded_gives_a_normal_sample_students_interval(n):
    # The normal approximation of the resampled means, at the expanded level, is mean ± t se.
    tail = expanded_tail(0.025, n)
    width = -scipy.stats.norm.ppf(tail) * math.sqrt((n - 1) / n)
    assert width == pytest.approx(scipy.stats.t.ppf(0.975, n - 1), rel=1e-9)


@pytest.mark.parametrize("method", ["monte-carlo", "exact"])
def test_expanded_is_a_percentile_interval_of_another_level(method):
    deltas = SAMPLES["normal"]
    found = paired_bootstrap(deltas, interval="expanded", method=method)
    other = paired_bootstrap(deltas, alpha=2 * expanded_tail(0.025, 30), method=method)
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=1e-15)
    assert (found.interval, found.alpha) == ("expanded", 0.05)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_bca_without_resampling_by_enumeration(n):
    deltas = np.array([0.5, -0.2, 1.1, 0.05, 2.3, -0.7])[:n]
    means = np.sort([np.mean(drawn) for drawn in itertools.product(deltas, repeat=n)])
    mean = deltas.mean()
    share = np.mean(means < mean - 1e-12) + np.mean(abs(means - mean) <= 1e-12) / 2
    bias = scipy.stats.norm.ppf(share)
    centred = deltas - mean
    acceleration = np.sum(centred**3) / (6 * np.sum(centred**2) ** 1.5)
    z = bias + scipy.stats.norm.ppf([0.025, 0.975])
    levels = scipy.stats.norm.cdf(bias + z / (1 - acceleration * z))
    expected = [means[min(math.ceil(level * n**n - 1e-9) - 1, n**n - 1)] for level in levels]
    found = paired_bootstrap(deltas, interval="bca", method="exact")
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)


def test_the_acceleration_is_a_sixth_of_the_skewness_over_root_n():
    deltas = SAMPLES["exponential"]
    expected = scipy.stats.skew(deltas) / (6 * math.sqrt(len(deltas)))
    assert jackknife_acceleration(deltas, np.ones(25)) == pytest.approx(expected, rel=1e-10)
    sizes = np.random.default_rng(0).uniform(0.5, 2.0, 25)
    without = [(deltas.sum() - x) / (sizes.sum() - y) for x, y in zip(deltas, sizes, strict=True)]
    pulls = np.mean(without) - without
    expected = np.sum(pulls**3) / (6 * np.sum(pulls**2) ** 1.5)
    assert jackknife_acceleration(deltas, sizes) == pytest.approx(expected, rel=1e-10)


def test_no_bias_and_no_skewness_leave_the_percentile_interval():
    assert bca_tails(0.025, 0.0, 0.0) == (0.025, 0.025)
    deltas = [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]
    percentile, bca = (
        paired_bootstrap(deltas, method="exact", interval=kind) for kind in ("percentile", "bca")
    )
    assert (bca.low, bca.high) == (percentile.low, percentile.high)


@pytest.mark.parametrize("interval", KINDS)
def test_one_sided_alternatives_have_open_intervals_of_the_whole_alpha(interval):
    deltas = SAMPLES["exponential"]
    both = paired_bootstrap(deltas, interval=interval, alpha=0.1)
    greater = paired_bootstrap(deltas, interval=interval, alternative="greater")
    less = paired_bootstrap(deltas, interval=interval, alternative="less")
    assert (greater.low, greater.high) == (both.low, math.inf)
    assert (less.low, less.high) == (-math.inf, both.high)


@pytest.mark.parametrize("method", ["monte-carlo", "exact"])
@pytest.mark.parametrize("value", [0.0, -0.0, 0.3, 2**0.5, 1e300, -1e-300])
@pytest.mark.parametrize("interval", KINDS)
def test_a_constant_sample_gives_that_constant(interval, value, method):
    if (interval, method) == ("studentized", "exact"):
        method = "monte-carlo"
    found = paired_bootstrap([value] * 10, interval=interval, method=method, n_resamples=99)
    assert (found.low, found.delta, found.high) == (value,) * 3
    assert math.copysign(1.0, found.low) == 1.0 or value < 0


def test_two_differences():
    # Every second resample draws one of them twice and has no spread: then t is infinite.
    found = {kind: paired_bootstrap([0.1, 0.3], interval=kind) for kind in KINDS}
    assert (found["studentized"].low, found["studentized"].high) == (-math.inf, math.inf)
    for kind in ("percentile", "expanded", "bca"):
        assert (found[kind].low, found[kind].high) == (0.1, 0.3)


@pytest.mark.parametrize("interval", ["expanded", "bca", "studentized"])
def test_one_difference_is_too_few(interval):
    with pytest.raises(InsufficientSampleError, match="1 queries, and at least 2 are needed"):
        paired_bootstrap([0.1], interval=interval)
    with pytest.raises(InsufficientSampleError, match="1 clusters, and at least 2 are needed"):
        paired_bootstrap([0.1, 0.2, 0.4], interval=interval, clusters=["s", "s", "s"])


@pytest.mark.parametrize("interval", ["expanded", "bca", "studentized"])
@given(st.lists(st.integers(-8, 8).map(lambda k: k / 7), min_size=2, max_size=30))
def test_swapping_the_runs_negates_the_interval(interval, values):
    options = {"interval": interval, "n_resamples": 150}
    found = paired_bootstrap(values, **options)
    swapped = paired_bootstrap([-value for value in values], **options)
    assert (swapped.low, swapped.high) == pytest.approx((-found.high, -found.low), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("interval", KINDS)
def test_neither_magnitude_nor_budget_changes_an_interval(interval):
    deltas = np.random.default_rng(0).normal(0.01, 1.0, 500)
    found = paired_bootstrap(deltas, interval=interval, n_resamples=600)
    with memory_budget(2**20):
        assert paired_bootstrap(deltas, interval=interval, n_resamples=600) == found
    for exponent in (-900, 900):
        scaled = paired_bootstrap(np.ldexp(deltas, exponent), interval=interval, n_resamples=600)
        ends = [math.ldexp(end, -exponent) for end in (scaled.low, scaled.high)]
        assert ends == pytest.approx([found.low, found.high], rel=1e-12)


@pytest.mark.parametrize("interval", KINDS)
def test_every_backend_gives_the_same_interval(user_backend, interval):
    deltas = np.random.default_rng(4).exponential(1.0, 70) - 0.8
    with user_backend.precise():
        array = user_backend.asarray(deltas)
    expected = paired_bootstrap(deltas, interval=interval, n_resamples=900)
    found = paired_bootstrap(array, interval=interval, n_resamples=900)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("interval", KINDS)
def test_one_transfer_to_the_host(interval):
    deltas = np.random.default_rng(0).normal(0.3, 1.0, 80)
    array, syncs = fake_array(deltas)
    found = paired_bootstrap(array, interval=interval, n_resamples=300)
    expected = paired_bootstrap(deltas, interval=interval, n_resamples=300)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-13)
    assert syncs.count == 1


@pytest.mark.parametrize("interval", ["expanded", "bca", "studentized"])
def test_what_is_not_finite_is_named(user_backend, interval):
    with user_backend.precise():
        array = user_backend.asarray(np.array([0.1, math.nan, 0.3, math.inf]))
    with pytest.raises(
        ValueError, match=r"deltas has 2 of 4 values that are not finite \(at position 1, 3\)"
    ):
        paired_bootstrap(array, n_resamples=9, interval=interval)


def test_studentized_has_no_exact_form():
    with pytest.raises(ValueError, match=r'interval="studentized" needs resamples .* use method="auto"'):
        paired_bootstrap([0.1, 0.2], interval="studentized", method="exact")


def test_an_exact_comparison_resamples_a_studentized_interval_only_if_told_auto():
    from ranklens.core import MetricResult

    a = MetricResult("AP", {f"q{i}": 0.1 * (i % 5) for i in range(30)})
    b = MetricResult("AP", {f"q{i}": 0.1 * (i % 7) for i in range(30)})
    found = compare(a, b, method="auto", interval="studentized", n_resamples=500)
    assert (found.n_permutations, found.n_resamples, found.interval) == (0, 500, "studentized")
    with pytest.raises(ValueError, match='interval="studentized" needs resamples'):
        compare(a, b, method="exact", interval="studentized")


def test_golden_intervals():
    deltas = (np.arange(40.0) % 7 - 2.5) / 8
    ends = {
        kind: (round(found.low, 9), round(found.high, 9))
        for kind in KINDS
        for found in [paired_bootstrap(deltas, interval=kind)]
    }
    assert ends == {
        "percentile": (-0.028125, 0.121875),
        "expanded": (-0.03125, 0.125),
        "bca": (-0.028125, 0.121875),
        "studentized": (-0.031858746, 0.12563841),
    }
    design = {"weights": 1 + np.arange(40) % 3, "clusters": np.arange(40) // 2}
    found = paired_bootstrap(deltas, interval="bca", **design)
    assert (found.low, found.high) == pytest.approx((-0.04305840303, 0.12579113924), abs=1e-10)
    p = permutation_test(deltas, margin=0.05, alternative="greater", **design)
    assert p == pytest.approx(238 / 10_001, rel=1e-14)
    assert str(found).endswith("(95% bca interval, 40 queries in 20 units, 10000 resamples, seed 0)")
