"""A whole experiment: pairs, measures, segments, families."""

import warnings

import numpy as np
import pytest

from ranklens.core import CoarsePValueWarning, MetricResult, QueryIndex, UnknownNameError
from ranklens.core.evaluation import Evaluation
from ranklens.stats import benjamini_hochberg, compare, compare_many

N = 60
QUERIES = QueryIndex([f"q{i:02}" for i in range(N)])
LOCALE = {query: ("de", "fr")[i % 2] for i, query in enumerate(QUERIES)}
MEASURES = ("nDCG@10", "AP")


def evaluation(name, seed, shift):
    rng = np.random.default_rng(seed)
    metrics = tuple(
        MetricResult.from_arrays(measure, QUERIES, np.clip(rng.normal(0.5 + shift, 0.2, N), 0, 1))
        for measure in MEASURES
    )
    return Evaluation(name, metrics, N, 0, 0, 0)


@pytest.fixture
def evaluations():
    return {name: evaluation(name, i, 0.04 * i) for i, name in enumerate(["bm25", "dense", "fused"])}


def test_against_a_baseline(evaluations):
    table = compare_many(evaluations, baseline="dense")
    assert [(row.metric, row.run_a, row.run_b) for row in table] == [
        (measure, "dense", run) for measure in MEASURES for run in ("bm25", "fused")
    ]


def test_all_pairs(evaluations):
    table = compare_many(evaluations)
    assert [(row.run_a, row.run_b) for row in table.filter(metric="AP")] == [
        ("bm25", "dense"), ("bm25", "fused"), ("dense", "fused"),
    ]  # fmt: skip


def single(evaluations, row, method):
    a, b = evaluations[row.run_a][row.metric], evaluations[row.run_b][row.metric]
    return compare(a, b, method=method, seed=row.seed, run_a=row.run_a, run_b=row.run_b)


def test_a_sampled_row_is_the_single_comparison(evaluations):
    for row in compare_many(evaluations, method="monte-carlo", seed=3, correction=None):
        assert row == single(evaluations, row, "monte-carlo")


def test_an_exact_row_is_the_single_comparison(evaluations):
    for row in compare_many(evaluations, method="exact", correction=None):
        assert row == single(evaluations, row, "exact")


def test_a_measure_is_a_family(evaluations):
    table = compare_many(evaluations)
    for measure in MEASURES:
        rows = table.filter(metric=measure)
        assert tuple(row.q_value for row in rows) == benjamini_hochberg([row.p_value for row in rows])
        assert {row.family for row in rows} == {f"{measure} (3 comparisons)"}


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("pair", {"dense vs bm25 (2 comparisons)", "fused vs bm25 (2 comparisons)"}),
        ("all", {"all (4 comparisons)"}),
        ("segment field", {f"{m}, {b} vs bm25 (1 comparison)" for m in MEASURES for b in ("dense", "fused")}),
    ],
)
def test_other_families(evaluations, family, names):
    table = compare_many(evaluations, baseline="bm25", family=family)
    assert {row.family for row in table} == names


def test_segments_follow_with_families_of_their_own(evaluations):
    table = compare_many(evaluations, baseline="bm25", segments={"locale": LOCALE}, measures=["AP"])
    assert [row.segment for row in table] == [None, None, *["locale=de", "locale=fr"] * 2]
    assert {row.family for row in table.filter(segment=None)} == {"AP (2 comparisons)"}
    assert {row.family for row in table.filter(lambda r: r.segment is not None)} == {
        "AP by locale (4 comparisons)"
    }
    seeds = {row.segment: row.seed for row in table}
    assert all(row.seed == seeds[row.segment] for row in table)
    overall = compare_many(evaluations, baseline="bm25", measures=["AP"])
    assert list(table.filter(segment=None)) == list(overall)


def test_measures_are_found_by_other_spellings_and_a_single_name(evaluations):
    assert compare_many(evaluations, measures="ap").metrics == ("AP",)
    assert compare_many(evaluations, measures=["AP", "ndcg@10"]).metrics == ("AP", "nDCG@10")


def test_results_of_one_measure_need_no_evaluation(evaluations):
    results = {name: found["AP"] for name, found in evaluations.items()}
    assert compare_many(results) == compare_many(evaluations, measures=["AP"])


def test_a_row_with_too_few_queries_is_shown_without_statistics(evaluations):
    short = MetricResult("AP", dict.fromkeys(list(QUERIES)[:10], 0.5))
    results = {name: found["AP"] for name, found in evaluations.items()} | {"short": short}
    table = compare_many(results, baseline="bm25")
    assert [row.tested for row in table] == [True, True, False]
    assert table[-1].n_only_a == 50
    assert {row.family for row in table if row.tested} == {"AP (2 comparisons)"}
    assert "1 row has too few queries to test" in str(table)


def test_runs_without_a_common_query_are_a_row_of_nothing(evaluations):
    results = {"bm25": evaluations["bm25"]["AP"], "odd": MetricResult("AP", {"x": 1.0})}
    (row,) = compare_many(results)
    assert (row.n_queries, row.delta, row.p_value) == (0, None, None)


def test_too_few_flips_for_the_family_warn_once(evaluations):
    with pytest.warns(CoarsePValueWarning, match=r"3 comparisons in one family .* at least 60") as caught:
        compare_many(evaluations, method="monte-carlo", n_permutations=59)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare_many(evaluations, method="monte-carlo", n_permutations=60)


def test_the_order_of_the_runs_changes_no_comparison_with_a_baseline(evaluations):
    turned = dict(reversed(evaluations.items()))
    one = {row.run_b: row for row in compare_many(evaluations, baseline="bm25", measures="AP")}
    for row in compare_many(turned, baseline="bm25", measures="AP"):
        assert row == one[row.run_b]


@pytest.mark.parametrize("segments", [None, {"locale": LOCALE}])
def test_progress_counts_every_pair(evaluations, segments):
    seen = []
    compare_many(evaluations, segments=segments, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(i, 6) for i in range(1, 7)]


def test_bad_input_is_named(evaluations):
    with pytest.raises(UnknownNameError, match="unknown baseline 'bm52'; did you mean bm25"):
        compare_many(evaluations, baseline="bm52")
    with pytest.raises(UnknownNameError, match="unknown measure 'RR'"):
        compare_many(evaluations, measures=["RR"])
    with pytest.raises(ValueError, match="at least two runs, got 1"):
        compare_many({"bm25": evaluations["bm25"]})
    with pytest.raises(ValueError, match="at least two runs, got 0"):
        compare_many({})
    with pytest.raises(TypeError, match="evaluations must map run names to Evaluation"):
        compare_many({"a": {"q": 1.0}, "b": {"q": 1.0}}, measures=["AP"])
    with pytest.raises(ValueError, match="correction must be one of bh"):
        compare_many(evaluations, correction="tukey")
