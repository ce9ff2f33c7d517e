"""Values by query: read-only, exact in the mean, and cheap to view."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.core import MetricResult, QueryIndex, QueryValues


def from_dict() -> MetricResult:
    return MetricResult("AP", {"q1": 0.5, "q2": 1.0})


def from_arrays() -> MetricResult:
    return MetricResult.from_arrays("AP", ["q1", "q2"], np.array([0.5, 1.0]))


@pytest.mark.parametrize("make", [from_dict, from_arrays])
def test_both_ways_to_build_one_agree(make):
    result = make()
    assert dict(result.per_query) == {"q1": 0.5, "q2": 1.0}
    assert list(result.query_ids) == ["q1", "q2"]
    assert result.values.tolist() == [0.5, 1.0]
    assert (result.mean, result.n_queries) == (0.75, 2)
    assert str(result) == "AP 0.7500 over 2 queries"
    assert repr(result) == "<MetricResult: AP 0.7500 over 2 queries>"


@pytest.mark.parametrize("make", [from_dict, from_arrays])
def test_nothing_can_be_changed(make):
    result = make()
    with pytest.raises(TypeError):
        result.per_query["q1"] = 0.0
    with pytest.raises(AttributeError):
        result.metric = "RR"
    assert "values" not in getattr(result, "__dict__", {})


@pytest.mark.parametrize("make", [from_dict, from_arrays])
def test_a_result_survives_pickling_and_stays_read_only(make):
    copy = pickle.loads(pickle.dumps(make()))
    assert dict(copy.per_query) == dict(make().per_query)
    with pytest.raises(TypeError):
        copy.per_query["q1"] = 0.0
    if isinstance(copy.per_query, QueryValues):
        with pytest.raises(ValueError, match="read-only"):
            copy.values[0] = 2.0


def test_a_dict_that_changes_later_changes_no_result():
    values = {"q1": 0.5}
    result = MetricResult("AP", values)
    values["q1"] = 1.0
    assert result.mean == 0.5


def test_arrays_are_viewed_not_copied_and_the_view_is_read_only():
    values = np.array([0.5, 1.0])
    result = MetricResult.from_arrays("AP", ["q1", "q2"], values)
    assert np.shares_memory(result.values, values)
    with pytest.raises(ValueError, match="read-only"):
        result.values[0] = 2.0


def test_values_must_match_the_ids():
    with pytest.raises(ValueError, match=r"values must have shape \(2,\)"):
        MetricResult.from_arrays("AP", ["q1", "q2"], np.zeros(3))


def test_measures_over_the_same_queries_share_one_index():
    index = QueryIndex(["q1", "q2"])
    first = MetricResult.from_arrays("AP", index, np.zeros(2))
    second = MetricResult.from_arrays("RR", index, np.ones(2))
    assert first.query_ids is second.query_ids is index


def test_an_index_finds_positions():
    index = QueryIndex(["q2", "q1"])
    assert index.position("q1") == 1
    assert "q2" in index
    assert "q3" not in index
    assert list(index) == ["q2", "q1"]
    with pytest.raises(KeyError):
        index.position("q3")


def test_the_mean_of_nothing_is_nan_and_null_in_json():
    empty = MetricResult("AP", {})
    assert math.isnan(empty.mean)
    assert str(empty) == "AP over no query"
    assert json.loads(json.dumps(empty.to_dict(), allow_nan=False))["mean"] is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_the_mean_is_correctly_rounded_in_any_order(values):
    ids = [f"q{i}" for i in range(len(values))]
    forward = MetricResult("m", dict(zip(ids, values, strict=True))).mean
    backward = MetricResult.from_arrays("m", ids, np.array(values[::-1])).mean
    assert forward == backward == math.fsum(values) / len(values)


def test_numpy_scalars_become_python_floats():
    result = MetricResult("AP", {"q1": np.float32(0.5)})
    assert json.loads(json.dumps(result.to_dict()))["per_query"] == {"q1": 0.5}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_in_each_library(library):
    pytest.importorskip(library)
    frame = from_arrays().to_frame(library)
    columns = frame.column_names if library == "pyarrow" else list(frame.columns)
    assert columns == ["query", "AP"]
    assert len(frame) == 2


def test_an_unknown_frame_library_is_named():
    with pytest.raises(ValueError, match="unknown dataframe library 'panda'; did you mean pandas"):
        from_dict().to_frame("panda")


def test_notebooks_get_an_escaped_table():
    shown = MetricResult("<b>AP</b>", {"q1": 0.5})._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;AP" in shown


def test_whole_numbers_as_ids_become_text():
    result = MetricResult("AP", {1: 0.5, np.int64(2): 1.0})
    assert list(result.query_ids) == ["1", "2"]
    with pytest.raises(ValueError, match="the same as text"):
        MetricResult("AP", {1: 0.5, "1": 1.0})


@pytest.mark.parametrize("metric", [None, "", 3])
def test_a_measure_needs_a_name(metric):
    with pytest.raises(TypeError, match="metric must be a measure's name"):
        MetricResult(metric, {"q1": 0.5})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "must map query ids to values, got NoneType"),
        ([1, 2], "must map query ids to values, got list"),
        ({"q1": None}, "must hold numbers, got None for query 'q1'"),
        ({"q1": "0.5"}, "must hold numbers, got '0.5'"),
        ({1.5: 0.5}, "a query id must be text, got 1.5"),
        ({None: 0.5}, "a query id must be text, got None"),
    ],
)
def test_values_by_query_are_checked(values, message):
    with pytest.raises(TypeError, match=message):
        MetricResult("AP", values)


def test_arrays_of_ids_are_checked_as_mappings_are():
    values = np.asarray([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="query_ids of AP holds 'a' twice"):
        MetricResult.from_arrays("AP", ["a", "b", "a"], values)
    with pytest.raises(TypeError, match="a query id must be text, got None"):
        MetricResult.from_arrays("AP", ["a", None, "c"], values)
    by_number = MetricResult.from_arrays("AP", np.arange(3), values)
    assert by_number.per_query == MetricResult("AP", {0: 1.0, 1: 2.0, 2: 3.0}).per_query
