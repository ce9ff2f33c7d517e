"""Plain functions as models, and what is said about functions that are none."""

from __future__ import annotations

import collections
import copy
import math
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from ranklens.arrays import Backend, use_backend
from ranklens.core import DataError, ModelError, UnknownNameError
from ranklens.explain import CallableAdapter, adapt, pairwise, pairwise_many

NAMES = ["bm25", "freshness", "price"]


def worked(x: Any) -> Any:
    return x[:, 0] * x[:, 1] + 0.1 * x[:, 2]


BAD_MODELS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "one score in all": (lambda x: x.sum(), r"shape \(\) for 10 rows"),
    "a score too few": (lambda x: x[1:, 0], r"shape \(9,\) for 10 rows"),
    "a column a class": (lambda x: x[:, :2], r"shape \(10, 2\) for 10 rows, 2 columns as if one a class"),
    "one column too many dimensions": (lambda x: x[:, None, :1], r"shape \(10, 1, 1\) for 10 rows"),
    "not a number": (
        lambda x: np.where(x[:, 1] > 0.5, np.nan, x[:, 0]),
        r"not finite, 5 of 10: nan for the row bm25=2.0, freshness=0.9, price=1.0",
    ),
    "infinite": (lambda x: np.log(x[:, 2] * 0) * -1, r"not finite, 10 of 10: inf for the row bm25=2.0"),
    "an exception": (lambda x: x @ np.ones(5), r"raised ValueError on 10 rows of 3 features: matmul"),
    "nothing": (lambda x: None, r"returned None"),
    "text": (lambda x: "high", r"returned 'high'"),
    "words": (lambda x: ["high"] * len(x), r"<U4 values; scores must be real numbers"),
    "ragged": (lambda x: [[1.0], 2.0], r"a list, which is no array"),
    "complex": (lambda x: x[:, 0] + 1j, r"complex128 values"),
}


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("case", BAD_MODELS)
def test_bad_models_are_told_what_came_back(case: str) -> None:
    fn, said = BAD_MODELS[case]
    with pytest.raises(ModelError, match=said):
        pairwise(CallableAdapter(fn, NAMES), (2.0, 0.2, 1.0), (1.5, 0.9, 2.0))


def test_differences_that_overflow_are_told_as_such(user_backend: Backend) -> None:
    model = CallableAdapter(lambda x: x[:, 0], ["x", "y"], user_backend)
    for method in ("exact", "antithetic"):
        with pytest.raises(ModelError, match=r"scores up to 1e\+308 in size, whose differences overflow"):
            pairwise(model, [1e308, 0.0], [-1e308, 1.0], method=method)


@pytest.mark.parametrize("made", [dict, collections.OrderedDict])
def test_a_mapping_of_scores_is_called_one(made: type) -> None:
    model = CallableAdapter(lambda x: made(logits=x[:, 0]), ["x", "y"])
    with pytest.raises(ModelError, match=rf"returned a {made.__name__} of 'logits'; one score a row"):
        pairwise(model, [1.0, 2.0], [3.0, 4.0])


def test_a_mapping_of_columns_is_many_rows() -> None:
    model = CallableAdapter(lambda x: x[:, 0] - x[:, 1], ["x", "y"])
    found = pairwise_many(model, {"y": [1, 2, 3], "x": [4, 5, 6]}, {"x": 0.0, "y": 0.0})
    assert found.contributions.tolist() == [[-4.0, 1.0], [-5.0, 2.0], [-6.0, 3.0]]
    with pytest.raises(DataError, match="columns of a have different numbers of values: 'x' 1 and 'y' 2"):
        pairwise_many(model, {"y": [1, 2], "x": [4]}, {"x": 0.0, "y": 0.0})
    with pytest.raises(DataError, match="a lacks the feature 'x'"):
        pairwise_many(model, {"y": [1, 2]}, {"x": 0.0, "y": 0.0})


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_adapted_model_says_what_to_pickle_instead(copied: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="cannot be pickled or copied; pickle the model itself, and adapt it"):
        copied(CallableAdapter(worked, NAMES))


def test_numbers_beyond_float64_are_refused() -> None:
    with pytest.raises(DataError, match="a holds values that are no numbers"):
        pairwise(CallableAdapter(worked, NAMES), [10**400, 0, 0], [1, 1, 1])


def test_words_ask_for_codes() -> None:
    with pytest.raises(DataError, match=r"no numbers.*; give categories by the codes of the model"):
        pairwise(CallableAdapter(worked, NAMES), {**dict.fromkeys(NAMES, 1.0), "price": "H"}, [1, 1, 1])


def test_scores_that_are_not_finite_are_found_on_every_backend(user_backend: Backend) -> None:
    xp = user_backend.xp
    model = CallableAdapter(lambda x: xp.where(x[:, 1] > 0.5, x[:, 0] * xp.nan, x[:, 0]), NAMES, user_backend)
    with pytest.raises(ModelError, match="not finite"):
        pairwise(model, (2.0, 0.2, 1.0), (1.5, 0.9, 2.0))


class Counting:
    """A model that adds how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return x.sum(axis=1) + self.calls


@pytest.mark.parametrize("method", ["antithetic", "orders", "regression"])
def test_a_model_that_keeps_a_state_is_found_out(method: str) -> None:
    a, b = np.zeros(13), np.ones(13)
    names = [f"x{i}" for i in range(13)]
    with pytest.raises(
        ModelError, match=r"returned 1.0 for a row and later \d+.0 for the same row: it keeps"
    ):
        pairwise(CallableAdapter(Counting(), names), a, b, method=method, batch_rows=500)


def test_a_model_that_draws_at_random_is_found_out() -> None:
    rng = np.random.default_rng(0)
    model = CallableAdapter(lambda x: rng.normal(size=len(x)), [f"x{i}" for i in range(13)])
    with pytest.raises(ModelError, match="keeps a state or draws at random"):
        pairwise(model, np.zeros(13), np.ones(13))


@pytest.mark.parametrize("k", [1, 2, 5, 11])
def test_a_model_of_few_features_must_score_a_row_the_same_twice_in_one_call(k: int) -> None:
    asked = []

    def noisy(x: Any) -> Any:
        asked.append(x)
        return x.sum(axis=1) + rng.normal(size=len(x))

    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(k)]
    with pytest.raises(ModelError, match=r"keeps a state or draws at random, or scores a row by the other"):
        pairwise(CallableAdapter(noisy, names), np.zeros(k), np.ones(k))
    assert [len(x) for x in asked] == [2**k + 2]
    assert asked[0][-2:].tolist() == [[0.0] * k, [1.0] * k]


@pytest.mark.parametrize(
    ("method", "max_rows", "batch_rows", "most"),
    [
        ("exact", 2**13, 1000, 2**13),
        ("exact", 2**13 + 1, 1000, 2**13),
        ("exact", 2**13 + 2, 1000, 2**13 + 2),
        ("exact", 2**14, 1024, 2**13 + 2),
        ("exact", 2**14, 1, 2**13 + 2),
        ("antithetic", 1000, 300, 1000),
        ("orders", 1000, 300, 1000),
        ("regression", 1000, 300, 1000),
    ],
)
def test_no_more_rows_are_asked_for_than_were_bought(
    method: str, max_rows: int, batch_rows: int, most: int
) -> None:
    asked = []

    def fn(x: Any) -> Any:
        asked.append(len(x))
        return x.prod(axis=1)

    model = CallableAdapter(fn, [f"x{i}" for i in range(13)])
    how = {"method": method, "max_rows": max_rows, "batch_rows": batch_rows}
    found = pairwise(model, np.zeros(13), np.ones(13), **how)
    assert sum(asked) == found.n_model_rows <= most
    assert max(asked) <= batch_rows
    assert len(asked) == math.ceil(found.n_model_rows / batch_rows)


def test_a_document_of_several_pairs_must_have_one_score() -> None:
    rng = np.random.default_rng(0)
    noisy = CallableAdapter(lambda x: x[:, 0] + rng.normal(size=len(x)), ["x", "y"])
    others = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    with pytest.raises(ModelError, match="keeps a state or draws at random"):
        pairwise_many(noisy, [[0.0, math.nan]], others)
    steady = CallableAdapter(lambda x: x[:, 0].astype(np.float32) / 3, ["x", "y"])
    assert len(pairwise_many(steady, [[0.0, math.nan]], [*others, *others])) == 6


@pytest.mark.parametrize("form", ["array", "list", "mixed list", "records", "columns", "uint64"])
def test_integers_that_float64_rounds_are_refused_by_name(form: str) -> None:
    model = CallableAdapter(lambda x: x[:, 0], ["doc", "bm25"])
    big = 2**53

    def rows(value: int, other: float) -> Any:
        if form in ("array", "uint64"):
            return np.asarray([[value, 2]], dtype=np.uint64 if form == "uint64" else np.int64)
        if form == "columns":
            return {"bm25": [other], "doc": [value]}
        return [{"bm25": 2, "doc": value}] if form == "records" else [[value, 2 if form == "list" else other]]

    where = "a value of b" if form == "mixed list" else ".*'doc'.* of b"
    for low in (big, 5 * big):
        with pytest.raises(DataError, match=rf"{where} is {low + 1}, which float64 rounds to {low}"):
            pairwise_many(model, rows(low, 0.5), rows(low + 1, 0.5))
    # What float64 holds is a number like any other.
    found = pairwise_many(model, rows(4 * big, 0.5), rows(4 * big + 2**12, 0.5))
    assert found.contributions[0].tolist() == [2.0**12, 0.0]


@pytest.mark.parametrize("batch_rows", [1, 64, 85, 100, 128, 256])
def test_a_state_between_the_calls_of_an_exact_explanation_is_found_out(batch_rows: int) -> None:
    names = [f"x{i}" for i in range(8)]
    with pytest.raises(ModelError, match="for the same row"):
        pairwise(CallableAdapter(Counting(), names), np.zeros(8), np.ones(8), batch_rows=batch_rows)


@pytest.mark.parametrize(
    ("k", "max_rows", "rows"), [(4, 1, 18), (11, 10, 2050), (12, 4097, 4096), (12, 4098, 4098)]
)
def test_every_row_that_is_sent_is_counted(k: int, max_rows: int, rows: int) -> None:
    asked = []

    def fn(x: Any) -> Any:
        asked.append(len(x))
        return x.prod(axis=1)

    model = CallableAdapter(fn, [f"x{i}" for i in range(k)])
    found = pairwise(model, np.zeros(k), np.ones(k), max_rows=max_rows)
    assert (asked, found.n_model_rows) == ([rows], rows)
    asked.clear()
    many = pairwise_many(model, np.zeros((3, k)), np.ones((3, k)), max_rows=max_rows)
    assert sum(asked) == many.n_model_rows.sum() == 2 * 2**k + rows


def test_a_model_may_change_its_argument_and_reuse_its_answer() -> None:
    buffer = np.empty(6)

    def careless(x: np.ndarray) -> np.ndarray:
        found = buffer[: len(x)]
        found[:] = worked(x)
        x[:] = np.nan
        return found

    names, a, b = NAMES, (2.0, 0.2, 1.0), (1.5, 0.9, 1.0)
    for batch_rows in (None, 1):
        found = pairwise(CallableAdapter(careless, names), a, b, batch_rows=batch_rows)
        assert found.contributions == pytest.approx({"bm25": -0.275, "freshness": 1.225, "price": 0.0})


def test_columns_of_one_score_and_lists_are_understood() -> None:
    right = pairwise(CallableAdapter(worked, NAMES), (2.0, 0.2, 1.0), (1.5, 0.9, 1.0)).contributions
    for fn in (lambda x: worked(x)[:, None], lambda x: worked(x).tolist(), lambda x: pl.Series(worked(x))):
        assert pairwise(CallableAdapter(fn, NAMES), (2.0, 0.2, 1.0), (1.5, 0.9, 1.0)).contributions == right


def frames(columns: dict[str, list[float]]) -> Iterator[Any]:
    yield pl.DataFrame(columns)
    yield pytest.importorskip("pandas").DataFrame(columns)
    yield pytest.importorskip("pyarrow").table(columns)


def test_named_values_are_aligned_by_name() -> None:
    model = CallableAdapter(lambda x: 10 * x[:, 0] + x[:, 1], ["a", "b"])
    right = {"a": 10.0, "b": 2.0}
    assert pairwise(model, {"b": 1, "a": 1}, {"b": 3, "a": 2}).contributions == right
    before, after = {"b": [1.0], "a": [1.0]}, {"b": [3.0], "a": [2.0]}
    for one, other in zip(frames(before), frames(after), strict=True):
        assert pairwise(model, one, other).contributions == right
        assert pairwise_many(model, one, other)[0].contributions == right
    series = pytest.importorskip("pandas").Series
    assert pairwise(model, series({"b": 1.0, "a": 1.0}), series({"b": 3.0, "a": 2.0})).contributions == right
    records = pairwise_many(model, [{"b": 1, "a": 1}] * 2, [{"b": 3, "a": 2}] * 2)
    assert [found.contributions for found in records] == [right, right]


def test_missing_and_surplus_features_are_named() -> None:
    model = CallableAdapter(worked, NAMES)
    with pytest.raises(DataError, match="a lacks the feature 'freshness'; it has 'freshnes'"):
        pairwise(model, {"bm25": 1, "freshnes": 1, "price": 1}, (1, 2, 3))
    with pytest.raises(DataError, match="b has 'colour', which is no feature of the model"):
        pairwise(model, (1, 2, 3), {"bm25": 1, "freshness": 1, "price": 1, "colour": 2})
    with pytest.raises(DataError, match=r"b has shape \(2,\); \(3,\) is needed"):
        pairwise(model, (1, 2, 3), (1, 2))
    with pytest.raises(DataError, match="b holds values that are no numbers \\(price='cheap'\\)"):
        pairwise(model, (1, 2, 3), {"bm25": 1, "freshness": 1, "price": "cheap"})
    with pytest.raises(DataError, match="a holds 2 rows; give one document, or call pairwise_many"):
        pairwise(model, [[1, 2, 3], [1, 2, 3]], (1, 2, 3))
    with pytest.raises(DataError, match="a has 0 rows and b 1"):
        pairwise_many(CallableAdapter(worked, NAMES), np.ones((0, 3)), np.ones((1, 3)))
    with pytest.raises(DataError, match="a has 2 rows and b 3"):
        pairwise_many(model, np.zeros((2, 3)), np.zeros((3, 3)))


def test_missing_values_of_frames_are_nan() -> None:
    model = CallableAdapter(lambda x: np.where(np.isnan(x[:, 0]), -2, x[:, 0]), ["x", "y"])
    for missing in (None, float("nan")):
        found = pairwise(model, {"x": missing, "y": 4}, {"x": 1, "y": 4})
        assert found.contributions == {"x": 3.0, "y": 0.0}


def test_number_types_are_promoted_before_they_are_compared() -> None:
    model = CallableAdapter(lambda x: x[:, 0] + x[:, 1], ["x", "y"])
    found = pairwise(model, np.asarray([0, 0], dtype=np.uint8), np.asarray([0.9, 1.7]))
    assert found.contributions == pytest.approx({"x": 0.9, "y": 1.7}, rel=1e-15)
    found = pairwise(model, np.asarray([200, 0], dtype=np.uint8), np.asarray([100, 0], dtype=np.uint8))
    assert found.contributions == {"x": -100.0, "y": 0.0}


def test_a_function_learns_its_names_from_the_documents() -> None:
    found = pairwise(worked, {"a": 2.0, "b": 0.2, "c": 1.0}, {"a": 1.5, "b": 0.9, "c": 1.0})
    assert found.contributions == pytest.approx({"a": -0.275, "b": 1.225, "c": 0.0})
    with pytest.raises(ValueError, match="names is missing"):
        pairwise(worked, (2.0, 0.2, 1.0), (1.5, 0.9, 1.0))


def test_values_that_are_no_arrays_go_to_the_chosen_backend() -> None:
    kinds = []

    def fn(x: Any) -> Any:
        kinds.append(type(x).__module__)
        return x[:, 0]

    with use_backend("array_api_strict"):
        pairwise(CallableAdapter(fn, ["x"]), [1.0], [2.0])
    assert kinds[0].startswith("array_api_strict")


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"method": "exakt"}, UnknownNameError, "did you mean exact?"),
        ({"method": "tree"}, ValueError, "method='tree' needs a tree ensemble"),
        ({"max_rows": 0}, ValueError, "max_rows must be a positive integer, got 0"),
        ({"batch_rows": 2.5}, ValueError, "batch_rows must be a positive integer, got 2.5"),
        ({"n_permutations": True}, ValueError, "n_permutations must be a positive integer"),
        ({"n_permutations": 5, "method": "exact"}, ValueError, "n_permutations counts orders"),
        ({"seed": -1}, ValueError, "seed must be a non-negative integer"),
        ({"groups": ["bm25"]}, ValueError, "groups must hold sequences of names"),
        ({"groups": [("bm25", "pice")]}, UnknownNameError, "unknown feature 'pice'; did you mean price?"),
        ({"groups": [("bm25", "price"), ("price",)]}, ValueError, "groups holds 'price' twice"),
        ({"groups": [()]}, ValueError, "empty group"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        pairwise(CallableAdapter(worked, NAMES), (2.0, 0.2, 1.0), (1.5, 0.9, 1.0), **options)


def test_budgets_that_are_too_small_are_refused() -> None:
    names = [f"x{i}" for i in range(30)]
    model = CallableAdapter(lambda x: x.sum(axis=1), names)
    for method, needed in (("antithetic", 61), ("orders", 32), ("regression", 119)):
        with pytest.raises(ValueError, match=f"at least {needed} model rows"):
            pairwise(model, np.zeros(30), np.ones(30), method=method, max_rows=needed - 1)
        found = pairwise(model, np.zeros(30), np.ones(30), method=method, max_rows=needed)
        assert found.n_model_rows == needed
    with pytest.raises(ValueError, match=r"takes 2\^30 = 1073741824 model rows"):
        pairwise(model, np.zeros(30), np.ones(30), method="exact")


def test_names_are_checked() -> None:
    with pytest.raises(ValueError, match="names holds 'x' twice"):
        CallableAdapter(worked, ["x", "y", "x"])
    with pytest.raises(ValueError, match="names is empty"):
        CallableAdapter(worked, [])
    with pytest.raises(ValueError, match="got the string 'xyz'"):
        CallableAdapter(worked, "xyz")
    with pytest.raises(ValueError, match="names is missing"):
        adapt(worked)
    with pytest.raises(TypeError, match="no adapter for a float"):
        adapt(1.5, ["x"])
    model = CallableAdapter(worked, NAMES)
    assert adapt(model) is model


def test_masked_scores_are_none() -> None:
    rows = np.zeros((3, 2))
    whole = np.ma.masked_array([1.0, 2.0, 3.0], [False, False, False])
    assert CallableAdapter(lambda x: whole, ["x", "y"]).score(rows).tolist() == [1.0, 2.0, 3.0]
    part = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, True])
    with pytest.raises(ModelError, match="returned masked scores, 2 of 3"):
        CallableAdapter(lambda x: part, ["x", "y"]).score(rows)
