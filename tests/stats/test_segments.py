"""Segments: a row each, a seed each, and a family that says which."""

import warnings

import numpy as np
import pytest

from ranklens.core import DataWarning, InsufficientSampleError, MetricResult
from ranklens.stats import compare, compare_segments
from ranklens.stats.slices import Slice

N = 120
QUERIES = [f"q{i:03}" for i in range(N)]
LOCALE = {query: ("de", "fr", "en")[i % 3] for i, query in enumerate(QUERIES)}
DEVICE = {query: "phone" if i < 10 else "desk" for i, query in enumerate(QUERIES)}
SEGMENTS = {"locale": LOCALE, "device": DEVICE}


@pytest.fixture
def runs():
    rng = np.random.default_rng(1)
    a = rng.random(N)
    b = np.clip(a + rng.normal(0.05, 0.1, N), 0, 1)
    return tuple(MetricResult("AP", dict(zip(QUERIES, v.tolist(), strict=True))) for v in (a, b))


def test_a_row_for_each_segment_fields_in_order_and_values_by_text(runs):
    table = compare_segments(*runs, SEGMENTS)
    assert [row.segment for row in table] == [
        "locale=de", "locale=en", "locale=fr", "device=desk", "device=phone",
    ]  # fmt: skip
    assert [row.n_queries for row in table] == [40, 40, 40, 110, 10]


def test_a_row_is_the_comparison_of_its_queries_with_its_seed(runs):
    row = compare_segments(*runs, {"locale": LOCALE}, seed=5)[1]
    inside = [q for q in QUERIES if LOCALE[q] == "en"]
    a, b = (MetricResult("AP", {q: run.per_query[q] for q in inside}) for run in runs)
    alone = compare(a, b, seed=row.seed)
    assert (row.p_value, row.ci_low, row.ci_high, row.delta) == (
        alone.p_value, alone.ci_low, alone.ci_high, alone.delta,
    )  # fmt: skip


def test_segments_of_one_size_do_not_share_their_streams(runs):
    seeds = [row.seed for row in compare_segments(*runs, SEGMENTS)]
    assert len(set(seeds)) == len(seeds)


def test_other_segments_and_their_order_change_no_row(runs):
    rows = {row.segment: row for row in compare_segments(*runs, SEGMENTS, correction=None)}
    turned = {"device": DEVICE, "locale": dict(reversed(LOCALE.items()))}
    for row in compare_segments(*runs, turned, correction=None):
        assert row == rows[row.segment]
    only = {query: value for query, value in LOCALE.items() if value == "de"}
    with pytest.warns(DataWarning):
        (alone,) = compare_segments(*runs, {"locale": only}, correction=None)
    assert alone == rows["locale=de"]


def test_another_seed_gives_other_seeds(runs):
    one, other = (compare_segments(*runs, SEGMENTS, seed=seed) for seed in (1, 2))
    assert not {row.seed for row in one} & {row.seed for row in other}
    assert all(row.seed < 2**53 for row in one)


def test_the_seeds_are_the_same_for_ever():
    assert [Slice("locale", "de", frozenset()).seed(seed) for seed in (0, 1)] == [
        7274910407733866,
        4526703948261455,
    ]
    # The border between field and value counts.
    assert Slice("a", "b=c", frozenset()).seed(0) != Slice("a=b", "c", frozenset()).seed(0)


def test_a_small_segment_is_shown_without_statistics_and_out_of_the_correction(runs):
    table = compare_segments(*runs, SEGMENTS)
    small = table[-1]
    assert (small.n_queries, small.p_value, small.q_value, small.ci_low, small.effect) == (
        10,
        None,
        None,
        None,
        None,
    )
    assert small.delta is not None
    assert small.wins + small.ties + small.losses == 10
    assert table[3].family == "AP, B vs A by device (1 comparison)"
    assert table[3].q_value == table[3].p_value
    lowered = compare_segments(*runs, SEGMENTS, min_queries=10)
    assert lowered[-1].p_value is not None


def test_each_field_is_a_family_unless_all_are_one(runs):
    by_field = compare_segments(*runs, SEGMENTS, run_a="old", run_b="new")
    assert {row.family for row in by_field if row.tested} == {
        "AP, new vs old by locale (3 comparisons)",
        "AP, new vs old by device (1 comparison)",
    }
    together = compare_segments(*runs, SEGMENTS, family="all")
    assert {row.family for row in together if row.tested} == {"all (4 comparisons)"}


def test_without_a_correction_there_is_no_q_value(runs):
    assert {row.q_value for row in compare_segments(*runs, SEGMENTS, correction=None)} == {None}


def test_a_segment_that_no_query_has_is_a_row_of_nothing(runs):
    (row,) = compare_segments(*runs, {"locale": {"elsewhere": "jp"} | dict.fromkeys(QUERIES, "jp")})
    assert row.n_queries == N
    with pytest.warns(DataWarning, match="120 of 120 paired queries have no value of 'locale'"):
        (row,) = compare_segments(*runs, {"locale": {"elsewhere": "jp"}})
    assert (row.n_queries, row.mean_a, row.delta, row.p_value) == (0, None, None, None)
    assert "too few to test" in str(row)


def test_queries_without_a_value_are_counted(runs):
    missing = LOCALE | {QUERIES[0]: None, QUERIES[1]: "", QUERIES[2]: float("nan")}
    with pytest.warns(
        DataWarning, match=r"3 of 120 paired queries have no value of 'locale' .*first: q000, q001"
    ):
        table = compare_segments(*runs, {"locale": missing})
    assert sum(row.n_queries for row in table) == 117


@pytest.mark.parametrize("values", [{}, dict.fromkeys(QUERIES), dict.fromkeys(QUERIES, "")])
def test_a_field_without_values_is_named(runs, values):
    with pytest.warns(DataWarning, match="no query a value of 'tag'") as caught:
        table = compare_segments(*runs, {"locale": LOCALE, "tag": values})
    assert len(caught) == 1
    assert len(table) == 3


def test_one_field_needs_no_name(runs):
    assert [row.segment for row in compare_segments(*runs, LOCALE)] == [
        "segment=de", "segment=en", "segment=fr",
    ]  # fmt: skip


def test_queries_of_one_run_are_counted_in_their_segment(runs):
    a, b = runs
    less = MetricResult("AP", {q: v for q, v in b.per_query.items() if q != "q000"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = compare_segments(a, less, {"locale": LOCALE})
    assert [row.n_only_a for row in table] == [1, 0, 0]


@pytest.mark.parametrize(
    ("segments", "options", "message"),
    [
        ({}, {}, "segments is empty"),
        ({"tag": {query: ["x", "y"] for query in QUERIES}}, {}, "'tag' give query 'q000' several values"),
        ({"tag": dict.fromkeys(QUERIES, ("x", "y"))}, {}, "make each of them a field of its own"),
        ({"tag": dict.fromkeys(QUERIES, np.array(["x"]))}, {}, "several values"),
        ({"locale": LOCALE, "q000": "de"}, {}, "fields to mappings, or queries to values, not both"),
        (
            SEGMENTS,
            {"correction": "bonferroni"},
            "correction must be one of bh, by, holm, maxt or None, got 'bonferroni'",
        ),
        (
            SEGMENTS,
            {"family": "world"},
            "family must be one of measure, segment field, pair, all, got 'world'",
        ),
    ],
)
def test_bad_input_is_named(runs, segments, options, message):
    with pytest.raises(ValueError, match=message):
        compare_segments(*runs, segments, **options)


def test_no_query_in_common_is_an_error(runs):
    with pytest.raises(InsufficientSampleError, match="0 queries in common"):
        compare_segments(runs[0], MetricResult("AP", {"x": 1.0}), SEGMENTS)
