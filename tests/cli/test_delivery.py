"""Formats never lie or leak, and files are there completely or not at all."""

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.cli.document import Document, Table
from ranklens.cli.formats import as_csv, as_json, as_latex, as_markdown, as_text, as_trec
from ranklens.cli.measure_words import split_names, spread
from ranklens.core.files import new_folder, write_text
from ranklens.core.widths import text_width

DOCUMENT = Document(
    headline=["dense is better than bm25 by 0.0500"],
    tables=[Table("A = bm25, B = dense", ["measure", "delta"], [["AP", "+0.0500"]])],
    notes=["made with seed 0"],
    records=[{"metric": "AP", "delta": -0.25, "high": float("inf"), "run": "=1+1", "held": True, "q": None}],
    payload={"delta": float("nan"), "nested": [{"high": float("inf")}]},
    trec=[("AP", "all", "0.2500")],
)


def test_text_puts_the_verdict_first_and_how_it_was_made_last():
    text = as_text(DOCUMENT)
    assert text.index("better") < text.index("+0.0500") < text.index("seed 0")
    assert text.endswith("seed 0\n")


def test_sentences_are_broken_for_a_terminal_only():
    long = Document(headline=["word " * 50])
    assert max(len(line) for line in as_text(long, width=40).splitlines()) <= 40
    assert len(as_text(long).splitlines()) == 1


def test_style_appears_only_where_it_is_asked_for():
    assert "\x1b[1m" in as_text(DOCUMENT, style=True)
    assert "\x1b" not in as_text(DOCUMENT)


def test_sections_keep_their_titles():
    nested = Document(sections=[Document(title="1. First", notes=["one"]), Document(title="2. Second")])
    assert as_text(nested) == "1. First\n\none\n\n2. Second\n"
    assert as_markdown(nested) == "### 1. First\n\n- one\n\n### 2. Second\n"


def test_json_has_no_nan_and_no_infinity():
    found = json.loads(as_json(DOCUMENT, {"command": "x"}), parse_constant=pytest.fail)
    assert found["delta"] is None
    assert found["nested"] == [{"high": None}]
    assert list(found)[:2] == ["schema_version", "command"]


def test_the_bytes_of_a_file_name_that_are_no_text_are_escaped():
    document = Document(records=[{"run": "caf\udce9"}], payload={"run": "caf\udce9 \u00e9"})
    text = as_json(document, {})
    assert json.loads(text.encode("utf-8").decode())["run"] == "caf\udce9 \u00e9"
    assert as_csv(document).encode("utf-8").splitlines()[1] == rb"caf\udce9"


def test_sentences_with_wide_characters_fit_the_terminal():
    document = Document(headline=["検索 " * 30], tables=[Table(None, ["run", "n"], [["検索" * 30, "1"]])])
    for line in as_text(document, width=60).splitlines():
        assert text_width(line) <= 60


def test_a_long_caption_costs_a_table_no_column():
    table = Table("A = " + "a long name " * 9, ["run", "p"], [["dense", "0.01"]], spare=("p",))
    lines = as_text(Document(tables=[table]), width=60).splitlines()
    assert lines[-1].split() == ["dense", "0.01"]
    assert max(map(len, lines)) <= 60


def test_a_wide_terminal_shows_wide_tables_whole_and_breaks_sentences_early():
    table = Table(None, ["run", "p"], [["d" * 30 + str(i), "0." + "1" * 90] for i in range(2)], spare=("p",))
    lines = as_text(Document(headline=["word " * 40], tables=[table]), width=160).splitlines()
    assert "left out" not in lines[-1]
    assert max(len(line) for line in lines if "word" in line) <= 100


@given(st.integers(10, 120), st.integers(1, 12), st.booleans())
def test_a_table_that_is_too_wide_goes_on_below_with_every_cell(width, n_columns, numbered):
    header = ["query", *(f"measure {j}" for j in range(n_columns))]
    rows = [["1024" if numbered else "id", *(f"0.{j:04}" for j in range(n_columns))]]
    text = as_text(Document(tables=[Table(None, header, rows)]), width=width)
    assert text.split().count(rows[0][0]) == text.split().count("query")
    assert all(cell in text.split() for cell in rows[0])
    assert max(map(len, text.splitlines())) <= max(width, len("query  ") + 2 + len("measure 10  "))


def test_spare_columns_go_only_where_the_table_fits_without():
    table = Table(None, ["run", "one", "two"], [["dense", "0.1234", "0.5678"]], spare=("two",))
    assert "left out to fit this terminal: two" in as_text(Document(tables=[table]), width=16)
    narrow = as_text(Document(tables=[table]), width=10)
    assert "0.5678" in narrow
    assert "left out" not in narrow


def test_csv_keeps_numbers_numbers_and_makes_text_harmless():
    header, row = as_csv(DOCUMENT).splitlines()
    assert header == "metric,delta,high,run,held,q"
    assert row == "AP,-0.25,,'=1+1,true,"
    assert as_csv(DOCUMENT, raw=True).splitlines()[1] == "AP,-0.25,,=1+1,true,"
    assert as_csv(Document()) == ""


def test_latex_keeps_sentences_as_comments():
    lines = as_latex(DOCUMENT).splitlines()
    assert lines[0] == "% dense is better than bm25 by 0.0500"
    assert r"\bottomrule" in lines


def test_trec_pads_the_measure_as_trec_eval_does():
    assert as_trec(DOCUMENT) == "AP                    \tall\t0.2500\n"


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path):
    path = tmp_path / "out.txt"
    write_text(path, "old\n")
    path.chmod(0o640)
    write_text(path, "new\n")
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    write_text(path, "more\n", append=True)
    assert path.read_text() == "new\nmore\n"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "out.txt"
    write_text(path, "old\n")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(path, "new\n")
    assert path.read_text() == "old\n"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_link_stays_a_link_and_a_device_is_written_to(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    write_text(Path(os.devnull), "anything")


def test_a_new_folder_appears_only_when_it_is_complete(tmp_path):
    wanted = tmp_path / "demo"

    def fail_halfway():
        with new_folder(wanted) as folder:
            (folder / "half").write_text("x")
            assert not wanted.exists()
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert os.listdir(tmp_path) == []
    with new_folder(wanted) as folder:
        (folder / "whole").write_text("x")
    assert os.listdir(wanted) == ["whole"]
    with pytest.raises(FileExistsError, match="not an empty folder"), new_folder(wanted):
        pass


def test_an_empty_folder_that_somebody_stands_in_is_filled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with new_folder(Path()) as folder:
        (folder / "whole").write_text("x")
    assert os.listdir() == ["whole"]


def test_a_measure_option_takes_words_up_to_an_option_or_a_file():
    known = {"qrels", "a=b"}.__contains__
    assert spread(["-m", "AP", "RR", "qrels", "P@1"], known) == ["-m", "AP", "-m", "RR", "qrels", "P@1"]
    assert spread(["-m", "AP", "a=b"], known) == ["-m", "AP", "a=b"]
    assert spread(["-m", "AP", "--", "RR"], known) == ["-m", "AP", "--", "RR"]
    assert spread(["-m", "AP", "-q", "RR"], known) == ["-m", "AP", "-q", "RR"]
    assert spread(["q", "-m"], known) == ["q", "-m"]


@given(st.lists(st.sampled_from(["AP", "nDCG(gain=exp, max=2)@10", "P@1"]), min_size=1, max_size=5))
def test_measures_may_be_written_in_one_word(names):
    distinct = [name.replace(" ", "") for name in dict.fromkeys(names)]
    for separator in (",", " ", " , "):
        assert [name.replace(" ", "") for name in split_names([separator.join(names)])] == distinct


@pytest.mark.parametrize(
    "words",
    [
        ("eval", "qrels.txt", "weak.run"),
        ("eval", "qrels.txt", "name=weak.run"),
        ("compare", "qrels.txt", "weak.run", "strong.run", "--segments", "queries.csv:locale"),
        ("compare", "qrels.txt", "weak.run", "strong.run", "--clusters", "queries.csv:device"),
        ("power", "qrels.txt", "weak.run", "strong.run"),
    ],
)
def test_an_output_that_is_an_input_is_refused(command, files, words):
    for word in words[1:]:
        name = word.partition(":")[0].rpartition("=")[2]
        if name.startswith("--"):
            continue
        (files / "link").unlink(missing_ok=True)
        (files / "link").symlink_to(name)
        before = (files / name).read_bytes()
        for output in (name, f"./{name}", "link"):
            for more in ((), ("--append",)):
                done = command(*words, "-o", output, *more)
                assert done.exit_code == 1
                assert "is an input of this command" in done.stderr
        assert (files / name).read_bytes() == before


def test_an_old_output_is_no_input(command, files):
    for _ in range(2):
        assert command("eval", "qrels.txt", "weak.run", "-o", "out.txt").exit_code == 0
    assert command("eval", "qrels.txt", "weak.run", "-o", "").exit_code == 1


def test_an_unwritable_place_is_called_by_its_own_name(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied", str(tmp_path / ".out.txt.abc.tmp"))

    monkeypatch.setattr("ranklens.core.files.tempfile.mkstemp", refuse)
    with pytest.raises(PermissionError, match="cannot write here") as caught:
        write_text(tmp_path / "out.txt", "x")
    assert caught.value.filename == str(tmp_path / "out.txt")


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["ndcg_cut.5,10"], ["ndcg_cut.5", "ndcg_cut.10"]),
        (["P_5,10,AP", "nDCG@5,10(rel=2)"], ["P_5", "P_10", "AP", "nDCG@5(rel=2)", "nDCG@10(rel=2)"]),
        (["AP,11pt_avg,P.5,10 RR"], ["AP", "11pt_avg", "P.5", "P.10", "RR"]),
    ],
)
def test_a_comma_before_a_number_adds_a_cutoff(texts, names):
    assert split_names(texts) == names


def test_appended_csv_has_one_header(command, files):
    words = ("-m", "RR", "-o", "log.csv", "--append", "--format", "csv")
    assert command("eval", "qrels.txt", "weak.run", *words).exit_code == 0
    assert command("eval", "qrels.txt", "strong.run", *words).exit_code == 0
    rows = (files / "log.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["run", "weak", "strong"]
    other = command("eval", "qrels.txt", "strong.run", "-m", "AP", *words[2:])
    assert other.exit_code == 1
    assert "log.csv has other columns" in other.stderr
    assert (files / "log.csv").read_text().splitlines() == rows


def test_json_is_not_appended(command):
    done = command("eval", "qrels.txt", "weak.run", "-o", "log.json", "--append", "--format", "json")
    assert done.exit_code == 2
    assert "second JSON document" in done.stderr


@pytest.mark.parametrize("option", ["-o", "--plot"])
def test_no_input_of_explain_is_overwritten(command, files, option):
    for name in ("model.svg", "data.svg", "names.svg"):
        (files / name).write_text(name)
    for name in ("model.svg", "data.svg", "names.svg"):
        done = command("explain", "model.svg", "data.svg", "--names", "names.svg", option, name)
        assert done.exit_code == 1
        assert f"{name} is an input of this command" in done.stderr
        assert (files / name).read_text() == name
