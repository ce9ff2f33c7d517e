"""Weights, clusters and margins: what they mean, by enumeration, and what is refused."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.arrays import use_backend
from ranklens.core import InsufficientSampleError, MetricResult, SmallSampleWarning
from ranklens.stats import (
    compare,
    compare_many,
    compare_segments,
    paired_bootstrap,
    permutation_test,
)
from ranklens.stats.design import Design
from ranklens.stats.resampled import Resampled
from ranklens.stats.units import Units

RNG = np.random.default_rng(0)
DELTAS = np.round(RNG.normal(0.05, 0.2, 12), 3)
WEIGHTS = RNG.integers(1, 9, 12).astype(float)
CLUSTERS = ["a", "a", "b", "c", "c", "c", "d", "e", "f", "f", "g", "h"]


def totals_of(deltas, weights, clusters):
    """Return the totals and sizes of the clusters, by a loop."""
    totals: dict[str, float] = {}
    sizes: dict[str, float] = {}
    for delta, weight, cluster in zip(deltas, weights, clusters, strict=True):
        totals[cluster] = totals.get(cluster, 0.0) + weight * delta
        sizes[cluster] = sizes.get(cluster, 0.0) + weight
    return np.array(list(totals.values())), np.array(list(sizes.values()))


def enumerated_p(totals, alternative):
    sums = np.array([np.dot(signs, totals) for signs in itertools.product((1, -1), repeat=len(totals))])
    band = 1e-12 * np.abs(totals).sum()
    observed = totals.sum()
    extreme = {
        "two-sided": np.abs(sums) >= abs(observed) - band,
        "greater": sums >= observed - band,
        "less": sums <= observed + band,
    }[alternative]
    return extreme.mean()


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(
    ("weights", "clusters"), [(WEIGHTS, None), (None, CLUSTERS), (WEIGHTS, CLUSTERS)], ids=["w", "c", "wc"]
)
def test_units_are_flipped_together(weights, clusters, alternative):
    ones = np.ones(12)
    totals, _ = totals_of(DELTAS, ones if weights is None else weights, clusters or range(12))
    exact = permutation_test(
        DELTAS, method="exact", alternative=alternative, weights=weights, clusters=clusters
    )
    assert exact == enumerated_p(totals, alternative)
    sampled = permutation_test(DELTAS, alternative=alternative, weights=weights, clusters=clusters)
    assert abs(sampled - exact) <= 5 * math.sqrt(exact * (1 - exact) / 10_000) + 1e-4


@pytest.mark.parametrize(
    ("alternative", "right"),
    [
        ("greater", lambda d: enumerated_p(d + 0.1, "greater")),
        ("less", lambda d: enumerated_p(d - 0.1, "less")),
        ("two-sided", lambda d: max(enumerated_p(d + 0.1, "greater"), enumerated_p(d - 0.1, "less"))),
    ],
)
def test_a_margin_shifts_the_differences_and_equivalence_takes_the_larger_p(alternative, right):
    found = permutation_test(DELTAS, method="exact", alternative=alternative, margin=0.1)
    assert found == right(DELTAS)


def test_a_margin_is_counted_per_unit_of_weight():
    totals, sizes = totals_of(DELTAS, WEIGHTS, CLUSTERS)
    found = permutation_test(
        DELTAS, method="exact", alternative="greater", weights=WEIGHTS, clusters=CLUSTERS, margin=0.1
    )
    assert found == enumerated_p(totals + 0.1 * sizes, "greater")


def multiset_ratios(totals, sizes):
    """Return every resampled ratio and its probability, ascending."""
    n = len(totals)
    law: dict[float, float] = {}
    for drawn in itertools.product(range(n), repeat=n):
        ratio = round(totals[list(drawn)].sum() / sizes[list(drawn)].sum(), 12)
        law[ratio] = law.get(ratio, 0.0) + n**-n
    ratios = np.array(sorted(law))
    return ratios, np.cumsum([law[ratio] for ratio in ratios.tolist()])


@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_the_ideal_interval_of_a_ratio_by_enumeration(n):
    deltas, weights = DELTAS[:n], WEIGHTS[:n] + np.arange(n) / 7
    found = paired_bootstrap(deltas, method="exact", weights=weights)
    ratios, cumulated = multiset_ratios(deltas * weights, weights)
    expected = [ratios[np.searchsorted(cumulated, level - 1e-13)] for level in (0.025, 0.975)]
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)
    assert found.delta == pytest.approx(np.average(deltas, weights=weights), abs=1e-15)


@pytest.mark.parametrize("interval", ["percentile", "bca"])
@pytest.mark.parametrize("n", [9, 14, 40])
def test_the_ideal_interval_of_a_ratio_on_a_lattice_is_the_limit_of_many_resamples(n, interval):
    rng = np.random.default_rng(n)
    clusters = np.concatenate([np.arange(n), rng.integers(0, n, n)])
    deltas = rng.choice([-1.0, 0.0, 0.0, 0.5, 1.0], 2 * n)
    exact = paired_bootstrap(deltas, clusters=clusters, method="exact", interval=interval)
    totals, sizes = totals_of(deltas, np.ones(2 * n), clusters)
    drawn = rng.integers(0, n, (400_000, n))
    ratios = totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    tails = Resampled(totals, sizes, np.stack([ratios, np.ones_like(ratios)])).tails(interval, 0.025, ratios)
    # The law has steps: what lies strictly outside an end is less than its tail, and with the end more.
    noise = 5 * math.sqrt(0.025 / 400_000)
    assert np.mean(ratios < exact.low - 1e-9) <= tails.below + noise
    assert np.mean(ratios <= exact.low + 1e-9) >= tails.below - noise
    assert np.mean(ratios > exact.high + 1e-9) <= tails.above + noise
    assert np.mean(ratios >= exact.high - 1e-9) >= tails.above - noise


@pytest.mark.parametrize("method", ["monte-carlo", "exact"])
@pytest.mark.parametrize("clusters", [None, [f"s{i % 37}" for i in range(120)]])
def test_the_interval_of_a_ratio_is_that_of_resampled_ratios(clusters, method):
    rng = np.random.default_rng(1)
    deltas, weights = rng.exponential(1.0, 120) - 0.8, rng.pareto(3.0, 120) + 0.1
    totals, sizes = totals_of(deltas, weights, clusters or range(120))
    drawn = rng.integers(0, len(totals), (200_000, len(totals)))
    ratios = totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    found = paired_bootstrap(deltas, method=method, weights=weights, clusters=clusters, n_resamples=50_000)
    expected = np.quantile(ratios, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx(expected, abs=0.04 * ratios.std())
    assert found.n_units == len(totals)


@pytest.mark.parametrize("interval", ["percentile", "expanded", "bca", "studentized"])
def test_equal_weights_and_clusters_of_one_change_nothing(interval):
    plain = paired_bootstrap(DELTAS, interval=interval, n_resamples=500)
    assert paired_bootstrap(DELTAS, interval=interval, n_resamples=500, weights=[7.5] * 12) == plain
    assert paired_bootstrap(DELTAS, interval=interval, n_resamples=500, clusters=range(12)) == plain
    for options in ({"weights": [0.1] * 12}, {"clusters": list("abcdefghijkl")}):
        assert permutation_test(DELTAS, n_permutations=500, **options) == permutation_test(
            DELTAS, n_permutations=500
        )


@given(st.randoms(use_true_random=False), st.sampled_from([0.25, 2.0, 1024.0]))
def test_neither_names_of_clusters_nor_the_unit_of_weights_matter(random, factor):
    names = sorted(set(CLUSTERS))
    random.shuffle(names)
    renamed = [names["abcdefgh".index(name)] for name in CLUSTERS]
    one = paired_bootstrap(DELTAS, n_resamples=200, weights=WEIGHTS, clusters=CLUSTERS)
    other = paired_bootstrap(DELTAS, n_resamples=200, weights=WEIGHTS * factor, clusters=renamed)
    assert (other.delta, other.low, other.high) == pytest.approx((one.delta, one.low, one.high), abs=1e-15)
    assert permutation_test(DELTAS, n_permutations=200, weights=WEIGHTS * factor) == permutation_test(
        DELTAS, n_permutations=200, weights=WEIGHTS
    )


def test_a_query_of_weight_zero_takes_no_part():
    weights = np.where(np.arange(12) < 9, WEIGHTS, 0.0)
    options = {"n_resamples": 500, "interval": "bca"}
    found = paired_bootstrap(DELTAS, weights=weights, **options)
    without = paired_bootstrap(DELTAS[:9], weights=weights[:9], **options)
    assert (found.delta, found.low, found.high) == (without.delta, without.low, without.high)
    assert (found.n_queries, found.n_units) == (12, 9)
    assert permutation_test(DELTAS, weights=weights, method="exact") == permutation_test(
        DELTAS[:9], weights=weights[:9], method="exact"
    )


def test_units_on_every_backend(backend):
    units = Units.of(WEIGHTS * (np.arange(12) != 5), CLUSTERS)
    found = units.totals_on(backend.asarray(DELTAS), backend)
    expected = units.totals(DELTAS)
    assert found.shape == expected.shape
    from ranklens.arrays import to_host

    np.testing.assert_allclose(to_host(found)[0], expected, atol=1e-15)


@pytest.mark.parametrize("name", ["jax", "torch", "array_api_strict"])
@pytest.mark.parametrize("interval", ["percentile", "expanded", "bca", "studentized"])
def test_every_backend_makes_the_same_decisions(name, interval):
    pytest.importorskip(name)
    options = {"n_resamples": 700, "interval": interval, "weights": WEIGHTS, "clusters": CLUSTERS}
    expected = paired_bootstrap(DELTAS, **options)
    p = permutation_test(DELTAS, n_permutations=700, weights=WEIGHTS, clusters=CLUSTERS, margin=0.05)
    with use_backend(name):
        found = paired_bootstrap(DELTAS.tolist(), **options)
        assert p == permutation_test(
            DELTAS.tolist(), n_permutations=700, weights=WEIGHTS, clusters=CLUSTERS, margin=0.05
        )
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def runs(n=40, seed=0):
    rng = np.random.default_rng(seed)
    ids = [f"q{i:02}" for i in range(n)]
    a = rng.random(n)
    b = a + rng.normal(0.02, 0.1, n)
    weights = dict(zip(ids, rng.integers(1, 50, n).tolist(), strict=True))
    sessions = dict(zip(ids, rng.integers(0, 25, n).tolist(), strict=True))
    results = [MetricResult("AP", dict(zip(ids, values.tolist(), strict=True))) for values in (a, b)]
    return (*results, weights, sessions)


def test_a_comparison_reports_its_design_and_its_means_agree():
    a, b, weights, sessions = runs()
    found = compare(a, b, weights=weights, clusters=sessions, method="exact")
    wanted = list(weights.values())
    assert found.mean_a == pytest.approx(np.average(list(a.per_query.values()), weights=wanted), abs=1e-15)
    assert found.mean_b - found.mean_a == pytest.approx(found.delta, abs=1e-15)
    assert (found.n_queries, found.n_units) == (40, len(set(sessions.values())))
    assert (found.weighted, found.clustered, found.margin) == (True, True, None)
    assert found.wins + found.ties + found.losses == 40
    plain = compare(a, b)
    assert (plain.n_units, plain.weighted, plain.clustered) == (None, False, False)


def test_mappings_and_arrays_in_the_order_of_the_ids_agree_in_any_order_of_the_input():
    a, b, weights, sessions = runs()
    expected = compare(a, b, weights=weights, clusters=sessions)
    by_place = compare(a, b, weights=list(weights.values()), clusters=np.array(list(sessions.values())))
    assert by_place == expected
    turned = MetricResult("AP", dict(reversed(list(a.per_query.items()))))
    assert compare(turned, b, weights=weights, clusters=sessions) == expected


def test_the_standard_error_of_a_weighted_mean_is_the_linearised_one():
    a, b, weights, _ = runs()
    found = compare(a, b, weights=weights)
    w = np.array(list(weights.values()), dtype=float)
    d = np.array([b.per_query[q] - a.per_query[q] for q in a.per_query])
    expected = math.sqrt(40 / 39 * np.sum((w * (d - found.delta)) ** 2)) / w.sum()
    assert found.se == pytest.approx(expected, rel=1e-12)
    assert compare(a, b).se == pytest.approx(d.std(ddof=1) / math.sqrt(40), rel=1e-12)
    deviation = math.sqrt(np.average((d - found.delta) ** 2, weights=w) * 40 / 39)
    assert found.effect == pytest.approx(found.delta / deviation, rel=1e-12)


def test_few_clusters_of_many_queries_are_few():
    a, b, _, _ = runs()
    with pytest.warns(SmallSampleWarning, match="only 4 clusters, and an interval of fewer than 20"):
        found = compare(a, b, clusters={query: i % 4 for i, query in enumerate(a.per_query)})
    assert found.n_units == 4
    with pytest.warns(SmallSampleWarning), pytest.raises(InsufficientSampleError, match="1 clusters, and at"):
        compare(a, b, clusters=dict.fromkeys(a.per_query, "all"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"weights": [1.0] * 11 + [-1.0]},
            r"weights has 1 of 12 values that are negative \(at position 11: -1\)",
        ),
        ({"weights": [1.0] * 10 + [math.nan] * 2}, r"weights has 2 of 12 values that are not finite \(at"),
        ({"weights": [0.0] * 12}, "weights must have a positive and finite sum, got 0 over 12 queries"),
        ({"weights": [1e308] * 11 + [9e307]}, "weights must have a positive and finite sum, got inf"),
        ({"weights": [1.0] * 3}, "weights has 3 values for 12 queries"),
        ({"clusters": ["s1"]}, "clusters has 1 value for 12 queries; give one for each paired query"),
        ({"weights": ["many"] * 12}, "weights must be numbers"),
        ({"weights": {"q1": 1.0}}, "weights maps query ids to values, but bare differences have no ids"),
        ({"weights": np.ones((12, 1))}, r"weights must map query ids .* got list|of shape \(12, 1\)"),
        ({"weights": 2.0}, "weights must map query ids to values, or be a one-dimensional array"),
        ({"clusters": "abcdefghijkl"}, "clusters must map query ids to values"),
        ({"clusters": ["a"] * 11 + [""]}, r"clusters has no name for 1 of 12 queries \(first: 11\)"),
        ({"clusters": ["a"] * 11 + [None]}, "clusters has no name for 1 of 12 queries"),
    ],
)
def test_a_bad_design_is_named(options, message):
    for function in (permutation_test, paired_bootstrap):
        with pytest.raises(ValueError, match=message):
            function(DELTAS, **options)


@pytest.mark.parametrize("margin", [0, 0.0, -0.1, math.nan, math.inf, "wide", True])
def test_a_margin_is_a_positive_number(margin):
    with pytest.raises(ValueError, match="margin must be a positive number in the measure's unit, got"):
        permutation_test(DELTAS, margin=margin)


def test_queries_without_a_weight_are_named():
    a, b, weights, sessions = runs()
    for query in ("q03", "q07", "q11", "q12"):
        del weights[query], sessions[query]
    with pytest.raises(
        ValueError, match=r"weights has no value for 4 of 40 paired queries \(first: q03, q07, q11"
    ):
        compare(a, b, weights=weights)
    with pytest.raises(ValueError, match=r"clusters has no value for 4 of 40 paired queries \(first: q03"):
        compare(a, b, clusters=sessions)
    with pytest.raises(
        ValueError, match=r"weights has 1 of 40 values that are negative \(at query q05: -2\)"
    ):
        compare(a, b, weights=[1.0] * 5 + [-2.0] + [1.0] * 34)


def test_a_design_serves_any_subset_once_it_is_bound():
    bound = Design.checked(weights=[1.0, 2.0, 3.0]).bound(("q1", "q2", "q3"))
    units = bound.units(("q3", "q1"))
    assert units is not None
    assert units.sizes.tolist() == [3.0, 1.0]


def test_many_comparisons_take_a_design_and_each_row_is_the_single_comparison():
    a, b, weights, sessions = runs()
    c = MetricResult("AP", {query: value + 0.01 for query, value in a.per_query.items()})
    options = {"weights": weights, "clusters": sessions, "margin": 0.05, "beside": "t", "interval": "bca"}
    table = compare_many({"a": a, "b": b, "c": c}, baseline="a", correction=None, **options)
    for row, other in zip(table, (b, c), strict=True):
        assert row == compare(a, other, method="auto", run_a="a", run_b=row.run_b, **options)


@pytest.mark.parametrize("as_arrays", [False, True])
def test_a_segment_takes_its_part_of_the_design(as_arrays):
    a, b, weights, sessions = runs()
    halves = {query: "old" if i < 15 else "new" for i, query in enumerate(a.per_query)}
    given = {"weights": weights, "clusters": sessions}
    if as_arrays:
        given = {name: list(values.values()) for name, values in given.items()}
    table = compare_segments(a, b, halves, min_queries=10, correction=None, **given)
    for row in table:
        inside = [query for query in halves if f"segment={halves[query]}" == row.segment]
        parts = [MetricResult("AP", {query: run.per_query[query] for query in inside}) for run in (a, b)]
        single = compare(*parts, weights=weights, clusters=sessions, seed=row.seed, min_queries=10)
        assert dataclasses.replace(row, segment=None) == single


def test_too_few_clusters_in_a_segment_are_not_tested():
    a, b, _, _ = runs()
    few = {query: i // 10 for i, query in enumerate(a.per_query)}
    (row,) = compare_segments(a, b, dict.fromkeys(few, "all"), clusters=few, min_queries=5)
    assert (row.p_value, row.n_queries, row.n_units) == (None, 40, 4)
