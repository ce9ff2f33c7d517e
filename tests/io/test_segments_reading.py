"""Segments: tables of query id and fields, and columns of the run itself."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from ranklens.core import DataError, DataWarning, UnknownNameError
from ranklens.io import read_segments

CSV = b"query_id,locale,device\n1,de,phone\n2,fr,desk\n3,,desk\n"


def test_a_table_gives_each_field_by_query() -> None:
    segments = read_segments(CSV)
    assert list(segments) == ["locale", "device"]
    assert segments["locale"] == {"1": "de", "2": "fr"}
    assert segments["device"]["3"] == "desk"
    assert repr(segments) == "<Segments: locale, device>"


def test_fields_can_be_chosen() -> None:
    assert list(read_segments(CSV, ["device"])) == ["device"]
    assert list(read_segments(read_segments(CSV), ["locale"])) == ["locale"]
    with pytest.raises(UnknownNameError, match="unknown segment field 'local'; did you mean locale"):
        read_segments(CSV, ["local"])
    with pytest.raises(UnknownNameError, match="unknown segment field 'local'"):
        read_segments(CSV)["local"]


@pytest.mark.parametrize(
    ("header", "ids"),
    [
        ("topic\tdomain\tquery", "ab"),
        ("intent\tquery\tx", "ab"),
        ("domain\tquery_id\tx", "uv"),
        ("x\ty\tz", "ab"),
    ],
)
def test_the_ids_are_in_a_column_called_so_or_else_in_the_first(header: str, ids: str) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        segments = read_segments(f"{header}\na\tu\tm\nb\tv\tn\n".encode())
    first = header.split("\t")[0]
    assert [str(item.message).endswith(f"from the first one, {first!r}") for item in told] == (
        [True] if first in ("intent", "x") else []
    )
    assert sorted(next(iter(segments.values()))) == list(ids)


def test_the_id_column_can_be_named() -> None:
    assert read_segments(b"a,b\nx,1\ny,2\n", query="b")["a"] == {"1": "x", "2": "y"}
    with pytest.raises(UnknownNameError, match="unknown column 'c'"):
        read_segments(b"a,b\nx,1\n", query="c")


def test_a_file_without_a_header_says_so_and_takes_names() -> None:
    text = b"50122\tlayoffs\tbusiness\n42255\tsalary, min\tbusiness\n"
    with pytest.raises(DataError, match=r"no header, it seems \(the first cell is '50122'\).*names="):
        read_segments(text)
    segments = read_segments(text, ["domain"], names=["query_id", "text", "domain"])
    assert segments["domain"] == {"50122": "business", "42255": "business"}


def test_a_run_that_carries_the_segment_of_its_queries_is_a_table() -> None:
    frame = pl.DataFrame(
        {"qid": [1, 1, 2], "docno": ["a", "b", "a"], "score": [3.0, 2.0, 1.0], "locale": ["de", "de", "fr"]}
    )
    assert read_segments(frame).keys() == {"locale"}
    for source in (frame, frame.to_pandas(), frame.to_arrow(), frame.write_ndjson().encode()):
        assert read_segments(source, ["locale"])["locale"] == {"1": "de", "2": "fr"}


def test_a_query_in_two_segments_of_a_field_is_an_error() -> None:
    with pytest.raises(DataError, match="query '1' is in two segments of 'locale', 'de' and 'fr'"):
        read_segments(pd.DataFrame({"qid": [1, 1], "locale": ["de", "fr"]}))


def test_nested_dictionaries_are_segments() -> None:
    segments = read_segments({"locale": {1: "de", "2": None}})
    assert segments["locale"] == {"1": "de"}
    with pytest.raises(TypeError, match=r"\{field: \{query: segment\}\}"):
        read_segments({"1": "de"})


def test_missing_ids_and_uneven_rows_are_errors() -> None:
    with pytest.raises(DataError, match="the query id is missing"):
        read_segments(pl.DataFrame({"qid": ["a", None], "x": ["u", "v"]}))
    with pytest.raises(DataError, match=":3: 1 columns, and 2 are expected"):
        read_segments(b"qid,x\na,u\nb\n")


def test_parquet_holds_segments(tmp_path: Path) -> None:
    pl.DataFrame({"qid": [7], "x": ["u"]}).write_parquet(tmp_path / "s.parquet")
    assert read_segments(tmp_path / "s.parquet")["x"] == {"7": "u"}


def test_real_segment_tables_are_read(data_dir: Path) -> None:
    assert (
        read_segments(data_dir / "codec-doc/segments.tsv", ["domain"])["domain"]["economics-1"] == "finance"
    )
    assert set(read_segments(data_dir / "wtr-tables/segments.tsv")["subset"].values()) == {"QS-1", "QS-2"}
    with pytest.warns(DataWarning, match="taken from the first one, 'intent'"):
        clusters = read_segments(data_dir / "dl-mia-intents/segments.tsv")["query"]
    assert (len(clusters), len(set(clusters.values()))) == (69, 24)


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        ([None, "x", "y"], {"2": "x", "3": "y"}),
        ([float("nan"), 1, 2], {"2": "1", "3": "2"}),
        ([float("nan"), 1.5, 2.0], {"2": "1.5", "3": "2.0"}),
        (pd.array([None, 1, 2], dtype="Int64"), {"2": "1", "3": "2"}),
        (pd.Categorical([None, "x", "y"]), {"2": "x", "3": "y"}),
        (pd.array([None, True, False], dtype="boolean"), {"2": "true", "3": "false"}),
        (pd.to_datetime([None, "2020-01-01", "2021-01-01"]), None),
    ],
    ids=["object", "gap in integers", "floats", "Int64", "categories", "boolean", "dates"],
)
def test_what_pandas_marks_as_missing_is_in_no_segment(column: object, wanted: dict[str, str] | None) -> None:
    frame = pd.DataFrame({"query_id": ["1", "2", "3"], "f": column})
    found = read_segments(frame)["f"]
    if wanted is None:
        assert list(found) == ["2", "3"]
        assert found["2"].startswith("2020-01-01")
    else:
        assert found == wanted
        values = {"1": None} | {query: pd.DataFrame({"f": column})["f"][int(query) - 1] for query in wanted}
        if frame["f"].dtype.kind not in "f":
            assert read_segments({"f": values})["f"] == wanted


def test_a_series_is_no_table() -> None:
    with pytest.raises(TypeError, match="cannot read segments from Series"):
        read_segments(pd.Series(["a", "b"]))
