"""Pairing two runs by query."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.core import InsufficientSampleError, MetricResult, QueryIndex, SmallSampleWarning
from ranklens.stats import MIN_QUERIES, paired_deltas


def test_queries_are_sorted_and_differences_are_b_minus_a():
    queries, deltas = paired_deltas({"q2": 0.25, "q1": 0.5}, {"q1": 0.75, "q2": 0.0}, min_queries=2)
    assert queries == ("q1", "q2")
    assert deltas.tolist() == [0.25, -0.25]
    assert deltas.dtype == np.float64


def test_queries_of_one_run_only_are_left_out():
    queries, _ = paired_deltas({"a": 1.0, "b": 1.0}, {"b": 1.0, "c": 1.0}, min_queries=1)
    assert queries == ("b",)


def test_no_query_in_common_is_an_error():
    with pytest.raises(InsufficientSampleError, match=r"0 queries in common \(A has 'a'; B has 'b'\)"):
        paired_deltas({"a": 1.0}, {"b": 1.0})


def test_few_queries_warn_at_the_callers_line():
    values = {f"q{i}": 0.5 for i in range(MIN_QUERIES - 1)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        queries, _ = paired_deltas(values, values)  # the caller's line
    (warning,) = caught
    assert len(queries) == 19
    assert warning.category is SmallSampleWarning
    assert "only 19 paired queries" in str(warning.message)
    line = Path(warning.filename).read_text("utf-8").splitlines()[warning.lineno - 1]
    assert "# the caller's line" in line


def test_enough_queries_do_not_warn():
    values = {f"q{i}": 0.5 for i in range(MIN_QUERIES)}
    queries, deltas = paired_deltas(values, values)
    assert len(queries) == MIN_QUERIES
    assert not np.any(deltas)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("side", [0, 1])
def test_a_value_that_is_not_finite_names_its_query_and_run(bad, side):
    runs = [{f"q{i}": 0.5 for i in range(30)} for _ in range(2)]
    runs[side]["q17"] = bad
    name = ("per_query_a", "per_query_b")[side]
    with pytest.raises(ValueError, match=rf"{name} has 1 value that is not finite \(q17: ") as caught:
        paired_deltas(*runs)
    assert f"{bad:g}" in str(caught.value)


def test_many_bad_values_are_counted_and_the_first_shown():
    a = {f"q{i:02}": float("nan") for i in range(30)}
    with pytest.raises(ValueError, match=r"has 30 values that are not finite .*q04: nan and 25 more"):
        paired_deltas(a, dict.fromkeys(a, 0.5))


def test_a_bad_value_on_a_query_that_is_not_paired_does_no_harm():
    queries, _ = paired_deltas({"a": float("nan"), "b": 1.0}, {"b": 1.0}, min_queries=1)
    assert queries == ("b",)


def test_a_value_that_is_not_a_number_names_its_query():
    with pytest.raises(ValueError, match="query b has the value None, which is not a number"):
        paired_deltas({"a": 1.0, "b": None}, {"a": 1.0, "b": 1.0})


def test_a_difference_too_large_for_a_double_is_named():
    with pytest.raises(ValueError, match="the difference of the two runs has 1 value that is not finite"):
        paired_deltas({"a": -1e308}, {"a": 1.7e308}, min_queries=1)


def test_something_that_is_no_mapping_is_refused():
    with pytest.raises(TypeError, match="per_query_b must map query ids to values"):
        paired_deltas({"a": 1.0}, [1.0])


def test_numbers_of_any_kind_are_widened_before_they_are_subtracted():
    a = {"q": np.uint8(3), "r": True}
    b = {"q": np.uint8(1), "r": False}
    assert paired_deltas(a, b, min_queries=1)[1].tolist() == [-2.0, -1.0]


ids = st.lists(st.text("abc019", min_size=1, max_size=3), min_size=1, max_size=12, unique=True)


@given(ids, st.randoms())
def test_the_order_of_the_input_changes_nothing(names, random):
    a = {name: random.random() for name in names}
    b = {name: random.random() for name in names}
    shuffled = random.sample(names, len(names))
    expected = paired_deltas(a, b, min_queries=1)
    again = paired_deltas({n: a[n] for n in shuffled}, {n: b[n] for n in reversed(shuffled)}, min_queries=1)
    assert expected[0] == again[0] == tuple(sorted(names))
    assert expected[1].tolist() == again[1].tolist()


@given(ids, st.randoms())
def test_views_of_one_index_and_mappings_give_the_same(names, random):
    index = QueryIndex(names)
    a, b = (np.array([random.random() for _ in names]) for _ in range(2))
    views = [MetricResult.from_arrays("AP", index, values) for values in (a, b)]
    mappings = [MetricResult("AP", dict(zip(names, values.tolist(), strict=True))) for values in (a, b)]
    fast, slow = (paired_deltas(*results, min_queries=1) for results in (views, mappings))
    assert fast[0] == slow[0]
    assert fast[1].tolist() == slow[1].tolist()
