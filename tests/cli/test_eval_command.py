"""``ranklens eval``: every format says the same numbers."""

import csv
import hashlib
import io
import json
from pathlib import Path

import pytest

import ranklens
from ranklens.cli.formats import SCHEMA_VERSION

QRELS, WEAK, STRONG = "qrels.txt", "weak.run", "strong.run"


def lines_of(done):
    return done.stdout.splitlines()


def means(measures=("nDCG@10", "RR")):
    found = ranklens.evaluate_many({"weak": WEAK, "strong": STRONG}, QRELS, list(measures))
    return {run: {name: found[run][name].mean for name in measures} for run in found}


def test_the_table_shows_means_and_counts(command):
    done = command("eval", QRELS, WEAK, STRONG, "-m", "nDCG@10", "RR")
    assert done.exit_code == 0
    header, _, weak, strong, *_ = lines_of(done)
    assert header.split() == ["run", "nDCG@10", "RR"]
    assert weak.split() == ["weak", *(f"{v:.4f}" for v in means()["weak"].values())]
    assert strong.split()[0] == "strong"
    assert "queries measured: 40; without a relevant document: 0" in done.stdout
    assert "judged but not answered (scored 0): 0" in done.stdout
    assert done.stderr == ""


def test_counts_name_the_run_they_belong_to(command):
    lines = Path(WEAK).read_text().splitlines()
    Path("part.run").write_text("\n".join(lines[4:]) + "\nq99 Q0 good 1 1.0 t\n")
    done = command("eval", QRELS, "part.run", STRONG, "--missing", "skip")
    assert "queries measured: part 38, strong 40" in done.stdout
    assert "judged but not answered (left out): part 2, strong 0" in done.stdout
    assert "answered but not judged (not measured): part 1, strong 0" in done.stdout


def test_json_has_every_number_and_what_it_was_made_from(command):
    done = command("eval", QRELS, WEAK, STRONG, "-m", "nDCG@10", "RR", "-q", "--format", "json")
    found = json.loads(done.stdout)
    assert found["schema_version"] == SCHEMA_VERSION == 1
    assert found["ranklens"] == ranklens.__version__
    assert found["arguments"][0] == "eval"
    assert {run: item["means"] for run, item in found["runs"].items()} == means()
    assert found["runs"]["weak"]["per_query"]["RR"]["q00"] == 1.0
    assert found["runs"]["weak"]["n_not_retrieved"] == 0
    assert [item["name"] for item in found["inputs"]] == ["qrels", "weak", "strong"]
    assert found["inputs"][1]["sha256"] == hashlib.sha256(Path(WEAK).read_bytes()).hexdigest()
    assert found["options"]["missing"] == "zero"
    assert found["measures"] == ["nDCG@10", "RR"]


def test_csv_has_a_record_for_each_run_with_all_digits(command):
    done = command("eval", QRELS, WEAK, STRONG, "-m", "nDCG@10", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["run"] for row in rows] == ["weak", "strong"]
    assert float(rows[0]["nDCG@10"]) == means(["nDCG@10"])["weak"]["nDCG@10"]


def test_csv_makes_formulas_harmless_unless_told_not_to(command):
    rows = ["=1+1 Q0 d 1 1.0 t", "-Infinity Q0 d 1 1.0 t", "+cmd Q0 d 1 1.0 t", "@SUM(A1) Q0 d 1 1.0 t"]
    Path("odd.run").write_text("\n".join(rows) + "\n")
    Path("odd.qrels").write_text("".join(f"{row.split()[0]} 0 d 1\n" for row in rows))
    arguments = ("eval", "odd.qrels", "=1+1=odd.run", "-q", "-m", "RR", "--format")
    neutral = list(csv.reader(io.StringIO(command(*arguments, "csv").stdout)))
    assert {row[0] for row in neutral[1:]} == {"'=1+1"}
    assert {row[1] for row in neutral[1:]} == {"'=1+1", "'-Infinity", "'+cmd", "'@SUM(A1)"}
    raw = list(csv.reader(io.StringIO(command(*arguments, "csv", "--raw-csv").stdout)))
    assert {row[1] for row in raw[1:]} == {"=1+1", "-Infinity", "+cmd", "@SUM(A1)"}
    found = json.loads(command(*arguments, "json").stdout)
    assert set(found["runs"]["=1+1"]["per_query"]["RR"]) == {"=1+1", "-Infinity", "+cmd", "@SUM(A1)"}


def test_trec_columns_are_measure_query_value(command):
    done = command("eval", QRELS, WEAK, "-q", "-m", "RR", "NumRel", "--format", "trec")
    rows = [line.split("\t") for line in lines_of(done)]
    assert {len(row) for row in rows} == {3}
    assert ["recip_rank            ", "q00", "1.0000"] in rows
    found = {(name.strip(), query): value for name, query, value in rows}
    assert found["runid", "all"] == "weak"
    assert found["num_q", "all"] == "40"
    assert found["num_rel", "q00"] == "1"
    assert found["num_rel", "all"] == "40"
    assert found["recip_rank", "all"] == f"{means(['RR'])['weak']['RR']:.4f}"


def test_per_query_tables_end_with_the_mean(command):
    done = command("eval", QRELS, WEAK, "-q", "-m", "RR")
    lines = lines_of(done)
    assert lines[0].split() == ["query", "RR"]
    assert lines[2].split() == ["q00", "1.0000"]
    assert lines[42].split() == ["all", f"{means(['RR'])['weak']['RR']:.4f}"]


@pytest.mark.parametrize(("style", "mark"), [("markdown", "|:---"), ("latex", r"\toprule")])
def test_tables_for_documents(command, style, mark):
    done = command("eval", QRELS, WEAK, "--format", style)
    assert mark in done.stdout
    assert f"{means()['weak']['nDCG@10']:.4f}" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("-m", "nDCG@10", "RR"),
        ("-m", "nDCG@10", "-m", "RR"),
        ("--measures", "nDCG@10,RR"),
        ("-m", "ndcg_cut_10 recip_rank"),
        ("-m", "NDCG@10", "MRR", "nDCG@10"),
    ],
)
def test_measures_as_people_type_them(command, words):
    done = command("eval", QRELS, WEAK, *words)
    assert lines_of(done)[0].split() == ["run", "nDCG@10", "RR"]


def test_measures_may_come_before_the_files(command):
    done = command("eval", "-m", "nDCG@10", "RR", QRELS, f"x={WEAK}")
    assert lines_of(done)[0].split() == ["run", "nDCG@10", "RR"]
    assert lines_of(done)[2].split()[0] == "x"


def test_a_run_may_come_from_standard_input(command):
    done = command("eval", QRELS, "piped=-", "-m", "RR", "--format", "json", input=Path(WEAK).read_bytes())
    found = json.loads(done.stdout)
    assert found["runs"]["piped"]["means"]["RR"] == means(["RR"])["weak"]["RR"]
    assert found["inputs"][1]["sha256"] is None


def test_options_reach_the_measures(command):
    shallow = json.loads(command("eval", QRELS, WEAK, "-m", "RR", "--depth", "1", "--format", "json").stdout)
    assert shallow["runs"]["weak"]["means"]["RR"] == pytest.approx(0.1)
    strict = command("eval", QRELS, WEAK, "-m", "RR", "--rel", "2")
    assert "RR(rel=2)" in strict.stdout
    assert "without a relevant document: 40" in strict.stdout


def test_float32_ties_are_said(command):
    done = command("eval", QRELS, WEAK, "--score-precision", "float32")
    assert "scores compared as float32" in done.stdout


def test_output_goes_to_a_file_and_nothing_to_the_terminal(command):
    done = command("eval", QRELS, WEAK, "--output", "out.md", "--format", "markdown")
    assert done.stdout == ""
    first = Path("out.md").read_text()
    command("eval", QRELS, WEAK, "--output", "out.md", "--format", "markdown", "--append")
    assert Path("out.md").read_text() == first * 2
    assert {path.name for path in Path().iterdir() if "out" in path.name} == {"out.md"}


def test_skipped_lines_are_counted_in_a_warning_of_one_line(command):
    Path("broken.run").write_text(Path(WEAK).read_text() + "q00 Q0 other 3 nonsense t\n")
    done = command("eval", QRELS, "broken.run", "--on-error", "skip", "--format", "json")
    assert done.exit_code == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("warning: ")
    assert json.loads(done.stdout)["warnings"] == [line.removeprefix("warning: ")]
    quiet = command("eval", QRELS, "broken.run", "--on-error", "skip", "--quiet")
    assert quiet.stderr == ""


def test_unusual_columns_are_named(command):
    rows = [line.split() for line in Path(WEAK).read_text().splitlines()]
    Path("odd.csv").write_text("frage,treffer,wert\n" + "".join(f"{r[0]},{r[2]},{r[4]}\n" for r in rows))
    done = command("eval", QRELS, "odd.csv", "-m", "RR")
    assert done.exit_code == 3
    assert "--run-columns" in done.stderr
    named = command(
        "eval", QRELS, "weak=odd.csv", "-m", "RR", "--run-columns", "query=frage,document=1,score=wert"
    )
    assert named.stdout == command("eval", QRELS, WEAK, "-m", "RR").stdout
    judged = [line.split() for line in Path(QRELS).read_text().splitlines()]
    Path("odd_qrels.csv").write_text(
        "frage,treffer,note\n" + "".join(f"{r[0]},{r[2]},{r[3]}\n" for r in judged)
    )
    both = command("eval", "odd_qrels.csv", WEAK, "-m", "RR", "--qrels-columns", "query=0,document=1,grade=2")
    assert both.stdout == named.stdout
    assert command("eval", QRELS, WEAK, "--run-columns", "query").exit_code == 2


def test_long_names_are_cut_in_tables_only(command):
    name = "x" * 60
    done = command("eval", QRELS, f"{name}={WEAK}", "-m", "RR")
    assert "x" * 39 + "…" in done.stdout
    assert name in command("eval", QRELS, f"{name}={WEAK}", "-m", "RR", "--format", "csv").stdout


def test_an_id_with_a_blank_does_not_go_into_columns_between_blanks(command):
    Path("q.csv").write_text('query,document,grade\n"red, white",d1,1\n')
    Path("r.csv").write_text('query,document,score\n"red, white",d1,1\n')
    done = command("eval", "q.csv", "r.csv", "-q", "--format", "trec")
    assert done.exit_code == 3
    assert "'red, white' holds a blank" in done.stderr
    assert command("eval", "q.csv", "r.csv", "--format", "trec").exit_code == 0
