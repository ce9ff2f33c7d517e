"""Bad rows stop the reading with their place, or are counted and told."""

from __future__ import annotations

import warnings
from typing import Any

import polars as pl
import pytest

from ranklens.core import DataError, DataWarning, UnknownNameError
from ranklens.io import read_qrels, read_run

GOOD = b"q1 Q0 a 1 2 t\n"


def error_of(read: Any, source: Any, **options: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        read(source, **options)
    return caught.value


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"q1 Q0 b 2 x t", "the score is not a number"),
        (b"q1 Q0 b 2 nan t", "the score is NaN"),
        (b"q1 Q0 b 2 1.0", "a run needs 6 columns (query Q0 document rank score tag), and the line has 5"),
        (b"q1 0 b 2", "is this a qrels file?"),
        (b"q1 Q0 \xff 2 1 t", "not valid UTF-8"),
    ],
)
def test_an_error_names_file_line_text_and_reason(bad: bytes, why: str, tmp_path: Any) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(b"# head\r\n\r\n" + GOOD + bad + b"\nq1 Q0 c 3 0 t\n")
    error = error_of(read_run, path)
    assert why in error.why
    assert error.line == 4
    assert error.file == str(path)
    assert error.text == bad.decode("utf-8", "backslashreplace")
    assert str(error).startswith(f"{path}:4: ")


def test_a_grade_may_not_be_infinite_and_a_score_may() -> None:
    assert read_run(b"q Q0 a 1 -inf t\n")["q"] == {"a": float("-inf")}
    error = error_of(read_qrels, b"q 0 a 1\n\nq 0 b inf\n")
    assert (error.why, error.line, error.text) == ("the grade is infinite", 3, "q 0 b inf")
    with pytest.warns(DataWarning, match="1 row"):
        assert read_qrels({"q": {"a": 1, "b": float("inf")}}, on_error="skip")["q"] == {"a": 1.0}


def test_judgements_with_the_columns_of_a_run_are_refused() -> None:
    assert "is this a run?" in error_of(read_qrels, GOOD).why
    assert error_of(read_qrels, b"1 184 2 \n").line == 1


def test_skipping_counts_keeps_the_first_examples_and_warns_at_the_callers_line() -> None:
    text = GOOD + b"bad\nq1 Q0 b 2 nan t\nq1 Q0 c 3 1 t\nx y\nz\n"
    with pytest.warns(DataWarning, match=r"^4 rows of <bytes> left out: <bytes>:2: .*and 1 more$") as caught:
        run = read_run(text, on_error="skip")
    assert run.to_dict() == {"q1": {"a": 2.0, "c": 1.0}}
    assert caught[0].filename == __file__


def test_skipping_leaves_out_lines_that_are_not_utf8() -> None:
    with pytest.warns(DataWarning, match=r"1 row .*:2: the line is not valid UTF-8"):
        run = read_run(GOOD + b"q1 Q0 \xff\xfe 2 1 t\nq1 Q0 c 3 1 t\n", on_error="skip")
    assert list(run["q1"]) == ["a", "c"]


def test_clean_data_warn_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        skipping = read_run(GOOD, on_error="skip")
    assert skipping == read_run(GOOD)


@pytest.mark.parametrize("source", [b"", b"\n\n", b"# nothing\n", b"\xef\xbb\xbf"])
def test_a_file_without_rows_is_an_error(source: bytes) -> None:
    assert "no rows" in error_of(read_run, source).why
    assert "no rows" in error_of(read_qrels, source).why


def test_a_file_without_a_good_row_is_an_error_also_when_skipping() -> None:
    with pytest.warns(DataWarning):
        assert "no rows" in error_of(read_run, b"bad\n", on_error="skip").why


def test_an_unknown_way_of_handling_errors_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="on_error 'ignore'"):
        read_run(GOOD, on_error="ignore")


def test_wide_characters_and_binary_are_refused() -> None:
    assert "UTF-16" in error_of(read_run, "q1 Q0 a 1 2 t\n".encode("utf-16")).why
    assert "columns" in error_of(read_run, b"PAR1 and then nothing").why


def test_truth_values_order_no_ranking_and_are_grades() -> None:
    for source in ({"q": {"a": True}}, pl.DataFrame({"query": ["q"], "document": ["a"], "score": [True]})):
        with pytest.raises(DataError, match="score"):
            read_run(source)
    assert read_qrels({"q": {"a": True, "b": False}})["q"] == {"a": 1.0, "b": 0.0}


def test_columns_of_what_has_none_are_refused() -> None:
    for source in ({"q": {"a": 1.0}}, [("q", "a", 1.0)]):
        with pytest.raises(ValueError, match="has no columns; leave it out"):
            read_run(source, columns={"query": "x"})


def test_the_first_bad_line_of_json_is_the_one_named() -> None:
    good = b'{"query_id": "q", "doc_id": "a", "score": 1}\n'
    bad_score = b'{"query_id": "q", "doc_id": "b", "score": "x"}\n'
    assert error_of(read_run, good + bad_score + b"[1]\n").line == 2
    assert error_of(read_run, good + b"[1]\n" + bad_score).line == 2
    assert error_of(read_run, b"[1]\n[2]\n{").line in (1, None)


def test_bytes_that_are_no_text_are_escaped_once() -> None:
    error = error_of(read_run, b"q Q0 d\xe9 1 1.0 t\n")
    assert r"(in 'q Q0 d\xe9 1 1.0 t')" in str(error)


def test_a_nul_byte_is_no_part_of_an_id() -> None:
    for source in (
        b"q Q0 a 1 2 t\nq Q0 d\0x 2 1 t\n",
        b"query,document,score\nq,a\0,1\n",
        b"q Q0 a 1 2 t\n\0\0",
    ):
        error = error_of(read_run, source)
        assert "NUL byte" in error.why
        assert error.line in (2, 3)
