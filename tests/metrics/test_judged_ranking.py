"""Which judged documents a run has, and at which rank, by a plain computation and on real runs."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklens.core import DataError, UnknownNameError
from ranklens.io import Qrels, Run, read_qrels, read_run
from ranklens.metrics.ranking import JudgedRanking, judged_pool, judged_ranking

Pairs = dict[str, dict[str, float]]


def found(ranking: JudgedRanking) -> list[tuple[str, int, float]]:
    ids = ranking.query_ids
    rows = zip(ranking.row.tolist(), ranking.rank.tolist(), ranking.grade.tolist(), strict=True)
    return [(ids[row], rank, grade) for row, rank, grade in rows]


def plainly(
    run: Pairs, qrels: Pairs, *, depth: int, judged_only: bool, precision: Any
) -> list[tuple[str, int, float]]:
    result = []
    for query in sorted(qrels):
        scores = run.get(query, {})
        order = sorted(scores, key=lambda d: (precision(scores[d]), d.encode()), reverse=True)[:depth]
        if judged_only:
            order = [document for document in order if document in qrels[query]]
        result += [(query, rank, qrels[query][d]) for rank, d in enumerate(order) if d in qrels[query]]
    return result


def test_equal_scores_are_ordered_by_document_id_descending() -> None:
    run = Run.from_dict({"q": {f"d{i}": 0.0 for i in range(10)}})
    assert found(judged_ranking(run, Qrels.from_dict({"q": {"d0": 1}}))) == [("q", 9, 1.0)]


def test_double_precision_separates_what_single_precision_ties() -> None:
    run = Run.from_dict({"q": {"a": 0.9000000002, "b": 0.9000000001}})
    qrels = Qrels.from_dict({"q": {"a": 1}})
    assert found(judged_ranking(run, qrels))[0][1] == 0
    assert found(judged_ranking(run, qrels, score_precision="float32"))[0][1] == 1


def test_ids_are_compared_by_their_bytes_however_long_they_are() -> None:
    ids = [
        "",
        "a",
        "a\x00",
        "a\x00\x00",
        "ab",
        "abcdefgh",
        "abcdefgh\x00",
        "abcdefghi",
        "é",
        "z" * 30,
        "z" * 31,
        "日本",
    ]
    run = Run.from_dict({"q": {document: 1.0 for document in ids if document}})
    expected = sorted((document for document in ids if document), key=str.encode, reverse=True)
    assert list(run["q"]) == expected


def test_counts_say_what_is_missing() -> None:
    run = Run.from_dict({"q1": {"a": 1, "b": 2, "c": 3}, "q9": {"a": 1}})
    ranking = judged_ranking(run, Qrels.from_dict({"q0": {"a": 1}, "q1": {"a": 2}}))
    assert tuple(ranking.query_ids) == ("q0", "q1")
    assert ranking.n_retrieved.tolist() == [0, 3]
    assert ranking.in_run.tolist() == [False, True]
    assert ranking.n_unjudged == 1
    assert judged_ranking(run, Qrels.from_dict({"q1": {"a": 2}}), depth=2).n_retrieved.tolist() == [2]
    assert judged_ranking(run, Qrels.from_dict({"q1": {"a": 2}}), judged_only=True).n_retrieved.tolist() == [
        1
    ]


def test_no_query_in_common_is_a_data_error() -> None:
    run, qrels = read_run(b"1 Q0 d 1 1 t\n"), read_qrels(b"q1 0 d 1\n")
    with pytest.raises(DataError, match=r"^no query in common; qrels have q1, run has 1$"):
        judged_ranking(run, qrels)
    with pytest.raises(UnknownNameError, match="score_precision"):
        judged_ranking(run, qrels, score_precision="float16")


def test_the_run_without_a_judged_query_is_named() -> None:
    run = Run.from_dict({"9": {"a": 1}}, name="bm25")
    with pytest.raises(DataError, match=r"^no query in common; qrels have q1, run bm25 has 9$"):
        judged_ranking(run, Qrels.from_dict({"q1": {"a": 1}}))


def test_the_pool_is_sorted_by_query_and_grade() -> None:
    pool = judged_pool(Qrels.from_dict({"b": {"x": 1, "y": 3}, "a": {"z": -1, "w": 0.5}}))
    assert tuple(pool.query_ids) == ("a", "b")
    assert pool.row.tolist() == [0, 0, 1, 1]
    assert pool.grade.tolist() == [0.5, -1.0, 3.0, 1.0]


DOCUMENT = st.text("ab", min_size=1, max_size=12)
SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.00000001, 2.0, -3.0, float("inf"), float("-inf")])


@settings(max_examples=300)
@given(
    run=st.dictionaries(
        st.sampled_from("pqrs"), st.dictionaries(DOCUMENT, SCORES, min_size=1, max_size=12), max_size=4
    ),
    qrels=st.dictionaries(
        st.sampled_from("pqrs"),
        st.dictionaries(DOCUMENT, st.integers(-1, 3), min_size=1, max_size=12),
        min_size=1,
        max_size=4,
    ),
    depth=st.sampled_from([1, 3, None]),
    judged_only=st.booleans(),
    precision=st.sampled_from(["float64", "float32"]),
    shuffle=st.randoms(use_true_random=False),
)
def test_ranks_are_those_of_a_plain_computation(
    run: Pairs, qrels: Pairs, depth: int | None, judged_only: bool, precision: str, shuffle: Any
) -> None:
    if not {query for query in run if run[query]} & set(qrels):
        return
    rows = [(query, document, score) for query in run for document, score in run[query].items()]
    shuffle.shuffle(rows)
    options: dict[str, Any] = {"depth": depth, "judged_only": judged_only, "score_precision": precision}
    expected = plainly(
        run, qrels, depth=depth or 99, judged_only=judged_only, precision=getattr(np, precision)
    )
    for source in (run, rows):
        assert found(judged_ranking(read_run(source), Qrels.from_dict(qrels), **options)) == expected


def test_judgements_that_share_a_key_are_not_taken_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.from_dict({"p": {"a": 3, "b": 2, "c": 1}, "q": {"a": 1, "x": 2}})
    qrels = Qrels.from_dict({"p": {"c": 1, "b": 2, "y": 3}, "q": {"x": 5, "b": 4}})
    expected = found(judged_ranking(run, qrels))
    monkeypatch.setattr(
        "ranklens.metrics.lookup.pair_keys", lambda row, keys: np.zeros(len(row), dtype=np.uint64)
    )
    assert found(judged_ranking(run, qrels)) == expected == [("p", 1, 2.0), ("p", 2, 1.0), ("q", 0, 5.0)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("dl21-passage", "Fast_Forward_3.run.gz"),
        ("codec-doc", "document_bm25-tuned.run.gz"),
        ("wtr-tables", "LTR.txt.gz"),
    ],
)
def test_every_format_and_any_order_of_rows_give_the_same_ranks(
    folder: str, name: str, data_dir: Path
) -> None:
    qrels = read_qrels(
        data_dir / folder / "qrels.nist.txt.gz"
        if folder.startswith("dl21")
        else data_dir / folder / "qrels.txt.gz"
    )
    run = read_run(data_dir / folder / "runs" / name)
    expected = found(judged_ranking(run, qrels, score_precision="float32"))
    frame = run.frame.sample(fraction=1.0, shuffle=True, seed=3)
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    lines = "\n".join(f"{q} Q0 {d} 0 {s!r} t" for q, d, s in frame.iter_rows())
    sources: tuple[Any, ...] = (
        frame,
        frame.to_pandas(),
        frame.to_arrow(),
        frame.write_csv().encode(),
        frame.write_ndjson().encode(),
        buffer.getvalue(),
        lines.encode(),
    )
    assert isinstance(frame, pl.DataFrame)
    for source in sources:
        assert found(judged_ranking(read_run(source), qrels, score_precision="float32")) == expected
