"""The options of evaluate, and what its results hold."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklens import arrays
from ranklens.core import DataError, UnknownNameError
from ranklens.core.evaluation import Evaluations
from ranklens.io import Qrels, Run
from ranklens.metrics import BadMeasureError, evaluate, evaluate_many, measuring

RUN = {"q1": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, "q2": {"e": 1.0}, "q9": {"z": 1.0}}
QRELS = {"q1": {"b": 1, "d": 3, "x": 0}, "q2": {"e": 0}, "q3": {"f": 2}}


def test_the_counts_are_kept_and_always_shown() -> None:
    found = evaluate(RUN, QRELS, ["nDCG@10", "RR"])
    counts = (found.n_queries, found.n_without_relevant, found.n_unjudged, found.n_not_retrieved)
    assert counts == (3, 1, 1, 1)
    assert str(found) == (
        "run: nDCG@10 0.1765, RR 0.1667 over 3 queries (1 without a relevant document, 1 not retrieved and "
        "counted as 0, 1 not judged and left out; scores compared as float64)"
    )
    assert "\n" not in str(found)


def test_skipping_counts_the_same_queries_as_left_out() -> None:
    found = evaluate(RUN, QRELS, ["nDCG@10", "RR"], missing="skip")
    counts = (found.n_queries, found.n_without_relevant, found.n_unjudged, found.n_not_retrieved)
    assert counts == (2, 1, 1, 1)
    assert "1 not retrieved and left out" in str(found)
    assert list(found["RR"].per_query) == ["q1", "q2"]


def test_a_measure_is_found_by_any_spelling_of_its_name() -> None:
    found = evaluate(RUN, QRELS, ["nDCG@10", "AP(rel=2)", "RBP"])
    assert found["ndcg_cut_10"] is found["NDCG@10"] is found["nDCG@10"]
    assert found["map(rel=2)"] is found["AP(rel=2.0)"]
    assert found["rbp.8"].metric == "RBP(p=0.8)"
    with pytest.raises(UnknownNameError, match="unknown measure 'P@5'; measured here: nDCG@10, AP"):
        found["P@5"]
    with pytest.raises(UnknownNameError, match="unknown measure 'no such'"):
        found["no such"]


def test_measures_come_in_the_order_asked_for() -> None:
    found = evaluate(RUN, QRELS, ["RR", "P@5", "AP"])
    assert [metric.metric for metric in found] == ["RR", "P@5", "AP"]
    assert len(found) == 3
    assert found.means == {metric.metric: metric.mean for metric in found.metrics}


def test_a_default_relevance_threshold_shows_in_the_names() -> None:
    found = evaluate(RUN, QRELS, ["AP", "RR(rel=1)", "nDCG", "NumRel"], rel=2)
    assert [metric.metric for metric in found] == ["AP(rel=2)", "RR", "nDCG", "NumRel(rel=2)"]
    assert found["map"].per_query["q1"] == 0.25
    assert found["NumRel"].per_query["q1"] == 1
    assert found["RR"].per_query["q1"] == 0.5
    assert found.n_without_relevant == 1


def test_depth_and_judged_only_change_the_ranking() -> None:
    assert evaluate(RUN, QRELS, "AP", depth=2)["AP"].per_query["q1"] == 0.25
    judged = evaluate(RUN, QRELS, ["AP", "NumRet"], judged_only=True)
    assert (judged["AP"].per_query["q1"], judged["NumRet"].per_query["q1"]) == (1.0, 2.0)
    assert (judged.judged_only, judged.depth) == (True, None)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"missing": "drop"}, UnknownNameError, "unknown missing 'drop'"),
        ({"score_precision": "float16"}, UnknownNameError, "unknown score_precision 'float16'"),
        ({"on_error": "ignore"}, UnknownNameError, "unknown on_error 'ignore'"),
        ({"depth": 0}, ValueError, "depth must be a whole number from 1, or None for all, got 0"),
        ({"depth": 1.5}, ValueError, "depth must be a whole number from 1"),
        ({"rel": 0}, BadMeasureError, "rel must be a number above 0, got 0"),
    ],
)
def test_a_bad_option_is_named_with_its_value(options: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        evaluate(RUN, QRELS, "AP", **options)


def test_no_measure_and_no_run_are_refused() -> None:
    with pytest.raises(BadMeasureError, match="no measure was given"):
        evaluate(RUN, QRELS, [])
    with pytest.raises(ValueError, match="runs must hold at least one run"):
        evaluate_many({}, QRELS, "AP")


def test_runs_and_judgements_may_be_read_already(tmp_path: Path) -> None:
    path = tmp_path / "system.run"
    path.write_text("q1 Q0 b 1 2 t\n")
    assert evaluate(path, QRELS, "RR").run == "system"
    run = Run.from_dict(RUN, name="mine")
    assert evaluate(run, Qrels.from_dict(QRELS), "RR") == evaluate(run, QRELS, "RR")
    assert evaluate(run, QRELS, "RR").run == "mine"


def test_segments_are_kept_with_the_result() -> None:
    segments = {"locale": {"q1": "de", "q2": "fr"}}
    assert evaluate(RUN, QRELS, "RR", segments=segments).segments == segments
    assert evaluate(RUN, QRELS, "RR").segments is None


def many(**options: Any) -> Evaluations:
    runs = {"one": RUN, "two": {"q3": {"f": 1.0}}}
    return evaluate_many(runs, QRELS, ["RR", "AP", "NumRet"], **options)


def test_many_runs_have_the_values_that_each_has_alone() -> None:
    found = many()
    assert list(found) == ["one", "two"]
    assert found["one"].metrics == tuple(
        evaluate(Run.from_dict(RUN, name="one"), QRELS, ["RR", "AP", "NumRet"]).metrics
    )
    assert found.array.shape == (2, 3, 3)
    assert found.measures == ("RR", "AP", "NumRet")
    assert list(found.query_ids) == ["q1", "q2", "q3"]
    for r, run in enumerate(found):
        for m, measure in enumerate(found.measures):
            np.testing.assert_array_equal(found[run][measure].values, found.array[r, m])


def test_what_a_run_does_not_answer_is_unmeasured_when_skipped() -> None:
    found = many(missing="skip")
    np.testing.assert_array_equal(found.measured, [[True, True, False], [False, False, True]])
    assert np.isnan(found.array[~np.broadcast_to(found.measured[:, None, :], found.array.shape)]).all()
    assert dict(found["two"]["RR"].per_query) == {"q3": 1.0}
    assert many().measured.all()


def test_results_are_read_only_views_of_one_array() -> None:
    found = many()
    assert np.shares_memory(found["one"]["RR"].values, found.array)
    with pytest.raises(ValueError, match="read-only"):
        found.array[0, 0, 0] = 1.0


def test_an_unknown_run_is_an_error_and_a_missing_key() -> None:
    with pytest.raises(UnknownNameError, match="unknown run 'tow'; did you mean two"):
        many()["tow"]
    assert many().get("tow") is None
    assert "one" in many()


def test_progress_is_told_run_by_run() -> None:
    steps: list[tuple[int, int]] = []
    many(progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 2), (2, 2)]


def test_everything_comes_to_the_host_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    transfers = []

    def counted(*given: Any) -> Any:
        transfers.append(len(given))
        return arrays.to_host(*given)

    monkeypatch.setattr(measuring, "to_host", counted)
    with arrays.use_backend("array_api_strict"):
        many()
    assert len(transfers) == 1


def test_the_users_jax_precision_is_left_as_it_was() -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    before = jax.config.jax_enable_x64
    with arrays.use_backend("jax"):
        found = many()
    assert jax.config.jax_enable_x64 == before
    assert found.array.dtype == np.float64


def test_results_turn_into_dictionaries_frames_and_html() -> None:
    found = many(missing="skip")
    one = found["one"].to_dict()
    assert one["metrics"][0]["per_query"] == {"q1": 0.5, "q2": 0.0}
    assert (one["n_unjudged"], one["score_precision"], one["missing"]) == (1, "float64", "skip")
    assert found.to_dict()["two"]["run"] == "two"
    frame = found["one"].to_frame("polars")
    assert frame.columns == ["query", "RR", "AP", "NumRet"]
    assert frame["query"].to_list() == ["q1", "q2"]
    table = found.to_frame("polars")
    assert table["run"].to_list() == ["one", "one", "two"]
    assert "<td>0.25</td>" in found["one"]._repr_html_()
    assert "two" in found._repr_html_()
    assert str(found) == "2 runs measured by RR, AP, NumRet on 3 judged queries"
    assert repr(found) == f"<Evaluations: {found}>"


def test_results_survive_pickling() -> None:
    found = pickle.loads(pickle.dumps(many()))
    assert found["one"]["recip_rank"].mean == many()["one"]["RR"].mean


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_the_order_of_queries_and_rows_changes_nothing(order: tuple[int, ...]) -> None:
    shuffled = {list(RUN)[i]: dict(reversed(RUN[list(RUN)[i]].items())) for i in order}
    assert evaluate(shuffled, QRELS, ["nDCG", "AP"]) == evaluate(RUN, QRELS, ["nDCG", "AP"])


def test_a_run_of_other_queries_is_refused_among_many() -> None:
    with pytest.raises(DataError, match="no query in common"):
        evaluate_many({"one": RUN, "two": {"other": {"d": 1.0}}}, QRELS, "AP")


@pytest.mark.parametrize("run", [{}, {"q1": {}}])
def test_a_run_without_rows_is_an_error(run):
    with pytest.raises(DataError, match="there are no rows in this run"):
        evaluate(run, QRELS, "AP")


def test_grades_whose_gain_overflows_are_an_error_and_no_warning_of_numpy():
    with pytest.raises(DataError, match="a measure must be finite"):
        evaluate({"q1": {"a": 1.0}}, {"q1": {"a": 5000}}, "nDCG(gain=exp)@10")


def test_judged_only_is_a_truth_value():
    with pytest.raises(ValueError, match="judged_only must be True or False, got 'yes'"):
        evaluate({"q1": {"a": 1.0}}, {"q1": {"a": 1}}, "AP", judged_only="yes")


@pytest.mark.parametrize("measures", [None, 3])
def test_what_names_no_measure_is_refused(measures):
    with pytest.raises(BadMeasureError, match=f"measures are names or functions.*got {measures}"):
        evaluate({"q1": {"a": 1.0}}, {"q1": {"a": 1}}, measures)


def test_many_runs_are_a_mapping():
    with pytest.raises(TypeError, match=r"runs is a mapping of name to run.*got list"):
        evaluate_many([{"q1": {"a": 1.0}}], {"q1": {"a": 1}}, "AP")


@pytest.mark.parametrize("choice", [None, 3])
def test_a_choice_that_is_no_text_is_an_unknown_name(choice):
    with pytest.raises(UnknownNameError, match=f"unknown missing {choice}"):
        evaluate({"q1": {"a": 1.0}}, {"q1": {"a": 1}}, "AP", missing=choice)
