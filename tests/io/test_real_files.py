"""Real runs and judgements, with the quirks they came with."""

from __future__ import annotations

from pathlib import Path

import pytest

from ranklens.core import DataError, DataWarning
from ranklens.io import read_qrels, read_run


@pytest.mark.parametrize(
    ("name", "rows", "queries"),
    [
        ("qrels-quirks/web.51-100.txt.gz", 25_329, 48),
        ("qrels-quirks/covid-round5.txt.gz", 23_151, 50),
        ("qrels-quirks/dbpedia-entity-v1.txt.gz", 12_885, 485),
        ("qrels-quirks/bright-theoremqa.txt.gz", 439, 194),
        ("qrels-quirks/cast19-local.crlf.txt.gz", 173, 173),
        ("qrels-quirks/cwl.gain_file.txt.gz", 23, 3),
        ("qrels-quirks/cwl.neg_gain_file.txt.gz", 23, 3),
        ("qrels-quirks/miracl-sw-dev.tsv.gz", 5_092, 482),
        ("cranfield/qrels.binary-crlf.txt", 1_837, 225),
        ("quepid-ratings/Broad_Query_Set_rated.csv", 3_668, 135),
        ("msmarco-doc-dev/qrels.txt.gz", 5_193, 5_193),
    ],
)
def test_judgements_are_read_whole(name: str, rows: int, queries: int, data_dir: Path) -> None:
    qrels = read_qrels(data_dir / name)
    assert (len(qrels), len(qrels.query_ids)) == (rows, queries)


def test_judgements_listed_twice_are_told(data_dir: Path) -> None:
    with pytest.warns(DataWarning, match="2 judgements are repeated"):
        assert len(read_qrels(data_dir / "qrels-quirks/cast19-train.txt.gz")) == 2_397


def test_a_rating_column_can_be_named(data_dir: Path) -> None:
    path = data_dir / "quepid-ratings/Broad_Query_Set_individual_ratings.csv"
    qrels = read_qrels(path, columns={"grade": "final_rating"})
    assert qrels["bluetooth speaker"]["1993197"] == 3.0


def test_comments_are_no_judgements(data_dir: Path) -> None:
    qrels = read_qrels(data_dir / "trec_eval-tests/qrels.test.with-comments")
    assert qrels.query_ids == ("301", "302", "303")
    assert "CR#93E-1860" in qrels["301"]


def test_lines_with_words_behind_the_tag_are_read(data_dir: Path) -> None:
    run = read_run(data_dir / "trec_eval-tests/results.trunc")
    assert len(run) == 584


def test_documents_listed_twice_are_named_and_can_be_skipped(data_dir: Path) -> None:
    path = data_dir / "codec-doc/runs/document_bm25+rm3-tuned.run.gz"
    with pytest.raises(
        DataError, match=r"lists document '92b02743e569ea5186429fe5a4cf6ccc' twice, in lines 1844 and"
    ):
        read_run(path)
    with pytest.warns(DataWarning, match=r"^3 rows of .* left out"):
        assert len(read_run(path, on_error="skip")) == 41_997


def test_two_grades_for_one_pair_are_named(data_dir: Path) -> None:
    with pytest.raises(DataError, match=r"in lines 5 and 3686"):
        read_qrels(data_dir / "trec_eval-tests/qrels.123")


def test_three_columns_are_no_trec_file_and_can_be_mapped(data_dir: Path) -> None:
    path = data_dir / "cranfield/cranqrel.original"
    with pytest.raises(DataError, match="judgements need 4 columns"):
        read_qrels(path)
    assert len(read_qrels(path, columns={"query": 0, "document": 1, "grade": 2})) == 1_837
