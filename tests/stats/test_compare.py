"""One pair of runs: the interval, the p-value, the counts, and how they hang together."""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklens.arrays import use_backend
from ranklens.core import InsufficientSampleError, MetricResult, SmallSampleWarning
from ranklens.stats import compare, paired_bootstrap, paired_deltas, permutation_test


def result(values, metric="nDCG@10"):
    return MetricResult(metric, {f"q{i:03}": float(value) for i, value in enumerate(values)})


def runs(n=50, seed=0, shift=0.03):
    rng = np.random.default_rng(seed)
    a = rng.random(n)
    return result(a), result(np.clip(a + rng.normal(shift, 0.1, n), 0, 1))


@pytest.mark.parametrize("method", ["monte-carlo", "exact"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_numbers_are_those_of_the_single_functions(method, alternative):
    a, b = runs()
    found = compare(a, b, seed=7, method=method, alternative=alternative)
    _, deltas = paired_deltas(a.per_query, b.per_query)
    options = {"seed": 7, "method": method, "alternative": alternative}
    interval = paired_bootstrap(deltas, **options)
    assert found.p_value == permutation_test(deltas, **options)
    assert (found.delta, found.ci_low, found.ci_high) == (interval.delta, interval.low, interval.high)


def test_means_are_over_the_paired_queries_and_agree_with_the_difference():
    a, b = runs()
    more_a = MetricResult(a.metric, dict(a.per_query) | {"only a": 1.0, "also a": 1.0})
    more_b = MetricResult(b.metric, dict(b.per_query) | {"only b": 1.0})
    found = compare(more_a, more_b)
    assert found.mean_a == a.mean
    assert found.mean_b == b.mean
    assert found.mean_b - found.mean_a == pytest.approx(found.delta, abs=1e-15)
    assert (found.n_queries, found.n_only_a, found.n_only_b) == (50, 2, 1)
    assert found.p_value == compare(a, b).p_value


def test_wins_ties_and_losses_count_every_query():
    a = result([0.5] * 20)
    b = result([0.6] * 8 + [0.5] * 7 + [0.2] * 5)
    found = compare(a, b)
    assert (found.wins, found.ties, found.losses) == (8, 7, 5)


def test_rounding_is_a_tie():
    found = compare(result([0.3] * 19 + [0.5]), result([0.1 + 0.2] * 19 + [0.501]))
    assert (found.wins, found.ties, found.losses) == (1, 19, 0)


def test_the_effect_is_the_standardised_mean_difference():
    a, b = runs()
    _, deltas = paired_deltas(a.per_query, b.per_query)
    assert compare(a, b).effect == pytest.approx(deltas.mean() / deltas.std(ddof=1), rel=1e-12)


def test_equal_differences_have_no_standardised_effect():
    found = compare(result([0.2] * 20), result([0.5] * 20), method="exact")
    assert found.effect is None
    assert found.p_value == 2 * 2.0**-20
    assert (found.ci_low, found.ci_high) == pytest.approx((0.3, 0.3), abs=1e-15)


def test_identical_runs_have_nothing_to_show():
    a, _ = runs()
    for method in ("monte-carlo", "exact", "auto"):
        found = compare(a, a, method=method)
        assert (found.delta, found.ci_low, found.ci_high, found.p_value) == (0.0, 0.0, 0.0, 1.0)
        assert not found.significant
        assert (found.wins, found.ties, found.losses) == (0, 50, 0)


def test_what_reproduces_a_result_is_recorded():
    a, b = runs()
    found = compare(a, b, seed=np.random.default_rng(3), n_permutations=500, n_resamples=700)
    assert (found.n_permutations, found.n_resamples) == (500, 700)
    assert found == compare(a, b, seed=found.seed, n_permutations=500, n_resamples=700)


def test_an_exact_result_names_its_step_and_counts_no_resamples():
    a, b = runs(30)
    found = compare(a, b, method="exact")
    assert (found.n_permutations, found.n_resamples) == (0, 0)
    assert found.method not in ("exact", "monte-carlo")
    assert found.log10_p == pytest.approx(math.log10(found.p_value), abs=1e-9)
    monte_carlo = compare(a, b)
    assert monte_carlo.method == "monte-carlo"
    assert abs(monte_carlo.p_value - found.p_value) <= 5 * max(monte_carlo.p_error, 1e-4)


def test_auto_is_exact_where_that_is_cheap():
    a, b = runs(30)
    assert compare(a, b, method="auto") == compare(a, b, method="exact")


def test_a_one_sided_alternative_has_a_one_sided_interval():
    a, b = runs()
    greater, less = (compare(a, b, alternative=side, method="exact") for side in ("greater", "less"))
    assert greater.ci_high == math.inf
    assert less.ci_low == -math.inf
    assert greater.ci_low > compare(a, b, method="exact").ci_low
    assert greater.p_value + less.p_value >= 1.0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=20, max_size=40), st.randoms())
def test_swapping_the_runs_negates_the_difference_and_keeps_the_p_value(pairs, random):
    a, b = (result([pair[side] / 10 for pair in pairs]) for side in (0, 1))
    one, other = compare(a, b, n_permutations=200), compare(b, a, n_permutations=200)
    assert other.p_value == one.p_value
    assert (other.wins, other.losses) == (one.losses, one.wins)
    assert (other.ci_low, other.ci_high) == pytest.approx((-one.ci_high, -one.ci_low), abs=1e-14)
    turned = list(a.per_query.items())
    random.shuffle(turned)
    assert compare(MetricResult(a.metric, dict(turned)), b, n_permutations=200) == one


@pytest.mark.parametrize("name", ["jax", "torch", "array_api_strict"])
def test_every_backend_makes_the_same_decisions(name):
    pytest.importorskip(name)
    a, b = runs()
    expected = compare(a, b)
    with use_backend(name):
        found = compare(a, b)
    assert found.p_value == expected.p_value
    assert (found.ci_low, found.ci_high) == pytest.approx((expected.ci_low, expected.ci_high), abs=1e-14)


def test_three_queries_give_numbers_with_a_warning_and_an_explanation():
    a, b = result([0.1, 0.5, 0.8]), result([0.2, 0.6, 1.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = compare(a, b, method="exact")  # the caller's line
    (warning,) = caught
    assert warning.category is SmallSampleWarning
    line = Path(warning.filename).read_text("utf-8").splitlines()[warning.lineno - 1]
    assert "# the caller's line" in line
    assert found.delta == pytest.approx(0.133333, abs=5e-7)
    assert (found.ci_low, found.ci_high) == pytest.approx((0.1, 0.2))
    assert found.p_value == 0.25
    assert "3 non-zero differences cannot give a p-value below 0.2500" in str(found)


def test_the_minimum_can_be_lowered():
    a, b = runs(5)
    assert compare(a, b, min_queries=5).tested


def test_one_paired_query_is_too_few_and_none_is_named():
    with pytest.raises(InsufficientSampleError, match="1 queries, and at least 2"):
        compare(result([0.1]), result([0.2]))
    with pytest.raises(InsufficientSampleError, match="0 queries in common"):
        compare(result([0.1]), MetricResult("nDCG@10", {"other": 0.2}))


def test_two_measures_cannot_be_compared():
    a, b = runs()
    with pytest.raises(ValueError, match="must be of one measure, got 'nDCG@10' and 'AP'"):
        compare(a, MetricResult("AP", b.per_query))


def test_plain_mappings_and_evaluations_are_refused_with_advice():
    a, b = runs()
    with pytest.raises(
        TypeError, match=r"candidate must be a MetricResult, got dict; .*MetricResult\('nDCG@10', val"
    ):
        compare(a, dict(b.per_query))


def test_a_value_that_is_not_finite_names_its_query_and_run():
    a, b = runs()
    bad = MetricResult("nDCG@10", dict(b.per_query) | {"q017": float("nan")})
    with pytest.raises(ValueError, match=r"nDCG@10 of dense has 1 value that is not finite \(q017: nan\)"):
        compare(a, bad, run_b="dense")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha must lie between 0 and 1, got 0"),
        ({"n_permutations": 0}, "n_permutations must be a whole number of at least 1, got 0"),
        ({"n_resamples": 2.5}, "n_resamples must be a whole number of at least 2, got 2.5"),
        ({"n_resamples": "many"}, "n_resamples must be a whole number of at least 2, got 'many'"),
        ({"min_queries": -1}, "min_queries must be a whole number of at least 0"),
        ({"method": "bayes"}, "method must be one of monte-carlo, exact, auto, got 'bayes'"),
        ({"alternative": "both"}, "alternative must be one of two-sided, greater, less, got 'both'"),
        ({"interval": "wald"}, "interval must be one of percentile, expanded, bca, studentized, got 'wald'"),
    ],
)
def test_bad_options_are_named(options, message):
    a, b = runs()
    with pytest.raises(ValueError, match=message):
        compare(a, b, **options)
