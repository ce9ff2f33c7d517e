"""CSV and TSV files, with and without a header."""

from __future__ import annotations

from pathlib import Path

import pytest

from ranklens.core import DataError, DataWarning, UnknownNameError
from ranklens.io import read_qrels, read_run


@pytest.mark.parametrize(
    "header",
    [
        "query_id,doc_id,score",
        "qid,docno,score",
        "q_id,docid,Score",
        "query-id,corpus-id,score",
        "Query ID,Doc,sim",
    ],
)
@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_the_usual_column_names_are_known(header: str, separator: str) -> None:
    text = f"{header}\n007,a,1.5\n7,b,2\n".replace(",", separator)
    assert read_run(text.encode()).to_dict() == {"007": {"a": 1.5}, "7": {"b": 2.0}}


@pytest.mark.parametrize("name", ["relevance", "grade", "label", "rel", "rating", "score"])
def test_the_usual_names_of_grades_are_known(name: str) -> None:
    assert read_qrels(f"qid,docid,{name}\nq,d,-1\n".encode())["q"] == {"d": -1.0}


def test_an_id_column_is_preferred_to_the_text_of_the_query() -> None:
    text = b"query,query_id,doc_id,title,score\nred shoes,1,a,x,1\n"
    assert read_run(text).to_dict() == {"1": {"a": 1.0}}


def test_quoted_ids_with_commas_quotes_and_line_ends_are_text() -> None:
    text = (
        b'query,docid,score\r\n"red, white shoes",99,2\r\n"red, white shoes",10,1\r\n"5"" vinyl","a\nb",7\r\n'
    )
    assert read_run(text).to_dict() == {"red, white shoes": {"99": 2.0, "10": 1.0}, '5" vinyl': {"a\nb": 7.0}}


def test_three_columns_without_a_header_are_query_document_and_number() -> None:
    ratings = b'"red, white shoes",10,3\n"5"" vinyl",11,1\n'
    assert read_qrels(ratings).to_dict() == {"red, white shoes": {"10": 3.0}, '5" vinyl': {"11": 1.0}}
    run = b'"red, white shoes",99,2\n"red, white shoes",10,1\n"5"" vinyl",11,7\n'
    assert list(read_run(run)["red, white shoes"]) == ["99", "10"]


def test_a_third_column_that_counts_is_read_as_ranks_and_said() -> None:
    with pytest.warns(DataWarning, match="was read as ranks, 1 being the best"):
        run = read_run(b"1\td7\t1\n1\td8\t2\n2\td7\t1\n")
    assert list(run["1"]) == ["d7", "d8"]


def test_four_columns_without_a_header_are_query_document_rank_and_score() -> None:
    assert read_run(b"1\td7\t2\t3.5\n1\td8\t1\t9\n")["1"] == {"d8": 9.0, "d7": 3.5}


def test_a_rank_column_orders_where_there_is_no_score() -> None:
    assert list(read_run(b"qid,pid,rank\n1,a,2\n1,b,1\n")["1"]) == ["b", "a"]


def test_trec_columns_between_tabs_are_trec_whatever_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_bytes(b"6\tQ0\t32589#0\t1\n6\tQ0\t93957#6\t0\n")
    assert read_qrels(path)["6"] == {"32589#0": 1.0, "93957#6": 0.0}


def test_ids_with_blanks_between_tabs_stay_whole() -> None:
    run = read_run(b"shoes\tQ0\td1\t1\t3\tt\nred shoes\tQ0\td 1\t1\t2.0\tt\n")
    assert run.to_dict() == {"shoes": {"d1": 3.0}, "red shoes": {"d 1": 2.0}}
    assert read_qrels(b"red shoes\t0\td1\t1\n").query_ids == ("red shoes",)


def test_columns_can_be_given_by_name_and_by_position() -> None:
    text = b"a,b,c\nq,d,1\n"
    names = {"query": "a", "document": "b", "score": "c"}
    assert read_run(text, columns=names).to_dict() == {"q": {"d": 1.0}}
    assert read_run(b"qid,item,points\nq,d,1\n", columns={"score": "points"}).to_dict() == {"q": {"d": 1.0}}
    positions = {"query": 0, "document": 1, "grade": 2}
    assert read_qrels(b"1 184 2 \n1 29 1 \n", columns=positions).to_dict() == {"1": {"184": 2.0, "29": 1.0}}
    assert read_qrels(b"x\t1 a\t184\t2\n", columns={"query": 1, "document": 2, "grade": 3})["1 a"] == {
        "184": 2.0
    }


@pytest.mark.parametrize("text", [b"1 a 2\n1 b 1\n", b"1\ta\t2\n1\tb\t1\n", b"1,a,2\n1,b,1\n"])
def test_ranks_can_be_named_and_the_first_is_the_best(text: bytes) -> None:
    assert list(read_run(text, columns={"query": 0, "document": 1, "rank": 2})["1"]) == ["b", "a"]


def test_a_column_that_is_not_there_lists_what_is() -> None:
    with pytest.raises(DataError, match=r"no column for the query; the columns are title, docid, score"):
        read_run(b"title,docid,score\nq,d,1\n")
    with pytest.raises(UnknownNameError, match=r"unknown column 'sccore'; did you mean score\?"):
        read_run(b"qid,docid,score\nq,d,1\n", columns={"score": "sccore"})
    with pytest.raises(UnknownNameError, match=r"columns maps a field \(query, document, score, rank\)"):
        read_run(b"qid,docid,score\nq,d,1\n", columns={"title": "query"})
    with pytest.raises(DataError, match="2 columns for the query"):
        read_run(b"qid,qid,docid,score\nq,r,d,1\n")


@pytest.mark.parametrize(
    ("bad", "line", "why"),
    [
        (b"q,b,2,3", 4, "4 columns, and 3 are expected"),
        (b"q,b", 4, "the score is missing"),
        (b",b,1", 4, "the query id is missing"),
        (b'q,"",1', 4, "the document id is missing"),
        (b"q,b,x", 4, "the score is not a number"),
        (b"q,b,nan", 4, "the score is NaN"),
        (b"q,a,3", 4, "lists document 'a' twice, in lines 2 and 4"),
        (b",,", 4, "the query id is missing"),
    ],
)
def test_bad_records_are_named_by_their_line(bad: bytes, line: int, why: str) -> None:
    text = b"query,docid,score\nq,a,1\n\n" + bad + b"\nq,c,1\n"
    with pytest.raises(DataError) as caught:
        read_run(text)
    assert why in caught.value.why
    assert caught.value.line == line
    if b"q,a,3" not in bad:
        with pytest.warns(DataWarning, match="1 row of <bytes> left out"):
            assert read_run(text, on_error="skip")["q"] == {"c": 1.0, "a": 1.0}


def test_lines_are_counted_through_quoted_line_ends() -> None:
    with pytest.raises(DataError) as caught:
        read_run(b'query,docid,score\nq,"a\nb\nc",1\nq,d,x\n')
    assert caught.value.line == 5


def test_open_quotes_and_foreign_bytes_are_data_errors() -> None:
    with pytest.raises(DataError, match=":3: the quotes are not closed"):
        read_run(b'query,docid,score\nq,a,1\nq,"b,1\nq,c,1\n')
    with pytest.raises(DataError, match=":2: the line is not valid UTF-8"):
        read_run(b"query,docid,score\nq,\xff,1\n")
