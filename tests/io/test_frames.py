"""Frames of three libraries and Arrow files say the same as the text."""

from __future__ import annotations

import io
import types
from collections import namedtuple
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather

from ranklens.core import DataError, DataWarning
from ranklens.io import Qrels, Run, as_qrels, as_run, read_qrels, read_run

COLUMNS = {"qid": ["1", "1", "02"], "docno": ["b", "a", "é"], "score": [1.0, 2.5, float("inf")]}
EXPECTED = {"02": {"é": float("inf")}, "1": {"a": 2.5, "b": 1.0}}


def parquet() -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(COLUMNS).write_parquet(buffer)
    return buffer.getvalue()


def arrow_file(write: Any) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


FRAMES: dict[str, Any] = {
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars lazy": lambda: pl.DataFrame(COLUMNS).lazy(),
    "polars categories": lambda: pl.DataFrame(COLUMNS, schema_overrides={"qid": pl.Categorical}),
    "pandas": lambda: pd.DataFrame(COLUMNS, index=[5, 5, 7]),
    "pandas objects": lambda: pd.DataFrame(COLUMNS).astype({"qid": object, "docno": object}),
    "pandas categories": lambda: pd.DataFrame(COLUMNS).astype({"qid": "category"}),
    "pyarrow": lambda: pa.table(COLUMNS),
    "pyarrow batch": lambda: pa.record_batch(COLUMNS),
    "pyarrow dictionary": lambda: pa.table({**COLUMNS, "qid": pa.array(COLUMNS["qid"]).dictionary_encode()}),
    "parquet": parquet,
    "arrow file": lambda: arrow_file(pl.DataFrame(COLUMNS).write_ipc),
    "arrow stream": lambda: arrow_file(pl.DataFrame(COLUMNS).write_ipc_stream),
    "feather": lambda: arrow_file(lambda buffer: feather.write_feather(pa.table(COLUMNS), buffer)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_is_read(kind: str) -> None:
    assert read_run(FRAMES[kind]()).to_dict() == EXPECTED


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_integer_ids_match_their_text(library: Any) -> None:
    frame = library(
        {"query_id": np.array([1, 20]), "doc_id": np.array([7, 8], dtype=np.uint16), "grade": [1, 0]}
    )
    assert read_qrels(frame).to_dict() == {"1": {"7": 1.0}, "20": {"8": 0.0}}


def test_a_column_of_mixed_integers_and_texts_is_read() -> None:
    frame = pd.DataFrame({"qid": [1, "x"], "docno": ["a", "b"], "score": [1, 2]})
    assert read_run(frame).to_dict() == {"1": {"a": 1.0}, "x": {"b": 2.0}}


@pytest.mark.parametrize(
    ("column", "values", "why"),
    [
        ("qid", ["1", None], ":2: the query id is missing"),
        ("docno", [None, "x"], ":1: the document id is missing"),
        ("score", [1.0, None], ":2: the score is"),
        ("score", ["1", "x"], ":2: the score is not a number"),
        ("qid", [1.0, 2.0], "the query column holds Float64; ids are text or integers; cast"),
        ("docno", [True, False], "the document column holds Boolean; ids are text or integers"),
        ("score", [[1], [2]], "the score column holds List"),
    ],
)
def test_bad_columns_and_rows_are_named(column: str, values: list[Any], why: str) -> None:
    data = {"qid": ["1", "1"], "docno": ["a", "b"], "score": [1.0, 2.0], column: values}
    for library in (pd.DataFrame, pl.DataFrame, pa.table):
        with pytest.raises(DataError) as caught:
            read_run(library(data))
        assert why in str(caught.value)


def test_nan_in_a_frame_is_an_error_and_can_be_skipped() -> None:
    frame = pl.DataFrame({"qid": ["q", "q"], "docid": ["a", "b"], "score": [1.0, float("nan")]})
    with pytest.raises(DataError, match=":2: the score is NaN"):
        read_run(frame)
    with pytest.warns(DataWarning, match="1 row"):
        assert read_run(frame, on_error="skip").to_dict() == {"q": {"a": 1.0}}


def test_a_repeat_in_a_frame_names_both_rows() -> None:
    with pytest.raises(DataError, match="lists document 'a' twice, in lines 1 and 3"):
        read_run(pd.DataFrame({"qid": [1, 1, 1], "docid": ["a", "b", "a"], "score": [1, 2, 3]}))


def test_columns_of_a_frame_can_be_named() -> None:
    frame = pd.DataFrame({"Q": [1], "D": ["x"], "S": [2]})
    columns = {"query": "Q", "document": "D", "score": "S"}
    assert Run.from_frame(frame, columns=columns, name="mine").to_dict() == {"1": {"x": 2.0}}


def test_dictionaries_with_integer_ids_and_numpy_numbers_are_read() -> None:
    run = Run.from_dict({1: {7: np.float32(0.5), "007": 1}}, name="mine")
    assert (run.to_dict(), run.name) == ({"1": {"007": 1.0, "7": 0.5}}, "mine")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"q": {"a": float("nan")}}, "the score is NaN"),
        ({"q": {"a": None}}, "the score is not a number"),
        ({1.5: {"a": 1}}, "the query id is not a text or an integer"),
        ({"q": {"": 1}}, "the document id is not a text"),
        (
            {"q": ["a", "b"]},
            r"query 'q' maps to list; a run dictionary has the form {query: {document: score}}",
        ),
        ({"1": {"a": 1}, 1: {"a": 2}}, "query '1' lists document 'a' twice"),
    ],
)
def test_bad_dictionaries_are_named(data: Any, why: str) -> None:
    with pytest.raises(DataError) as caught:
        read_run(data)
    assert why in str(caught.value)


def test_records_and_objects_of_other_tools_are_read_without_them() -> None:
    qrel = namedtuple("TrecQrel", ["query_id", "doc_id", "relevance", "iteration"])
    scored = namedtuple("GenericScoredDoc", ["query_id", "doc_id", "score"])
    expected = {"q": {"d": 2.0}}
    assert read_qrels(iter([qrel("q", "d", 2, "0")])).to_dict() == expected
    assert read_run([scored("q", "d", 2.0)]).to_dict() == expected
    assert read_run([("q", "d", 2.0)]).to_dict() == expected
    dataset = types.SimpleNamespace(qrels_iter=lambda: iter([qrel("q", "d", 2, "0")]))
    assert read_qrels(dataset).to_dict() == expected
    assert read_qrels(types.SimpleNamespace(qrels={"q": {"d": 2}})).to_dict() == expected
    assert read_run(types.SimpleNamespace(run={"q": {"d": 2}}, name="bm25")).name == "bm25"


def test_other_objects_and_other_records_are_refused() -> None:
    with pytest.raises(TypeError, match="cannot read a run from int"):
        read_run(5)
    with pytest.raises(DataError, match="type tuple is not a run row"):
        read_run([("q", "d")])


def test_judgements_are_no_run() -> None:
    qrels = Qrels.from_dict({"q": {"d": 1}})
    with pytest.raises(TypeError, match=r"a run is needed, not <Qrels 'qrels': .*right order\?"):
        as_run(qrels)
    assert read_qrels(qrels) == qrels


def test_what_is_read_already_stays_as_it_is() -> None:
    run, qrels = Run.from_dict({"q": {"d": 1}}), Qrels.from_dict({"q": {"d": 1}})
    assert as_run(run) is run
    assert as_qrels(qrels) is qrels
    assert as_run({"q": {"d": 1}}, name="x").name == "x"
