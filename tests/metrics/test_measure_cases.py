"""Small collections whose right answers are known, and which other tools get wrong."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklens.arrays import use_backend
from ranklens.core import DataError, DataWarning
from ranklens.metrics import evaluate

BACKENDS = ("numpy", "array_api_strict", "jax", "torch", "cupy")


@pytest.fixture(params=BACKENDS, autouse=True)
def everywhere(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run each case on each backend that is installed."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(use_backend(request.param))
        except ImportError as error:
            pytest.skip(str(error))
        yield


def means(run: Any, qrels: Any, *names: str, **options: Any) -> list[float]:
    found = evaluate(run, qrels, list(names), **options)
    return [round(metric.mean, 6) for metric in found]


def query(**documents: float) -> dict[str, dict[str, float]]:
    return {"q": documents}


def test_tied_documents_are_ranked_by_id_descending_for_every_measure_alike() -> None:
    names = ("P@1", "Success@1", "RR", "RR@1", "AP", "nDCG@1", "Judged@1")
    assert means(query(a=1.0, b=1.0), query(b=1), *names) == [1.0] * 7
    assert means(query(a=1.0, b=1.0), query(b=1), "RBP(p=.5)") == [0.5]
    assert means(query(a=1.0, b=1.0), query(b=1), "RBP(p=.5)") == means(
        query(b=1.0, a=1.0), query(b=1), "RBP(p=.5)"
    )


def test_an_unjudged_and_a_non_relevant_document_push_a_tied_relevant_one_down() -> None:
    found = means(query(b=1.0, c=1.0), query(a=0, b=1, c=0), "RR", "RR@10", "AP", "nDCG@10", "P@1")
    assert found == [0.5, 0.5, 0.5, 0.63093, 0.0]


def test_ten_equal_scores_have_one_order_in_all_measures() -> None:
    run = {"q": {f"d{i}": 0.0 for i in range(10)}}
    assert means(run, query(d0=1), "RR@10", "nDCG@10", "R@5") == [0.1, 0.289065, 0.0]


def test_scores_that_differ_in_the_tenth_digit_are_no_tie_on_any_backend() -> None:
    run = query(a=0.9000000002, b=0.9000000001)
    assert means(run, query(a=1), "RR") == [1.0]
    assert means(run, query(a=1), "RR", score_precision="float32") == [0.5]


def test_an_unanswered_query_counts_zero_or_is_left_out_as_asked() -> None:
    run, qrels = {"q1": {"d1": 1.0}}, {"q1": {"d1": 1}, "q2": {"d3": 1}}
    zero = evaluate(run, qrels, ["RR", "nDCG@10"])
    assert (zero["RR"].mean, zero["RR"].n_queries, zero.n_queries, zero.n_not_retrieved) == (0.5, 2, 2, 1)
    skip = evaluate(run, qrels, ["RR", "nDCG@10"], missing="skip")
    assert (skip["RR"].mean, skip["RR"].n_queries, skip.n_queries, skip.n_not_retrieved) == (1.0, 1, 1, 1)
    assert list(skip["nDCG@10"].per_query) == ["q1"]


def test_a_query_without_relevant_documents_scores_zero_and_is_counted() -> None:
    found = evaluate(
        {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}, {"q1": {"d1": 0}, "q2": {"d1": 1}}, ["nDCG", "AP"]
    )
    assert [metric.mean for metric in found] == [0.5, 0.5]
    assert found.n_without_relevant == 1
    assert "1 without a relevant document" in str(found)


def test_a_negative_grade_gains_nothing_and_is_not_relevant() -> None:
    found = means(query(a=2.0, b=1.0), query(a=-1, b=2), "nDCG@10", "AP", "NumRel")
    assert found == [0.63093, 0.5, 1.0]


def test_the_ideal_ranking_is_made_of_all_judged_documents() -> None:
    found = means(query(z=1.0), query(x=3, y=2, z=1), "nDCG@1", "nDCG@3", "nDCG(gain=exp)@3")
    assert found == [0.333333, 0.210002, 0.106465]


def test_a_run_shorter_than_the_cutoff_is_not_forgiven() -> None:
    found = means(query(a=1.0), query(a=1, b=1, c=1), "P@5", "R@5", "AP@5", "nDCG@5")
    assert found == [0.2, 0.333333, 0.333333, 0.469279]


def test_average_precision_at_a_cutoff_divides_by_all_relevant_documents() -> None:
    run = query(a=9.0, b=8.0, x=7.0)
    assert means(run, query(a=1, b=1, c=1, d=1, e=1), "AP@2", "R@2") == [0.4, 0.4]


def test_the_better_document_below_the_worse_one_costs_discounted_gain() -> None:
    assert means(query(a=2.0, b=1.0), query(a=1, b=2), "nDCG@10") == [0.859719]


def test_expected_reciprocal_rank_uses_one_scale_for_the_whole_qrels() -> None:
    assert means(query(a=2.0, b=1.0), query(a=3, b=1), "ERR(max_rel=4)", "ERR") == [0.455078, 0.882812]
    run = {"q1": {"a": 1.0}, "q2": {"b": 1.0}}
    found = evaluate(run, {"q1": {"a": 1}, "q2": {"b": 4}}, "ERR")
    assert found["ERR"].per_query["q1"] == 1 / 16


def test_a_byte_order_mark_is_no_part_of_the_first_query(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    run.write_bytes(b"\xef\xbb\xbfq1 Q0 d1 1 2 t\nq2 Q0 d2 1 2 t\n")
    found = evaluate(run, {"q1": {"d1": 1}, "q2": {"d2": 1}}, "RR")
    assert (found["RR"].mean, found.n_queries) == (1.0, 2)


def test_ids_are_text() -> None:
    assert means({"q": {"7": 2.0, "007": 1.0}}, {"q": {"007": 1}}, "AP", "RR") == [0.5, 0.5]


def test_fractional_grades_are_not_truncated() -> None:
    assert means(query(a=2.0, b=1.0), query(a=0.5, b=1.7), "nDCG") == [0.780257]


def test_a_document_may_have_the_id_of_its_query() -> None:
    run = {"0": {str(i): 10.0 - i for i in range(10)}}
    qrels = {"0": {str(i): 1 for i in range(10)}}
    assert means(run, qrels, "nDCG@10", "AP", "P@10", "R@10") == [1.0] * 4


def test_the_judged_share_of_an_empty_list_is_zero() -> None:
    found = evaluate({"q1": {"a": 1.0}, "q2": {}}, {"q1": {"a": 1}, "q2": {"b": 1}}, "Judged@10")
    assert dict(found["Judged@10"].per_query) == {"q1": 1.0, "q2": 0.0}
    assert found.n_not_retrieved == 1


def test_integer_ids_of_a_frame_match_the_text_of_a_file(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("1 0 d1 1\n")
    frame = pandas.DataFrame({"query_id": [1], "doc_id": ["d1"], "score": [1.5]})
    assert means(frame, qrels, "RR") == [1.0]


def test_files_with_every_quirk_are_measured_like_clean_ones(tmp_path: Path) -> None:
    run, qrels = tmp_path / "a.run", tmp_path / "qrels"
    run.write_bytes(b"# made by hand\r\nq1\tQ0 d2  1\t1e-3 my tag\r\n\r\nq1 Q0 d1 2 2e-3 my tag")
    qrels.write_bytes(b"q1 0\td1 1.0\r\n# none\r\nq1 0 d2 0")
    assert means(run, qrels, "RR", "AP", "NumRet", "NumRel") == [1.0, 1.0, 2.0, 1.0]


def test_only_a_line_that_starts_with_a_hash_is_a_comment(tmp_path: Path) -> None:
    run, qrels = tmp_path / "a.run", tmp_path / "qrels"
    qrels.write_text("# pool depth 10\nq1 0 d#3_12 1\nq1 0 d#4_9 0\n")
    run.write_text("q1 Q0 d#4_9 1 2.0 t\nq1 Q0 d#3_12 2 1.0 t\n")
    assert means(run, qrels, "RR", "AP", "nDCG@10") == [0.5, 0.5, 0.63093]


def test_a_run_with_other_query_ids_is_refused_and_both_sides_are_shown() -> None:
    with pytest.raises(DataError, match="no query in common; qrels have q1, run has 1"):
        evaluate({"1": {"d": 1.0}}, {"q1": {"d": 1}}, "RR")


@pytest.mark.parametrize("cutoffs", [[3], [3, 5], [5, 3], [3, 3]])
def test_a_value_does_not_depend_on_the_other_cutoffs(cutoffs: list[int]) -> None:
    run = query(d1=0.1, d2=0.2, d3=0.3, d4=4, d5=70)
    qrels = query(d1=10, d2=0, d3=0, d4=1, d5=5)
    alone = evaluate(run, qrels, "nDCG@3")["nDCG@3"].mean
    found = evaluate(run, qrels, [f"nDCG@{k}" for k in cutoffs])
    assert found["nDCG@3"].mean == alone
    assert round(alone, 6) == 0.412382
    if 5 in cutoffs:
        assert round(found["nDCG@5"].mean, 6) == 0.695694


def test_padding_never_outranks_a_negative_score() -> None:
    run = {"q1": {"a": -5.0}, "q2": {"b": -1.0, "c": -2.0, "d": -3.0}}
    qrels = {"q1": {"a": 1}, "q2": {"c": 1}}
    found = evaluate(run, qrels, "RR")
    assert dict(found["RR"].per_query) == {"q1": 1.0, "q2": 0.5}
    for q in run:
        assert evaluate({q: run[q]}, {q: qrels[q]}, "RR")["RR"].mean == found["RR"].per_query[q]


def test_ids_with_blanks_and_commas_are_measured(tmp_path: Path) -> None:
    ratings, run = tmp_path / "ratings.csv", tmp_path / "run.csv"
    ratings.write_text('query,docid,rating\n"red, white shoes",10,3\n"5"" vinyl",11,1\n')
    run.write_text('query,docid,score\n"red, white shoes",99,2\n"red, white shoes",10,1\n"5"" vinyl",11,7\n')
    found = evaluate(run, ratings, "nDCG@10")["nDCG@10"]
    assert round(found.per_query["red, white shoes"], 6) == 0.63093
    assert found.per_query['5" vinyl'] == 1.0
    assert round(found.mean, 6) == 0.815465


def test_a_repeated_document_is_refused_or_counted_once_with_its_higher_score(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    run.write_text("q Q0 a 1 3 t\nq Q0 a 2 2 t\nq Q0 b 3 1 t\n")
    with pytest.raises(DataError, match=r"(?s)1.*2"):
        evaluate(run, query(a=1, b=1), "AP")
    with pytest.warns(DataWarning):
        assert means(run, query(a=1, b=1), "AP", "R@5", "nDCG@5", "NumRet", on_error="skip") == [
            1.0,
            1.0,
            1.0,
            2.0,
        ]


def test_infinite_scores_are_ranked() -> None:
    assert means(query(a=math.inf, b=1.0, c=-math.inf), query(c=1), "RR") == [round(1 / 3, 6)]


def test_a_perfect_ranking_has_exactly_one() -> None:
    rng = np.random.default_rng(8)
    for n in (1, 2, 7, 30, 100):
        grades = np.sort(rng.random(n) * 4)[::-1]
        judged = {f"d{i:03}": float(g) for i, g in enumerate(grades)}
        run = {document: float(n - i) for i, document in enumerate(judged)}
        assert evaluate({"q": run}, {"q": judged}, "nDCG")["nDCG"].mean == 1.0
