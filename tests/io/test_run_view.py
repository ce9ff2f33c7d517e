"""A run is columns with a mapping view."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ranklens.io import Qrels, Run, read_run

TEXT = b"2 Q0 a 1 1 t\n10 Q0 a 1 1 t\n10 Q0 b 2 1 t\n10 Q0 c 3 9 t\n2 Q0 z 1 5 t\n"


def test_queries_are_sorted_by_text_and_documents_by_rank() -> None:
    run = read_run(TEXT, name="mine")
    assert run.query_ids == ("10", "2") == run.keys() == tuple(run)
    assert list(run["10"].items()) == [("c", 9.0), ("b", 1.0), ("a", 1.0)]
    assert dict(run) == run.to_dict() == dict(run.items())
    assert list(run.values()) == [run["10"], run["2"]]
    assert (len(run), "2" in run, "3" in run) == (5, True, False)
    with pytest.raises(KeyError):
        run["3"]
    assert repr(run) == "<Run 'mine': 5 rows, 2 queries>"


def test_the_order_of_rows_makes_no_difference() -> None:
    lines = TEXT.splitlines()
    assert read_run(b"\n".join(lines[::-1])) == read_run(TEXT)
    assert Run.from_dict({"q": {"d": 1}}) != Qrels.from_dict({"q": {"d": 1}})


@pytest.mark.parametrize(
    ("library", "kind"), [("polars", pl.DataFrame), ("pandas", pd.DataFrame), ("pyarrow", pa.Table)]
)
def test_frames_go_out_and_come_back(library: str, kind: type) -> None:
    run = read_run(TEXT)
    frame = run.to_frame(library)
    assert isinstance(frame, kind)
    assert Run.from_frame(frame) == run


def test_the_frame_has_text_ids_and_float_numbers() -> None:
    frame = Qrels.from_dict({"007": {"1": 2}}).frame
    assert frame.schema == {"query": pl.String, "document": pl.String, "grade": pl.Float64}
    assert frame.rows() == [("007", "1", 2.0)]


def test_reading_text_needs_no_dataframe_library() -> None:
    script = (
        "import sys, ranklens.io as io; run = io.read_run(b'q Q0 d 1 1 t'); run['q'];"
        "print([name for name in ('polars', 'pandas', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
