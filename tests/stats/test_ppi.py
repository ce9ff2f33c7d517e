"""Prediction-powered comparison: closed forms, invariances, coverage, and bad input."""

import dataclasses
import math
import warnings
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from ranklens.core import (
    DataWarning,
    InsufficientSampleError,
    MetricResult,
    MissingDependencyError,
    SmallSampleWarning,
)
from ranklens.stats import MIN_GOLD, ppi_compare

Z = NormalDist().inv_cdf(0.975)


def result(values, first=0, metric="AP"):
    return MetricResult(metric, {f"q{first + i:04}": float(value) for i, value in enumerate(values)})


def compare_differences(gold, proxy, only, **options):
    """Compare where run A is zero everywhere, so that run B holds the differences."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        return ppi_compare(
            result([0.0] * (len(proxy) + len(only))),
            result([*proxy, *only]),
            result([0.0] * len(gold)),
            result(gold),
            **options,
        )


def se_of(found):
    return (found.ci_high - found.ci_low) / (2 * Z)


def test_a_constant_bias_of_the_proxy_is_removed():
    gold = [0.2, 0.0, 0.1, 0.1]
    found = compare_differences(gold, [g + 0.1 for g in gold], [0.2, 0.3] * 4, lam=1)
    assert found.delta == pytest.approx(0.15, abs=1e-15)
    assert found.lam == 1.0
    assert found.proxy_delta == pytest.approx((0.8 + 2.0) / 12)
    assert (found.n_gold, found.n_proxy) == (4, 8)


def test_a_proxy_without_spread_is_given_no_weight():
    found = compare_differences([1, 2, 4, 5], [1] * 4, [1] * 12)
    assert (found.lam, found.delta) == (0.0, 3.0)
    assert se_of(found) == pytest.approx(0.9128709, abs=5e-8)
    assert found.correlation is None


def test_a_perfect_proxy():
    found = compare_differences([1, 2, 4, 5], [1, 2, 4, 5], [1, 2, 4, 5] * 3)
    assert found.lam == pytest.approx(0.9375, rel=1e-15)
    assert found.delta == pytest.approx(3.0, rel=1e-15)
    assert se_of(found) == pytest.approx(0.4505626, abs=5e-8)
    assert found.correlation == pytest.approx(1.0)
    assert found.n_effective == pytest.approx(4 * (0.9128709 / 0.4505626) ** 2, rel=1e-6)


@pytest.mark.parametrize("only", [[], [7.0]])
@pytest.mark.parametrize("lam", [None, 0.5, 1.0])
def test_without_proxy_only_queries_the_gold_ones_decide(only, lam):
    found = compare_differences([1, 2, 4, 5], [1, 2, 4, 5], only, lam=lam)
    assert (found.lam, found.delta) == (0.0, 3.0)
    assert se_of(found) == pytest.approx(0.9128709, abs=5e-8)
    assert found.n_effective == pytest.approx(4.0)


def test_two_gold_queries():
    found = compare_differences([5, 6], [4.9, 6.1], [5.2, 6.1])
    assert found.lam == pytest.approx(0.784314, abs=5e-7)
    assert (found.delta, found.ci_low, found.ci_high) == pytest.approx((5.618, 4.923, 6.312), abs=5e-4)


def test_a_weight_of_zero_is_the_classical_interval_of_the_gold_queries():
    rng = np.random.default_rng(1)
    gold = rng.normal(0.1, 0.3, 40)
    found = compare_differences(gold, rng.normal(size=40), rng.normal(size=100), lam=0)
    half = Z * gold.std(ddof=1) / math.sqrt(40)
    assert found.delta == pytest.approx(gold.mean())
    assert (found.ci_low, found.ci_high) == pytest.approx((gold.mean() - half, gold.mean() + half))
    assert found.p_value == pytest.approx(math.erfc(abs(gold.mean()) / half * Z / math.sqrt(2)))


def test_the_estimated_weight_minimises_the_variance():
    rng = np.random.default_rng(2)
    proxy, only = rng.normal(size=60), rng.normal(size=300)
    gold = 0.8 * proxy + rng.normal(0, 0.5, 60)
    best = compare_differences(gold, proxy, only)
    for shift in (-0.1, 0.1):
        assert se_of(compare_differences(gold, proxy, only, lam=best.lam + shift)) > se_of(best)
    assert best.n_effective > 60


def test_a_useless_proxy_costs_nothing_and_a_reversed_one_is_used():
    rng = np.random.default_rng(3)
    proxy, only = rng.normal(size=60), rng.normal(size=300)
    gold = -proxy + rng.normal(0, 0.5, 60)
    found = compare_differences(gold, proxy, only)
    assert found.lam < 0
    assert found.correlation < -0.8


def test_interval_and_p_value_never_disagree():
    rng = np.random.default_rng(4)
    for reference in ("normal", "t"):
        for _ in range(100):
            proxy, only = rng.normal(size=12), rng.normal(size=50)
            gold = proxy + rng.normal(0.4, 1, 12)
            found = compare_differences(gold, proxy, only, reference=reference)
            assert (found.p_value < found.alpha) == (found.ci_low > 0 or found.ci_high < 0)


def test_swapping_the_runs_negates_the_difference():
    rng = np.random.default_rng(5)
    pa, pb, ga, gb = (result(rng.random(n)) for n in (90, 90, 40, 40))
    one, other = ppi_compare(pa, pb, ga, gb), ppi_compare(pb, pa, gb, ga)
    assert other.delta == pytest.approx(-one.delta)
    assert (other.ci_low, other.ci_high) == pytest.approx((-one.ci_high, -one.ci_low))
    assert other.p_value == pytest.approx(one.p_value)
    assert one.mean_b - one.mean_a == pytest.approx(one.delta)


def test_the_order_of_the_queries_changes_nothing():
    rng = np.random.default_rng(6)
    results = [result(rng.random(n)) for n in (90, 90, 40, 40)]
    turned = [MetricResult("AP", dict(reversed(list(r.per_query.items())))) for r in results]
    assert ppi_compare(*results) == ppi_compare(*turned)


def test_no_spread_at_all_is_certain_either_way():
    same = compare_differences([0.0] * 4, [0.0] * 4, [0.0] * 8)
    assert (same.delta, same.p_value, same.ci_low, same.ci_high) == (0.0, 1.0, 0.0, 0.0)
    apart = compare_differences([0.3] * 4, [0.1 + 0.2] * 4, [0.3] * 8)
    assert (apart.p_value, apart.ci_low) == (0.0, apart.ci_high)


def test_rounding_is_not_taken_for_a_difference():
    a, b = result([0.3] * 12), result([0.1 + 0.2] * 12)
    gold_a, gold_b = result([0.3] * 4), result([0.1 + 0.2] * 4)
    with pytest.warns(SmallSampleWarning):
        found = ppi_compare(a, b, gold_a, gold_b)
    assert (found.delta, found.p_value) == (0.0, 1.0)


def test_a_p_value_far_out_is_small_but_not_zero():
    rng = np.random.default_rng(7)
    found = compare_differences(1e6 + rng.normal(size=40), rng.normal(size=40), rng.normal(size=50))
    assert 0 < found.p_value < 1e-300


def test_proxy_queries_of_one_run_only_are_not_used():
    rng = np.random.default_rng(8)
    pa, pb, ga, gb = (result(rng.random(n)) for n in (90, 90, 40, 40))
    more = MetricResult("AP", dict(pb.per_query) | {"other": 1.0})
    with pytest.warns(DataWarning, match="0 of A, 1 of B"):
        found = ppi_compare(pa, more, ga, gb)
    assert found == dataclasses.replace(ppi_compare(pa, pb, ga, gb), n_only_b=1)


# Strata


def stratified(n_gold, n_only, shift, rng):
    proxy = rng.normal(shift, 1, n_gold + n_only)
    return proxy[:n_gold] + rng.normal(0, 0.3, n_gold), proxy[:n_gold], proxy[n_gold:]


def test_one_stratum_is_no_stratum():
    rng = np.random.default_rng(9)
    gold, proxy, only = stratified(30, 100, 0.2, rng)
    plain = compare_differences(gold, proxy, only)
    one = compare_differences(gold, proxy, only, strata={f"q{i:04}": "x" for i in range(130)})
    assert one.lam_by_stratum == (("x", plain.lam),)
    assert one.delta == pytest.approx(plain.delta)
    assert one.p_value == pytest.approx(plain.p_value)


def test_strata_are_weighted_by_their_size_with_a_weight_of_the_proxy_each():
    rng = np.random.default_rng(10)
    parts = {"hard": stratified(30, 270, 2.0, rng), "easy": stratified(40, 60, 0.0, rng)}
    alone = {name: compare_differences(*part) for name, part in parts.items()}
    proxy, gold, strata = {}, {}, {}
    for name, (g, p, u) in parts.items():
        for i, value in enumerate([*p, *u]):
            proxy[f"{name}{i}"] = value
            strata[f"{name}{i}"] = name
        gold |= {f"{name}{i}": value for i, value in enumerate(g)}
    results = [
        MetricResult("AP", values)
        for values in (dict.fromkeys(proxy, 0.0), proxy, dict.fromkeys(gold, 0.0), gold)
    ]
    found = ppi_compare(*results, strata=strata)
    weight = {"hard": 300 / 400, "easy": 100 / 400}
    assert dict(found.lam_by_stratum) == pytest.approx({name: row.lam for name, row in alone.items()})
    assert found.delta == pytest.approx(sum(weight[name] * row.delta for name, row in alone.items()))
    assert found.lam == pytest.approx(sum(weight[name] * row.lam for name, row in alone.items()))
    variance = sum((weight[name] * se_of(row)) ** 2 for name, row in alone.items())
    assert se_of(found) == pytest.approx(math.sqrt(variance))


def test_a_stratum_needs_gold_queries():
    strata = {f"q{i:04}": "a" if i < 39 else "b" for i in range(90)}
    with pytest.raises(InsufficientSampleError, match="1 gold queries in stratum 'b', and at least 2"):
        compare_differences([0.0] * 40, [0.0] * 40, [0.0] * 50, strata=strata)


def test_a_query_without_a_stratum_is_named():
    strata = {f"q{i:04}": "a" for i in range(89)}
    with pytest.raises(ValueError, match="strata gives no stratum for query 'q0089'"):
        compare_differences([0.0] * 40, [0.0] * 40, [0.0] * 50, strata=strata)


# Student's t


def test_student_t_is_wider_and_counts_the_estimated_weight():
    from scipy.stats import t

    rng = np.random.default_rng(11)
    gold, proxy, only = stratified(12, 100, 0.3, rng)
    given = compare_differences(gold, proxy, only, lam=0.5)
    given_t = compare_differences(gold, proxy, only, lam=0.5, reference="t")
    ratio = (given_t.ci_high - given_t.ci_low) / (given.ci_high - given.ci_low)
    assert ratio == pytest.approx(t.ppf(0.975, 11) / Z)
    fitted = compare_differences(gold, proxy, only)
    lam = fitted.lam
    residual = (gold - lam * proxy).var(ddof=2)
    se = math.sqrt(lam**2 * only.var(ddof=1) / 100 + residual / 12)
    fitted_t = compare_differences(gold, proxy, only, reference="t")
    assert fitted_t.ci_high - fitted_t.delta == pytest.approx(t.ppf(0.975, 10) * se)
    assert fitted_t.p_value == pytest.approx(2 * t.sf(abs(fitted_t.delta) / se, 10))
    assert fitted_t.reference == "t"


def test_student_t_with_an_estimated_weight_needs_three_gold_queries():
    with pytest.raises(InsufficientSampleError, match="2 gold queries, and at least 3 are needed"):
        compare_differences([5, 6], [4.9, 6.1], [5.2, 6.1], reference="t")
    assert compare_differences([5, 6], [4.9, 6.1], [5.2, 6.1], reference="t", lam=1).n_gold == 2


def test_student_t_without_scipy_comes_with_the_install_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "scipy", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ranklens\[stats\]'"):
        compare_differences([1, 2, 4], [1, 2, 4], [5, 6, 7], reference="t")


# Bad input


def test_few_gold_queries_warn_at_the_callers_line():
    values = [result([i / 10 % 1 for i in range(n)]) for n in (90, 90, 29, 29)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ppi_compare(*values)  # the caller's line
    (warning,) = caught
    assert f"only 29 gold queries, and an interval of fewer than {MIN_GOLD}" in str(warning.message)
    line = Path(warning.filename).read_text("utf-8").splitlines()[warning.lineno - 1]
    assert "# the caller's line" in line


def test_fewer_than_two_gold_queries_are_an_error():
    with pytest.raises(InsufficientSampleError, match="1 gold queries, and at least 2 are needed"):
        compare_differences([1.0], [1.0], [1.0, 2.0])
    with pytest.raises(InsufficientSampleError, match="0 gold queries"):
        compare_differences([], [], [1.0, 2.0])


def test_a_gold_query_without_proxy_values_is_named():
    with pytest.raises(
        ValueError, match=r"gold query 'q0002' has no proxy value in both runs \(2 such queries\)"
    ):
        ppi_compare(result([0.0] * 2), result([0.0] * 4), result([0.0] * 4), result([0.0] * 4))


def test_results_of_two_measures_are_refused():
    with pytest.raises(ValueError, match="all four results must be of one measure, got AP, RR"):
        ppi_compare(result([0.0]), result([0.0], metric="RR"), result([0.0]), result([0.0]))


def test_plain_mappings_are_refused():
    with pytest.raises(TypeError, match="gold_a must be a MetricResult, got dict"):
        ppi_compare(result([0.0]), result([0.0]), {"q0000": 0.0}, result([0.0]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lam": float("nan")}, "lam must be a finite number"),
        ({"lam": True}, "lam must be a finite number"),
        ({"alpha": 1.5}, "alpha must lie between 0 and 1, got 1.5"),
        ({"reference": "cauchy"}, "reference must be one of normal, t, got 'cauchy'"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        compare_differences([1.0, 2.0], [1.0, 2.0], [1.0, 2.0], **options)


def test_a_value_that_is_not_finite_names_its_query():
    with pytest.raises(ValueError, match=r"gold_b has 1 value that is not finite \(q0001: nan\)"):
        compare_differences([1.0, float("nan")], [1.0, 2.0], [1.0, 2.0])


def test_queries_of_one_run_only_are_counted_and_warned_of():
    def values(last, step):
        return [(i % step) / step for i in range(last)]

    with pytest.warns(
        DataWarning,
        match=r"proxy values of one run only are left out \(queries: 20 of A, 5 of B\); "
        r"gold values of one run only are not counted as gold \(queries: 10 of A, 0 of B\)",
    ):
        found = ppi_compare(
            result(values(100, 7)),
            result(values(85, 5), first=20),
            result(values(50, 7), first=20),
            result(values(40, 5), first=20),
        )
    assert (found.n_gold, found.n_proxy, found.n_only_a, found.n_only_b) == (40, 40, 30, 5)
    assert "queries of one run only: 30 of A, 5 of B" in str(found)
    assert found.to_dict()["n_only_a"] == 30


def test_the_same_queries_of_both_runs_are_counted_without_a_word():
    found = ppi_compare(result([0.1] * 50), result([0.2] * 50), result([0.1] * 40), result([0.3] * 40))
    assert (found.n_only_a, found.n_only_b) == (0, 0)
    assert "of one run only" not in str(found)


@pytest.mark.parametrize("lam", ["x", [1], True, math.nan])
def test_a_weight_that_is_no_number_is_refused(lam):
    with pytest.raises(ValueError, match="lam must be a finite number"):
        ppi_compare(result([0.1] * 50), result([0.2] * 50), result([0.1] * 40), result([0.3] * 40), lam=lam)
