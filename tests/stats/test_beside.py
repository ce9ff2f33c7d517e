"""The classical tests beside, and intervals that hold together: against scipy and closed forms."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from ranklens.arrays import use_backend
from ranklens.core import MetricResult, UnknownNameError
from ranklens.core.comparison_table import ComparisonTable
from ranklens.stats import compare, compare_many, simultaneous
from ranklens.stats.beside import t_p_value, wilcoxon_p_value
from ranklens.stats.design import Hypothesis
from ranklens.stats.units import Units

ALTERNATIVES = ("two-sided", "greater", "less")


def pair(deltas):
    a = {f"q{i:03}": 0.5 for i in range(len(deltas))}
    b = {f"q{i:03}": 0.5 + float(delta) for i, delta in enumerate(deltas)}
    return MetricResult("AP", a), MetricResult("AP", b)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_the_paired_t_test_is_scipys(alternative):
    a, b = pair(np.random.default_rng(0).normal(0.05, 0.2, 40))
    found = compare(a, b, beside="t", alternative=alternative)
    right = scipy.stats.ttest_rel(
        list(b.per_query.values()), list(a.per_query.values()), alternative=alternative
    )
    assert found.p_t == pytest.approx(right.pvalue, rel=1e-10)
    assert found.p_wilcoxon is None


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [5, 20, 45])
def test_wilcoxon_without_ties_is_scipys_exact_test(n, alternative):
    deltas = np.random.default_rng(n).normal(0.1, 0.5, n)
    found = wilcoxon_p_value(deltas, Hypothesis(0.0, alternative))
    right = scipy.stats.wilcoxon(deltas, alternative=alternative, method="exact")
    assert found == pytest.approx(right.pvalue, rel=1e-9)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9), st.sampled_from(ALTERNATIVES))
def test_wilcoxon_with_ties_and_zeros_by_enumeration(values, alternative):
    kept = np.array([value for value in values if value], dtype=float)
    ranks = scipy.stats.rankdata(abs(kept))
    sums = np.array([np.dot(signs, ranks) for signs in itertools.product((1, -1), repeat=len(kept))])
    observed = float(np.sum(np.sign(kept) * ranks))
    extreme = {
        "two-sided": abs(sums) >= abs(observed),
        "greater": sums >= observed,
        "less": sums <= observed,
    }[alternative]
    # Tenths are equal up to rounding only: 0.3 - 0.2 is not 0.1.
    deltas = np.array([(value + 5) / 10 - 0.5 for value in values])
    found = wilcoxon_p_value(deltas, Hypothesis(0.0, alternative), size=1.0)
    assert found == pytest.approx(extreme.mean(), rel=1e-12)


def test_a_large_wilcoxon_test_agrees_with_the_normal_approximation():
    deltas = np.random.default_rng(1).normal(0.02, 1.0, 3000)
    right = scipy.stats.wilcoxon(deltas, method="asymptotic").pvalue
    assert wilcoxon_p_value(deltas) == pytest.approx(right, rel=2e-3)


def test_equivalence_is_the_larger_of_two_one_sided_t_tests():
    deltas = np.random.default_rng(2).normal(0.005, 0.1, 60)
    a, b = pair(deltas)
    found = compare(a, b, margin=0.04, beside=("t", "wilcoxon"), method="exact")
    error = deltas.std(ddof=1) / math.sqrt(60)
    above = scipy.stats.t.sf((deltas.mean() + 0.04) / error, 59)
    below = scipy.stats.t.cdf((deltas.mean() - 0.04) / error, 59)
    assert found.p_t == pytest.approx(max(above, below), rel=1e-9)
    assert found.p_value == pytest.approx(found.p_t, rel=0.2)
    assert found.p_wilcoxon == pytest.approx(
        max(
            scipy.stats.wilcoxon(deltas + 0.04, alternative="greater", method="exact").pvalue,
            scipy.stats.wilcoxon(deltas - 0.04, alternative="less", method="exact").pvalue,
        ),
        rel=1e-6,
    )
    assert found.margin == 0.04


def test_equivalence_and_non_inferiority_say_what_they_show():
    a, b = pair(np.random.default_rng(3).normal(0.0, 0.02, 50))
    assert compare(a, b, margin=0.02, method="exact").significant
    assert compare(a, b, margin=0.02, alternative="greater", method="exact").significant
    assert not compare(a, b, margin=0.001, method="exact").significant


def test_t_under_a_design_is_the_linearised_ratio():
    rng = np.random.default_rng(4)
    deltas, weights = rng.normal(0.1, 0.5, 30), rng.uniform(0.5, 4.0, 30)
    units = Units.of(weights, [i % 11 for i in range(30)])
    totals, sizes = units.totals(deltas), units.sizes
    ratio = totals.sum() / sizes.sum()
    error = math.sqrt(11 / 10 * np.sum((totals - ratio * sizes) ** 2)) / sizes.sum()
    assert t_p_value(deltas, units) == pytest.approx(2 * scipy.stats.t.sf(abs(ratio) / error, 10), rel=1e-10)


def test_ranks_know_no_weights():
    a, b = pair(np.random.default_rng(5).normal(0.1, 0.3, 25))
    found = compare(a, b, beside=("t", "wilcoxon"), weights=list(range(1, 26)))
    assert found.p_wilcoxon is None
    assert found.p_t is not None


@pytest.mark.parametrize(("value", "p"), [(0.0, 1.0), (0.25, 0.0)])
def test_no_spread(value, p):
    assert t_p_value(np.full(20, value), None, size=1.0) == p
    assert t_p_value(np.full(20, value), None, Hypothesis(0.0, "less"), size=1.0) == 1.0
    assert wilcoxon_p_value(np.full(20, value)) == (1.0 if value == 0.0 else 2.0**-19)


def test_an_unknown_test_beside_is_named():
    a, b = pair([0.1] * 20)
    with pytest.raises(ValueError, match="beside must be one of t, wilcoxon, got 'welch'"):
        compare(a, b, beside=["t", "welch"])


def experiment(n_runs=6, seed=0):
    rng = np.random.default_rng(seed)
    ids = [f"q{i:02}" for i in range(30)]
    return {f"r{k}": MetricResult("AP", dict(zip(ids, rng.random(30), strict=True))) for k in range(n_runs)}


def test_simultaneous_intervals_are_bonferronis_within_each_family():
    table = compare_many(experiment(), baseline="r0", method="exact")
    together = simultaneous(table)
    assert isinstance(together, ComparisonTable)
    t = scipy.stats.t.ppf(1 - 0.025 / 5, 29)
    for row, alone in zip(together, table, strict=True):
        assert row.simultaneous_low == pytest.approx(alone.delta - t * alone.se, abs=1e-12)
        assert row.simultaneous_high == pytest.approx(alone.delta + t * alone.se, abs=1e-12)
        assert row.simultaneous_method == "bonferroni"
        unset = {"simultaneous_low": None, "simultaneous_high": None, "simultaneous_method": None}
        assert dataclasses.replace(row, **unset) == alone


def test_one_sided_families_and_untested_rows():
    table = compare_many(experiment(), baseline="r0", alternative="greater", correction=None)
    untested = dataclasses.replace(table[0], p_value=None, ci_low=None, ci_high=None, se=None)
    *rows, last = simultaneous([*table, untested])
    assert last == untested
    t = scipy.stats.t.ppf(1 - 0.05 / 5, 29)
    assert rows[0].simultaneous_low == pytest.approx(rows[0].delta - t * rows[0].se, abs=1e-12)
    assert {row.simultaneous_high for row in rows} == {math.inf}


def test_a_comparison_without_a_standard_error_is_named():
    row = dataclasses.replace(compare_many(experiment(2), correction=None)[0], se=None)
    with pytest.raises(ValueError, match="the comparison of r1 with r0 on AP has no standard error"):
        simultaneous([row])


def deltas_of(runs, rows):
    return np.array([
        [runs[row.run_b].per_query[q] - runs[row.run_a].per_query[q] for q in sorted(runs["r0"].per_query)]
        for row in rows
    ])  # fmt: skip


def test_the_dependence_of_a_family_counts_where_the_values_are_given():
    runs = experiment()
    table = compare_many(runs, baseline="r0")
    together = simultaneous(table, runs)
    reach = {round((row.simultaneous_high - row.delta) / row.se, 9) for row in together}
    assert len(reach) == 1
    deltas = deltas_of(runs, table)
    centred = deltas - deltas.mean(axis=1, keepdims=True)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (40_000, 30))
    flipped = signs[:, None, :] * centred
    t = flipped.mean(axis=2) / (flipped.std(axis=2, ddof=1) / math.sqrt(30))
    assert reach.pop() == pytest.approx(np.quantile(abs(t).max(axis=1), 0.95), rel=0.03)
    assert together[0].simultaneous_high < simultaneous(table)[0].simultaneous_high


def test_a_family_of_one_run_many_times_needs_no_wider_intervals():
    runs = experiment(2)
    copies = {"r0": runs["r0"], **{f"copy{i}": runs["r1"] for i in range(20)}}
    one = simultaneous(compare_many(runs, baseline="r0"), runs)[0]
    many = simultaneous(compare_many(copies, baseline="r0"), copies)
    assert {row.simultaneous_low for row in many} == {one.simultaneous_low}


@pytest.mark.parametrize("name", ["jax", "torch", "array_api_strict"])
def test_every_backend_gives_the_same_simultaneous_intervals(name):
    pytest.importorskip(name)
    runs = experiment()
    part = MetricResult("AP", dict(list(runs["r3"].per_query.items())[:25]))
    runs = {**runs, "r3": part, "same": runs["r0"]}
    table = compare_many(runs, baseline="r0")
    expected = simultaneous(table, runs, n_permutations=700)
    with use_backend(name):
        found = simultaneous(table, runs, n_permutations=700)
    for one, other in zip(expected, found, strict=True):
        assert one.simultaneous_low == pytest.approx(other.simultaneous_low, abs=1e-12)
    assert (expected[-1].simultaneous_low, expected[-1].simultaneous_high) == (0.0, 0.0)


def test_one_sided_intervals_with_the_values_are_the_quantile_of_the_largest_t():
    runs = experiment()
    for alternative, side in (("greater", 1.0), ("less", -1.0)):
        table = compare_many(runs, baseline="r0", alternative=alternative)
        together = simultaneous(table, runs)
        deltas = deltas_of(runs, table)
        centred = deltas - deltas.mean(axis=1, keepdims=True)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (40_000, 30))
        flipped = side * signs[:, None, :] * centred
        t = flipped.mean(axis=2) / (flipped.std(axis=2, ddof=1) / math.sqrt(30))
        ends = [row.simultaneous_low if side > 0 else row.simultaneous_high for row in together]
        reach = {round(side * (row.delta - end) / row.se, 9) for row, end in zip(together, ends, strict=True)}
        assert len(reach) == 1
        assert reach.pop() == pytest.approx(np.quantile(t.max(axis=1), 0.95), rel=0.03)


def test_units_and_segments_of_a_family_count_where_they_are_given():
    runs = experiment()
    queries = list(runs["r0"].per_query)
    rng = np.random.default_rng(1)
    design = {
        "weights": dict(zip(queries, rng.uniform(0.5, 3.0, 30).tolist(), strict=True)),
        "clusters": {query: i // 2 for i, query in enumerate(queries)},
    }
    halves = {query: ("de", "fr")[i % 4 // 2] for i, query in enumerate(queries)}
    table = compare_many(runs, baseline="r0", segments=halves, min_queries=5, **design)
    together = simultaneous(table, runs, segments=halves, **design)
    overall = [row for row in together if row.segment is None]
    reach = {round((row.simultaneous_high - row.delta) / row.se, 9) for row in overall}
    weights = np.array(list(design["weights"].values()))
    totals = (deltas_of(runs, overall) * weights).reshape(5, 15, 2).sum(axis=2)
    sizes = weights.reshape(15, 2).sum(axis=1)
    away = totals - (totals.sum(axis=1) / sizes.sum())[:, None] * sizes
    flipped = rng.choice([-1.0, 1.0], (40_000, 15))[:, None, :] * away
    t = flipped.mean(axis=2) / (flipped.std(axis=2, ddof=1) / math.sqrt(15))
    assert reach.pop() == pytest.approx(np.quantile(abs(t).max(axis=1), 0.95), rel=0.03)
    assert not reach
    assert all(row.simultaneous_low < row.delta < row.simultaneous_high for row in together)
    assert {row.family for row in together} == {"AP (5 comparisons)", "AP by segment (10 comparisons)"}


def test_other_values_than_those_compared_are_refused():
    runs = experiment()
    clusters = {q: q[:2] for q in runs["r0"].per_query}
    table = compare_many(runs, baseline="r0", min_queries=2, clusters=clusters)
    with pytest.raises(ValueError, match="was made of other values, weights or clusters"):
        simultaneous(table, runs)
    with pytest.raises(ValueError, match="weights must map query ids to values, got list"):
        simultaneous(table, runs, weights=[1.0] * 30)
    by_segment = compare_many(runs, baseline="r0", segments=clusters, min_queries=2)
    with pytest.raises(ValueError, match="the row of the segment segment=q0 needs the segments"):
        simultaneous(by_segment, runs)
    mixed = [*compare_many(runs, correction=None), *compare_many(runs, correction=None, alternative="less")]
    with pytest.raises(ValueError, match="of one alternative, got less and two-sided"):
        simultaneous(mixed, runs)
    with pytest.raises(UnknownNameError, match="unknown run 'r0'"):
        simultaneous(compare_many(runs, baseline="r0"), {"r1": runs["r1"]})


@pytest.mark.slow
@pytest.mark.parametrize("with_values", [False, True])
def test_simultaneous_intervals_hold_together(with_values):
    rng = np.random.default_rng(7)
    ids = [f"q{i:02}" for i in range(40)]
    held, alone, n_samples = 0, 0, 300
    for _ in range(n_samples):
        values = rng.normal(size=40) + rng.normal(size=(9, 40))
        runs = {f"r{k}": MetricResult("AP", dict(zip(ids, row, strict=True))) for k, row in enumerate(values)}
        rows = compare_many(runs, baseline="r0", method="monte-carlo", n_permutations=300, n_resamples=499)
        together = simultaneous(rows, runs if with_values else None, n_permutations=999)
        held += all(row.simultaneous_low <= 0.0 <= row.simultaneous_high for row in together)
        alone += all(row.ci_low <= 0.0 <= row.ci_high for row in rows)
    assert held / n_samples >= 0.95 - 3.3 * math.sqrt(0.95 * 0.05 / n_samples)
    assert alone / n_samples < 0.9
