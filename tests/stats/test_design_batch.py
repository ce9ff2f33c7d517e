"""Many comparisons under a design of the sample: each row is the single comparison, number for number."""

from __future__ import annotations

import dataclasses
import math
import tracemalloc

import numpy as np
import pytest
import scipy.stats
from fake_device import fake_array
from hypothesis import given, settings
from hypothesis import strategies as st

import ranklens as rl
from ranklens.arrays import memory_budget, use_backend
from ranklens.core import CoarsePValueWarning, MetricResult
from ranklens.stats import compare, compare_deltas, compare_many, compare_segments

ALTERNATIVES = ("two-sided", "greater", "less")
INTERVALS = ("percentile", "expanded", "bca", "studentized")


def values(kind, rng, n):
    return {
        "real": rng.random(n),
        "tenths": rng.integers(0, 11, n) / 10,
        "ranks": 1.0 / rng.integers(1, 11, n),
        "mostly zero": np.where(rng.random(n) < 0.8, 0.0, rng.random(n)),
        "constant": np.full(n, 0.25),
    }[kind]


def runs_of(kinds, seed, n):
    rng = np.random.default_rng(seed)
    ids = [f"q{i:03}" for i in range(n)]
    return {
        f"r{i}": MetricResult("AP", dict(zip(ids, values(kind, rng, n).tolist(), strict=True)))
        for i, kind in enumerate(kinds)
    }


def design_of(weights, clusters, seed, n):
    rng = np.random.default_rng(seed)
    found = {}
    if weights is not None:
        found["weights"] = {"whole": rng.integers(0, 5, n), "uneven": rng.lognormal(0.0, 1.5, n)}[weights]
    if clusters is not None:
        found["clusters"] = {"pairs": np.arange(n) // 2, "any": rng.integers(0, n // 2, n)}[clusters]
    return found


def by_query(design, n):
    ids = [f"q{i:03}" for i in range(n)]
    return {name: dict(zip(ids, column.tolist(), strict=True)) for name, column in design.items()}


@settings(max_examples=25, deadline=None)
@given(
    kinds=st.lists(
        st.sampled_from(["real", "tenths", "ranks", "mostly zero", "constant"]), min_size=4, max_size=6
    ),
    n=st.sampled_from([24, 53, 130]),
    weights=st.sampled_from([None, "whole", "uneven"]),
    clusters=st.sampled_from([None, "pairs", "any"]),
    margin=st.sampled_from([None, 0.01, 0.2]),
    alternative=st.sampled_from(ALTERNATIVES),
    interval=st.sampled_from(INTERVALS),
    beside=st.sampled_from([(), "t", ("t", "wilcoxon")]),
    seed=st.integers(0, 2**20),
)
def test_a_sampled_row_is_the_single_comparison(
    kinds, n, weights, clusters, margin, alternative, interval, beside, seed
):
    runs = runs_of(kinds, seed, n)
    options = by_query(design_of(weights, clusters, seed, n), n) | {
        "margin": margin, "alternative": alternative, "interval": interval, "beside": beside, "seed": seed,
        "n_resamples": 400, "n_permutations": 300, "min_queries": 5, "method": "monte-carlo",
    }  # fmt: skip
    for row in compare_many(runs, correction=None, **options):
        alone = compare(runs[row.run_a], runs[row.run_b], run_a=row.run_a, run_b=row.run_b, **options)
        assert row == alone


@pytest.mark.parametrize("method", ["exact", "auto"])
@pytest.mark.parametrize("interval", ["percentile", "bca", "expanded"])
@pytest.mark.parametrize("clusters", ["pairs", "any"])
@pytest.mark.parametrize("weights", [None, "uneven"])
def test_a_computed_row_is_the_single_comparison(method, interval, clusters, weights):
    n = 120
    runs = runs_of(["real", "tenths", "real", "mostly zero"], 3, n)
    options = by_query(design_of(weights, clusters, 3, n), n) | {
        "margin": 0.02, "interval": interval, "beside": "t", "method": method, "n_resamples": 500,
    }  # fmt: skip
    for row in compare_many(runs, correction=None, **options):
        assert row == compare(runs[row.run_a], runs[row.run_b], run_a=row.run_a, run_b=row.run_b, **options)


def test_rows_of_extreme_size_are_those_of_the_single_comparison():
    n = 40
    design = by_query(design_of("uneven", "any", 1, n), n)
    options = {"method": "monte-carlo", "n_resamples": 300, "n_permutations": 300, "min_queries": 5, **design}
    for scale in (1e-300, 1e300):
        runs = {
            name: MetricResult("gain", {q: v * scale for q, v in run.per_query.items()})
            for name, run in runs_of(["real"] * 5, 1, n).items()
        }
        for row in compare_many(runs, correction=None, **options):
            assert row == compare(
                runs[row.run_a], runs[row.run_b], run_a=row.run_a, run_b=row.run_b, **options
            )


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("margin", [None, 0.05])
@pytest.mark.parametrize("clusters", [None, "any"])
def test_a_row_of_arrays_is_the_single_calls(interval, margin, clusters):
    n, rng = 45, np.random.default_rng(4)
    deltas = np.stack([rng.normal(0.05, 0.2, n), rng.integers(-3, 4, n) / 10, rng.exponential(0.1, n) - 0.1])
    design = design_of("whole", clusters, 4, n)
    table = compare_deltas(
        deltas, seed=6, margin=margin, interval=interval, beside="t", method="monte-carlo",
        n_resamples=300, n_permutations=300, correction=None, min_queries=5, **design,
    )  # fmt: skip
    for i, row in enumerate(deltas):
        alone = rl.paired_bootstrap(row, seed=6, interval=interval, n_resamples=300, **design)
        found = (table.delta[i], table.ci_low[i], table.ci_high[i])
        assert found == pytest.approx((alone.delta, alone.low, alone.high), rel=1e-12, abs=0.0)
        p = rl.permutation_test(row, seed=6, margin=margin, n_permutations=300, **design)
        assert (table.p_value[i], table.n_units[i]) == (p, alone.n_units)
        assert 0.0 < table.p_t[i] <= 1.0
    assert table.p_wilcoxon is None


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_medians_of_resamples_are_those_of_the_single_call_to_the_last_bit(alternative):
    rng = np.random.default_rng(0)
    deltas, clusters = rng.normal(size=(40, 12)), rng.integers(0, 6, 12)
    options = {"clusters": clusters, "alternative": alternative, "alpha": 0.5, "n_resamples": 2, "seed": 0}
    kept = {"method": "monte-carlo", "n_permutations": 1, "min_queries": 2, "correction": None}
    table = compare_deltas(deltas, **options, **kept)
    for i, row in enumerate(deltas):
        interval = rl.paired_bootstrap(row, **options)
        assert (table.ci_low[i], table.ci_high[i]) == (interval.low, interval.high)


@pytest.mark.parametrize("margin", [None, 0.05])
@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_a_masked_row_is_resampled_without_what_is_missing_and_flipped_in_its_places(margin, interval):
    n, rng = 50, np.random.default_rng(5)
    deltas, mask = rng.normal(0.05, 0.2, (6, n)), rng.random((6, n)) < 0.7
    mask[3:] = mask[0]
    design = design_of("uneven", "any", 5, n)
    weights, clusters = design["weights"], design["clusters"]
    table = compare_deltas(
        np.where(mask, deltas, np.nan), mask=mask, seed=2, margin=margin, method="monte-carlo",
        interval=interval, n_resamples=300, n_permutations=300, correction=None, min_queries=5, **design,
    )  # fmt: skip
    for i, inside in enumerate(mask):
        alone = rl.paired_bootstrap(
            deltas[i, inside], weights=weights[inside], clusters=clusters[inside], seed=2, interval=interval,
            n_resamples=300,
        )  # fmt: skip
        assert (table.delta[i], table.ci_low[i], table.ci_high[i]) == (alone.delta, alone.low, alone.high)
        assert (table.n_queries[i], table.n_units[i]) == (alone.n_queries, alone.n_units)
        if margin is None:
            zeros = np.where(inside, deltas[i], 0.0)
            p = rl.permutation_test(zeros, seed=2, n_permutations=300, **design)
            assert table.p_value[i] == p


@pytest.mark.parametrize("interval", INTERVALS)
def test_every_backend_decides_alike(user_backend, interval):
    n, rng = 40, np.random.default_rng(6)
    deltas, mask = rng.normal(0.05, 0.2, (5, n)), rng.random((5, n)) < 0.9
    options = {
        "mask": mask, "margin": 0.05, "method": "monte-carlo", "correction": "maxt", "min_queries": 5,
        "interval": interval, "n_resamples": 200, "n_permutations": 200, "beside": ("t", "wilcoxon"),
        **design_of("whole", "any", 6, n),
    }  # fmt: skip
    expected = compare_deltas(deltas, **options)
    with user_backend.precise():
        array = user_backend.asarray(np.where(mask, deltas, np.nan))
    found = compare_deltas(array, **options)
    for name in ("p_value", "q_value", "p_t", "n_units", "wins"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, err_msg=name)
    for name in ("delta", "ci_low", "ci_high", "effect"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-12, err_msg=name
        )


@pytest.mark.parametrize("name", [pytest.param("jax", marks=pytest.mark.slow), "torch", "array_api_strict"])
@pytest.mark.parametrize("method", ["monte-carlo", "exact"])
def test_tables_agree_on_every_backend(name, method):
    pytest.importorskip(name)
    runs = runs_of(["real", "tenths", "real", "ranks"], 7, 60)
    options = by_query(design_of("uneven", "any", 7, 60), 60) | {
        "margin": 0.1, "n_resamples": 200, "n_permutations": 200, "method": method, "correction": None,
        "min_queries": 5,
    }  # fmt: skip
    expected = compare_many(runs, **options)
    with use_backend(name):
        found = compare_many(runs, **options)
    for row, other in zip(found, expected, strict=True):
        for field in ("p_value", "ci_low", "ci_high", "delta", "se"):
            assert getattr(row, field) == pytest.approx(getattr(other, field), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("n_bytes", [2**20, 2**28])
def test_what_is_refused_goes_by_its_number_among_all_rows(n_bytes):
    n, rng = 60, np.random.default_rng([1, 60])
    doubtful = rng.choice(rng.random(3), n) + rng.normal(size=n) * 1e-9
    doubtful *= np.where(rng.random(n) < 0.4, -1.0, 1.0)
    rows = np.stack([rng.normal(size=n)] * 80 + [doubtful])
    mask = np.ones(rows.shape, dtype=bool)
    mask[:50, 3:] = False
    with memory_budget(n_bytes), pytest.raises(ValueError, match="p-value of comparison 80 cannot"):
        compare_deltas(rows, mask=mask, method="exact", interval="bca")


def test_a_design_takes_one_transfer():
    n = 40
    deltas, counter = fake_array(np.random.default_rng(0).normal(size=(3, n)))
    compare_deltas(
        deltas, method="monte-carlo", n_resamples=50, n_permutations=50, correction=None, margin=0.1,
        min_queries=5, **design_of("uneven", "any", 0, n),
    )  # fmt: skip
    # The differences, which effects are computed of, travel with the results.
    assert counter.count == 1


@pytest.mark.parametrize("n_bytes", [2**20, 2**22])
def test_no_budget_changes_a_number(n_bytes):
    n = 300
    deltas = np.random.default_rng(8).normal(0.02, 0.2, (60, n))
    options = {
        "method": "monte-carlo", "n_resamples": 500, "n_permutations": 500, "correction": None,
        **design_of("uneven", "any", 8, n),
    }  # fmt: skip
    whole = compare_deltas(deltas, **options)
    with memory_budget(n_bytes):
        part = compare_deltas(deltas, **options)
    for name in ("delta", "ci_low", "ci_high", "p_value"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["monte-carlo", "exact"])
def test_peak_memory_under_a_design_stays_within_the_budget(method):
    n = 4000
    deltas = np.random.default_rng(9).normal(0.02, 1.0, (80, n))
    design = design_of("uneven" if method == "monte-carlo" else None, "pairs", 9, n)
    budget = 16 * 2**20
    with memory_budget(budget):
        tracemalloc.start()
        compare_deltas(
            deltas, method=method, n_resamples=300, n_permutations=100, correction=None, margin=0.1, **design
        )
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak <= budget


def test_runs_that_miss_queries_have_units_of_their_own():
    runs = runs_of(["real", "real", "tenths"], 9, 60)
    runs["r1"] = MetricResult("AP", dict(list(runs["r1"].per_query.items())[:50]))
    design = by_query(design_of("uneven", "any", 9, 60), 60)
    options = {"min_queries": 5, "n_resamples": 300, "n_permutations": 300, "method": "monte-carlo"}
    table = compare_many(runs, baseline="r0", correction=None, **options, **design)
    less, whole = table
    alone = compare(runs["r0"], runs["r1"], run_a="r0", run_b="r1", **options, **design)
    flipped = ("p_value", "p_error", "log10_p")
    assert dataclasses.replace(less, **{name: getattr(alone, name) for name in flipped}) == alone
    assert abs(less.p_value - alone.p_value) < 5 * math.hypot(less.p_error, alone.p_error) + 0.01
    assert whole == compare(runs["r0"], runs["r2"], run_a="r0", run_b="r2", **options, **design)


def test_queries_of_no_pair_need_no_weight():
    runs = runs_of(["real", "real"], 10, 40)
    weights = dict.fromkeys(runs["r0"].per_query, 2.0) | {"q000": 5.0}
    runs["r0"] = MetricResult("AP", {**runs["r0"].per_query, "elsewhere": 1.0})
    (row,) = compare_many(runs, weights=weights, correction=None)
    assert (row.n_queries, row.n_only_a, row.weighted) == (40, 1, True)
    del weights["q007"]
    with pytest.raises(ValueError, match=r"weights has no value for 1 of 40 paired queries \(first: q007"):
        compare_many(runs, weights=weights)


def test_arrays_must_fit_every_pair():
    runs = runs_of(["real"] * 3, 11, 40)
    whole = compare_many(runs, weights=np.arange(1.0, 41.0), correction=None)
    assert {row.n_units for row in whole} == {40}
    runs["r1"] = MetricResult("AP", dict(list(runs["r1"].per_query.items())[1:]))
    with pytest.raises(ValueError, match="weights has 40 values for 39 queries"):
        compare_many(runs, weights=np.arange(1.0, 41.0))
    runs["r2"] = MetricResult("AP", dict(list(runs["r2"].per_query.items())[:-1]))
    pairs = {name: runs[name] for name in ("r0", "r1", "r2")}
    with pytest.raises(ValueError, match=r"give a mapping from query id to value|39 values for 38 queries"):
        compare_many(pairs, weights=np.arange(1.0, 40.0), baseline="r0")


def test_rows_below_the_minimum_of_units_are_described():
    runs = runs_of(["real"] * 3, 12, 40)
    clusters = {query: i // 10 for i, query in enumerate(runs["r0"].per_query)}
    for row in compare_many(runs, clusters=clusters):
        assert (row.p_value, row.n_queries, row.n_units) == (None, 40, 4)
        assert row.delta == pytest.approx(row.mean_b - row.mean_a)
    deltas = np.random.default_rng(0).normal(size=(2, 40))
    table = compare_deltas(deltas, clusters=list(clusters.values()), beside="t")
    assert np.isnan(table.p_value).all()
    assert np.isnan(table.p_t).all()
    np.testing.assert_allclose(table.delta, deltas.mean(axis=1))


def test_segments_of_many_runs_are_those_of_two():
    runs = runs_of(["real", "tenths", "real"], 13, 90)
    locale = {query: ("de", "fr", "en")[i % 3] for i, query in enumerate(runs["r0"].per_query)}
    options = by_query(design_of("whole", "any", 13, 90), 90) | {
        "n_resamples": 300, "n_permutations": 300, "min_queries": 5, "correction": None, "beside": "t",
        "method": "monte-carlo",
    }  # fmt: skip
    table = compare_many(runs, baseline="r0", segments={"locale": locale}, **options)
    for run in ("r1", "r2"):
        two = compare_segments(runs["r0"], runs[run], {"locale": locale}, run_a="r0", run_b=run, **options)
        assert list(two) == [row for row in table if row.run_b == run and row.segment is not None]


def test_too_few_flips_for_a_family_under_a_design_warn_with_the_number_needed():
    deltas = np.random.default_rng(17).normal(size=(100, 30))
    with pytest.warns(CoarsePValueWarning, match=r"100 comparisons .* 1999 sign flips .* at least 2000"):
        compare_deltas(
            deltas, clusters=np.arange(30) // 2, margin=0.1, method="monte-carlo", min_queries=5,
            n_permutations=1999, n_resamples=10,
        )  # fmt: skip


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_the_paired_t_test_of_many_rows_is_scipys(alternative):
    deltas = np.random.default_rng(14).normal(0.05, 0.2, (20, 40))
    found = compare_deltas(deltas, beside="t", alternative=alternative, n_resamples=20, n_permutations=20,
                           correction=None)  # fmt: skip
    right = scipy.stats.ttest_1samp(deltas, 0.0, axis=1, alternative=alternative).pvalue
    np.testing.assert_allclose(found.p_t, right, rtol=1e-10)


def test_wilcoxon_of_many_rows_is_scipys():
    deltas = np.random.default_rng(15).normal(0.05, 0.2, (10, 30))
    found = compare_deltas(deltas, beside="wilcoxon", n_resamples=20, n_permutations=20, correction=None)
    right = [scipy.stats.wilcoxon(row, method="exact").pvalue for row in deltas]
    np.testing.assert_allclose(found.p_wilcoxon, right, rtol=1e-9)
    weighted = compare_deltas(deltas, beside="wilcoxon", weights=np.arange(1.0, 31.0), n_resamples=20,
                              n_permutations=20, correction=None)  # fmt: skip
    assert np.isnan(weighted.p_wilcoxon).all()


@pytest.mark.parametrize("shape", [(0, 5), (0, 0), (3, 0), (1, 1), (2, 2), (4, 30)])
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("kept", [0, 20])
def test_hostile_shapes_under_a_design(shape, interval, kept):
    n = shape[1]
    for method in ("monte-carlo", "auto"):
        for design in (
            {"margin": 0.1},
            {"weights": np.arange(1.0, n + 1.0)},
            {"clusters": np.arange(n) // 2, "beside": "t"},
        ):
            table = compare_deltas(
                np.zeros(shape), method=method, interval=interval, min_queries=kept, correction="maxt",
                n_resamples=50, n_permutations=500, **design,
            )  # fmt: skip
            n_units = n // 2 + n % 2 if "clusters" in design else n
            tested = n_units >= max(kept, 2)
            assert np.isnan(table.p_value).tolist() == [not tested] * shape[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1.0] * 29}, "weights has 29 values for 30 queries"),
        ({"weights": [1.0] * 29 + [-1.0]}, r"weights has 1 of 30 values that are negative \(at position 29"),
        ({"weights": {"q1": 1.0}}, "bare differences have no ids"),
        ({"clusters": ["a"] * 29 + [None]}, r"clusters has no name for 1 of 30 queries \(first: 29\)"),
        ({"margin": -1.0}, "margin must be a positive number"),
        ({"beside": "welch"}, "beside must be one of t, wilcoxon, got 'welch'"),
    ],
)
def test_a_bad_design_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        compare_deltas(np.zeros((2, 30)), **options)


def test_values_on_a_device_that_are_not_finite_are_named(user_backend):
    deltas = np.random.default_rng(16).normal(size=(3, 30))
    deltas[1, 4] = math.nan
    with user_backend.precise():
        array = user_backend.asarray(deltas)
    with pytest.raises(ValueError, match="at comparison 1 query 4"):
        compare_deltas(array, margin=0.1, n_resamples=20, n_permutations=20, method="monte-carlo")
