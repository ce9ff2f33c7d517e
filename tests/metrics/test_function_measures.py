"""Measures from outside: plain functions and plug-ins of other packages."""

from __future__ import annotations

import importlib.metadata
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ranklens.arrays import Backend, use_backend
from ranklens.core import DataError, UnknownNameError
from ranklens.metrics import (
    BadMeasureError,
    Definition,
    evaluate,
    functions,
    known_measures,
    parse_measure,
    parse_measures,
)

RUN = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"d": 1.0}}
QRELS = {"q1": {"b": 2, "c": 1}, "q2": {"x": 1}}


def dcg(batch: Any, *, cutoff: int | None = None) -> Any:
    """Discounted gain without an ideal."""
    gains = batch.gains() * (batch.ranks <= (cutoff or 1000))
    return np.sum(gains / np.log2(batch.ranks + 1.0), axis=-1)


def test_a_plain_function_of_the_batch_is_a_measure() -> None:
    found = evaluate(RUN, QRELS, [dcg, "RR"])
    assert found["dcg"].per_query["q1"] == pytest.approx(2 / np.log2(3) + 1 / 2)
    assert found["dcg"].per_query["q2"] == 0.0
    assert found["RR"].mean == 0.25


def test_a_function_sees_arrays_of_the_chosen_backend(backend: Backend) -> None:
    def sum_of_grades(batch: Any) -> Any:
        assert type(batch.grades).__module__.partition(".")[0] in (backend.name, "jaxlib")
        return backend.xp.sum(batch.gains(), axis=-1)

    with use_backend(backend.name):
        assert dict(evaluate(RUN, QRELS, sum_of_grades)["sum_of_grades"].per_query) == {"q1": 3.0, "q2": 0.0}


def test_integers_from_a_function_become_floats() -> None:
    def first_rank(batch: Any) -> Any:
        return np.argmin(batch.ranks, axis=-1)

    assert evaluate(RUN, QRELS, first_rank)["first_rank"].values.dtype == np.float64


def test_a_function_of_the_wrong_shape_is_named() -> None:
    def flat(batch: Any) -> Any:
        return batch.pool[:, 0]

    with pytest.raises(BadMeasureError, match=r"the measure flat gave an array of shape \(2,\).*\(1, 2\)"):
        evaluate(RUN, QRELS, flat)


def test_a_value_that_is_not_finite_is_named_with_its_query() -> None:
    def ratio(batch: Any) -> Any:
        return np.where(batch.ranks[..., 0] < np.inf, batch.ranks[..., 0], np.nan)

    with pytest.raises(DataError, match="ratio of run run is nan for query 'q2'"):
        evaluate(RUN, QRELS, ratio)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda batch: batch, "has no name"),
        (lambda: 0, "has no name"),
        (len, None),
    ],
)
def test_a_function_needs_a_name_and_one_argument(function: Any, message: str | None) -> None:
    if message is None:
        assert parse_measure(function).name == "len"
        return
    with pytest.raises(BadMeasureError, match=message):
        parse_measure(function)


def test_a_function_needs_defaults_for_its_parameters() -> None:
    def needy(batch: Any, weight: float) -> Any:
        return batch.n_retrieved * weight

    def nothing() -> None:
        return None

    with pytest.raises(BadMeasureError, match="needs a default for its parameter 'weight'"):
        parse_measure(needy)
    with pytest.raises(BadMeasureError, match="takes no argument"):
        parse_measure(nothing)


def test_two_measures_of_one_name_are_refused() -> None:
    def AP(batch: Any) -> Any:
        return batch.n_retrieved

    with pytest.raises(BadMeasureError, match="two different measures are named AP"):
        parse_measures(["AP", AP])


def weighted_count(batch: Any, *, cutoff: int | None = None, weight: float = 1.0, rel: float = 1.0) -> Any:
    """Relevant documents times a weight."""
    return weight * np.sum((batch.grades >= rel) & (batch.ranks <= (cutoff or 1000)), axis=-1)


class Entry:
    """What importlib.metadata gives for an entry point."""

    def __init__(self, name: str, loaded: Any) -> None:
        self.name = name
        self.value = f"a_package:{name}"
        self.loaded = loaded
        self.n_loads = 0

    def load(self) -> Any:
        self.n_loads += 1
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Pretend that a package offers four measures."""
    entries = [
        Entry("WCount", weighted_count),
        Entry("Depth_2", Definition("Depth_2", lambda batch: batch.n_retrieved, "retrieved", level=None)),
        Entry("Broken", ImportError("no module named nowhere")),
        Entry("Number", 3),
    ]
    asked: list[str] = []

    def entry_points(*, group: str) -> list[Entry]:
        asked.append(group)
        return entries if group == functions.GROUP else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    return SimpleNamespace(entries=entries, asked=asked)


def test_a_plugin_is_a_measure_with_cutoff_threshold_and_parameters(plugins: SimpleNamespace) -> None:
    found = evaluate(RUN, QRELS, ["wcount", "WCount(weight=2)@2", "WCount(rel=2)", "wcount_2"])
    assert {m.metric: m.per_query["q1"] for m in found} == {
        "WCount": 2.0,
        "WCount(weight=2)@2": 2.0,
        "WCount(rel=2)": 1.0,
        "WCount@2": 1.0,
    }
    with pytest.raises(BadMeasureError, match="WCount has no parameter 'p'; it takes weight, rel"):
        parse_measure("WCount(p=1)")


def test_a_default_threshold_reaches_a_plugin(plugins: SimpleNamespace) -> None:
    assert [m.metric for m in evaluate(RUN, QRELS, "WCount", rel=2)] == ["WCount(rel=2)"]


def test_a_plugin_may_be_a_definition(plugins: SimpleNamespace) -> None:
    assert evaluate(RUN, QRELS, "depth_2")["Depth_2"].per_query["q1"] == 3.0


def test_plugins_are_looked_for_only_when_a_name_is_unknown(plugins: SimpleNamespace) -> None:
    parse_measures(["nDCG@10", "map", "P_5"])
    assert plugins.asked == []
    parse_measure("WCount")
    assert {entry.name for entry in plugins.entries if entry.n_loads} == {"WCount"}


def test_a_plugin_that_cannot_be_used_is_named(plugins: SimpleNamespace) -> None:
    with pytest.raises(
        BadMeasureError, match=r"Broken of the plug-in a_package:Broken cannot be loaded: no mod"
    ):
        parse_measure("Broken")
    with pytest.raises(BadMeasureError, match="a_package:Number offers 3 as measure Number: no function"):
        parse_measure("Number")


def test_plugins_are_suggested_and_listed(plugins: SimpleNamespace) -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean WCount"):
        parse_measure("WConut")
    plugins.entries[:] = plugins.entries[:2]
    listed = dict(known_measures())
    assert listed["WCount@k"] == "Relevant documents times a weight (parameters: weight=1, rel=1)"
    assert listed["Depth_2"] == "retrieved"
