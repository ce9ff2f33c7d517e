"""Exact intervals of weighted means whose weights are very uneven: right, nested, or refused."""

import contextlib
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklens import MetricResult, compare, paired_bootstrap
from ranklens.stats.ideal.ratio import UncertainLawError

ONE_HIT = [0.0] * 19 + [1.0]
FEW_HEAVY = [1000.0] * 6 + [1.0] * 14


@pytest.mark.parametrize("interval", ["percentile", "expanded", "bca"])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.5])
def test_few_heavy_queries_and_a_light_hit(interval, alpha):
    asked = {"weights": FEW_HEAVY, "alpha": alpha, "interval": interval}
    exact = paired_bootstrap(ONE_HIT, method="exact", **asked)
    tight = paired_bootstrap(ONE_HIT, n_resamples=40_000, **(asked | {"alpha": alpha * 1.1}))
    wide = paired_bootstrap(ONE_HIT, n_resamples=40_000, **(asked | {"alpha": alpha * 0.9}))
    assert wide.low <= exact.low <= tight.low
    assert tight.high <= exact.high <= wide.high


def test_a_comparison_gives_the_exact_interval_of_few_heavy_queries():
    a = MetricResult("AP", {f"q{i:02}": 0.0 for i in range(20)})
    b = MetricResult("AP", {f"q{i:02}": value for i, value in enumerate(ONE_HIT)})
    weights = dict(zip(a.per_query, FEW_HEAVY, strict=True))
    for method in ("auto", "exact"):
        found = compare(a, b, method=method, weights=weights, alpha=0.1)
        assert (found.ci_low, found.n_resamples) == (0.0, 0)
        assert 0.0006 < found.ci_high < 0.0007


@pytest.mark.parametrize("seed", range(6))
def test_uneven_weights_agree_with_resamples(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([20, 60, 150]))
    weights, deltas = rng.lognormal(0.0, 1.2, n), rng.normal(0.02, 0.2, n) * (rng.random(n) < 0.7)
    exact = paired_bootstrap(deltas, weights=weights, method="exact", alpha=0.2)
    drawn = paired_bootstrap(deltas, weights=weights, n_resamples=100_000, alpha=0.2)
    slack = 0.02 * (drawn.high - drawn.low)
    assert (exact.low, exact.high) == pytest.approx((drawn.low, drawn.high), abs=slack)


@settings(max_examples=25, deadline=None)
@given(
    weights=st.lists(st.sampled_from([0.5, 1.0, 3.7, 40.0, 1000.0]), min_size=12, max_size=30),
    alphas=st.lists(st.floats(0.01, 0.95), min_size=2, max_size=4),
    interval=st.sampled_from(["percentile", "expanded", "bca"]),
    seed=st.integers(0, 2**20),
)
def test_a_higher_confidence_never_gives_a_shorter_interval(weights, alphas, interval, seed):
    deltas = np.random.default_rng(seed).normal(0.1, 1.0, len(weights))
    found = []
    for alpha in sorted(alphas, reverse=True):
        asked = {"weights": weights, "alpha": alpha, "interval": interval}
        with contextlib.suppress(UncertainLawError):
            found.append(paired_bootstrap(deltas, method="exact", **asked))
    assert all(one.low <= one.high for one in found)
    for inner, outer in itertools.pairwise(found):
        assert outer.low <= inner.low
        assert inner.high <= outer.high


def test_weights_too_uneven_for_the_exact_law_are_refused_or_sampled():
    n = 50
    deltas = np.random.default_rng(1).normal(0.02, 0.2, n)
    weights = 100.0 ** np.arange(n)
    with pytest.raises(ValueError, match=r'as uneven as these.*use method="monte-carlo", or "auto"'):
        paired_bootstrap(deltas, weights=weights, method="exact", alpha=0.001)
    ids = [f"q{i:02}" for i in range(n)]
    a = MetricResult("AP", dict.fromkeys(ids, 0.0))
    b = MetricResult("AP", dict(zip(ids, deltas.tolist(), strict=True)))
    with pytest.raises(ValueError, match="as uneven as these"):
        compare(a, b, weights=weights, method="exact", alpha=0.001)
    found = compare(a, b, weights=weights, method="auto", alpha=0.001)
    drawn = paired_bootstrap(deltas, weights=weights, alpha=0.001)
    assert (found.ci_low, found.ci_high, found.n_resamples) == (drawn.low, drawn.high, 10_000)


def test_one_query_that_outweighs_all_others_a_billion_times_has_an_exact_interval():
    deltas = np.random.default_rng(1).normal(0.02, 0.2, 50)
    weights = np.random.default_rng(2).uniform(1.0, 2.0, 50)
    weights[7] = 1e9
    exact = paired_bootstrap(deltas, weights=weights, method="exact")
    drawn = paired_bootstrap(deltas, weights=weights, n_resamples=100_000)
    assert exact.high == pytest.approx(deltas[7], abs=1e-7)
    assert exact.low == pytest.approx(drawn.low, abs=0.01 * (drawn.high - drawn.low))


@pytest.mark.parametrize("method", ["monte-carlo", "exact"])
@pytest.mark.parametrize("n", [2, 9, 12])
def test_a_very_light_query_keeps_its_value(n, method):
    weights = [1e-15] + [1.0] * (n - 1)
    found = paired_bootstrap([0.5] * n, weights=weights, method=method)
    assert (found.low, found.high) == (0.5, 0.5)
    mixed = paired_bootstrap([0.25] + [0.75] * (n - 1), weights=weights, alpha=0.999)
    assert 0.25 <= mixed.low <= mixed.high == pytest.approx(0.75)
