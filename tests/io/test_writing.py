"""What is written reads back, and is written whole or not at all."""

from __future__ import annotations

import csv
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklens.core import DataError, UnknownNameError
from ranklens.core.spreadsheet import neutralise, restore
from ranklens.io import Qrels, Run, read_qrels, read_run

RUN = Run.from_dict({"q1": {"a": 1 / 3, "b": -2.0}, "q2": {"é": float("inf"), "c": 1e-300}}, name="my run")
ODD = Run.from_dict(
    {"red, white shoes": {'5" vinyl': 1.0, " ": 2.0}, "=1+1": {"@x": 1.0, "-3": 2.0, "'=a": 3.0}}
)


@pytest.mark.parametrize(
    "name",
    [
        "a.run",
        "a.txt",
        "a.trec",
        "a",
        "a.csv",
        "a.tsv",
        "a.jsonl",
        "a.parquet",
        "a.run.gz",
        "a.csv.gz",
        "a.feather",
        "a.arrow",
        "a.run.bz2",
        "a.csv.xz",
    ],
)
def test_a_written_run_reads_back(name: str, tmp_path: Path) -> None:
    RUN.write(tmp_path / name)
    assert read_run(tmp_path / name) == RUN
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["a.qrels", "a.csv", "a.jsonl", "a.parquet"])
def test_written_judgements_read_back(name: str, tmp_path: Path) -> None:
    qrels = Qrels.from_dict({"q1": {"a": 2, "b": -1, "c": 0.5}})
    qrels.write(tmp_path / name)
    assert read_qrels(tmp_path / name) == qrels


def test_trec_text_is_what_other_tools_read(tmp_path: Path) -> None:
    RUN.write(tmp_path / "a.run")
    lines = (tmp_path / "a.run").read_text("utf-8").splitlines()
    assert lines[:2] == ["q1 Q0 a 1 0.3333333333333333 my_run", "q1 Q0 b 2 -2.0 my_run"]
    Qrels.from_dict({"q": {"a": 2, "b": 0.5}}).write(tmp_path / "a.qrels")
    assert (tmp_path / "a.qrels").read_text("utf-8") == "q 0 a 2\nq 0 b 0.5\n"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet"])
def test_ids_of_any_text_read_back_from_columns(name: str, tmp_path: Path) -> None:
    ODD.write(tmp_path / name)
    assert read_run(tmp_path / name) == ODD


@pytest.mark.parametrize(
    "data", [{"red shoes": {"a": 1}}, {"q": {"a b": 1}}, {"q": {"a\tb": 1}}, {"#q": {"a": 1}}]
)
def test_ids_that_trec_cannot_hold_are_refused_and_named(
    data: dict[str, dict[str, float]], tmp_path: Path
) -> None:
    (tmp_path / "a.run").write_text("old")
    with pytest.raises(DataError, match=r"red shoes|a b|a.tb|#q"):
        Run.from_dict(data).write(tmp_path / "a.run")
    assert (tmp_path / "a.run").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.run"]


def test_formulas_are_neutralised_in_csv_and_numbers_stay_numbers(tmp_path: Path) -> None:
    run = Run.from_dict({"@SUM(A1)": {"-Infinity": -0.25}, "+cmd": {"=1+1": 1.0}})
    run.write(tmp_path / "a.csv")
    run.write(tmp_path / "raw.csv", neutralise=False)
    with (tmp_path / "a.csv").open(newline="") as stream:
        assert list(csv.reader(stream))[1:] == [
            ["'+cmd", "'=1+1", "1.0"],
            ["'@SUM(A1)", "'-Infinity", "-0.25"],
        ]
    assert "\n@SUM(A1),-Infinity,-0.25" in (tmp_path / "raw.csv").read_text()
    assert read_run(tmp_path / "a.csv") == read_run(tmp_path / "raw.csv") == run


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown file suffix '\.xlsx'"):
        RUN.write(tmp_path / "a.xlsx")
    with pytest.raises(UnknownNameError, match=r"unknown compression to write '\.zst'"):
        RUN.write(tmp_path / "a.run.zst")


def test_a_written_file_has_the_usual_rights(tmp_path: Path) -> None:
    RUN.write(tmp_path / "a.run")
    (tmp_path / "b.run").touch()
    rights = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a.run", "b.run")]
    assert rights[0] == rights[1]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)


@given(TEXT)
def test_restoring_undoes_neutralising(text: str) -> None:
    assert restore(neutralise(text)) == text
    assert neutralise(text)[0] not in "=+-@\t\r"


@settings(max_examples=60)
@given(
    data=st.dictionaries(
        TEXT,
        st.dictionaries(TEXT, st.floats(allow_nan=False), min_size=1, max_size=3),
        min_size=1,
        max_size=3,
    ),
    suffix=st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet"]),
)
def test_any_run_reads_back(
    data: dict[str, dict[str, float]], suffix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / f"a{suffix}"
    run = Run.from_dict(data)
    run.write(path)
    assert read_run(path).to_dict() == run.to_dict()
