"""Sources without rows are data errors in every format, and name their file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from ranklens.core import DataError
from ranklens.io import read_qrels, read_run, read_segments

BLANK = {"empty": b"", "byte order mark": b"\xef\xbb\xbf", "newlines": b"\n\r\n\n", "blanks": b"  \n\t\n"}
SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".txt", ".run", "", ".csv.gz", ".jsonl.gz")


@pytest.mark.parametrize("content", BLANK.values(), ids=BLANK)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_blank_file_has_no_rows(content: bytes, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"file{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    for read, kind in ((read_run, "run source"), (read_qrels, "qrels source"), (read_segments, "table")):
        with pytest.raises(DataError, match=f"there are no rows in this {kind}") as caught:
            read(path)
        assert caught.value.file == str(path)


def test_the_null_device_has_no_rows() -> None:
    for read in (read_run, read_qrels, read_segments):
        with pytest.raises(DataError, match="no rows"):
            read("/dev/null")


def test_a_mapping_without_any_document_has_no_rows() -> None:
    for source in ({}, {"q1": {}}):
        for read in (read_run, read_qrels):
            with pytest.raises(DataError, match="no rows"):
                read(source)


def test_a_table_of_segments_needs_rows_and_a_second_column(tmp_path: Path) -> None:
    frame = pl.DataFrame({"query_id": ["1"], "locale": ["de"]})
    frame.clear().write_parquet(tmp_path / "empty.parquet")
    for source in (
        b"query_id,locale\n",
        frame.clear(),
        frame.clear().to_pandas(),
        tmp_path / "empty.parquet",
    ):
        with pytest.raises(DataError, match="no rows in this table of segments"):
            read_segments(source)
    with pytest.raises(DataError, match="no column of segments beside the query ids"):
        read_segments(b"query_id\n1\n")


@pytest.mark.parametrize("source", [None, 5, object(), lambda: None])
def test_what_is_no_table_of_segments_is_a_type_error(source: Any) -> None:
    with pytest.raises(TypeError, match="cannot read segments from"):
        read_segments(source)


def test_a_cell_of_segments_is_one_value() -> None:
    with pytest.raises(DataError, match="'locale' are no texts or numbers"):
        read_segments(b'{"query_id": "1", "locale": ["de", "fr"]}\n')


def test_two_columns_of_one_name_cannot_be_told_apart() -> None:
    frame = pd.DataFrame([["1", "de", "fr"]], columns=["query_id", "locale", "locale"])
    for source in (b"query_id,locale,locale\n1,de,fr\n", frame):
        with pytest.raises(DataError, match="two columns are called 'locale'"):
            read_segments(source)


def test_a_broken_line_of_segments_is_named() -> None:
    with pytest.raises(DataError, match="not a JSON object") as caught:
        read_segments(b'{"query_id": "1", "locale": "de"}\n{"query_id": "2", \n')
    assert caught.value.line == 2


def test_archives_and_other_encodings_are_named() -> None:
    for read in (read_run, read_segments):
        with pytest.raises(DataError, match="ZIP archive; unpack it first"):
            read(b"PK\x03\x04rest")
        with pytest.raises(DataError, match="UTF-16"):
            read("query_id,locale\n1,de\n".encode("utf-16"))
