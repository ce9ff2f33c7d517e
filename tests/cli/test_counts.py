"""What was left out is said in every format, and a run that answers few queries cannot pass unseen."""

import csv
import io
import json
from pathlib import Path

import pytest

QRELS, WEAK, STRONG = "qrels.txt", "weak.run", "strong.run"


@pytest.fixture
def part(command):
    """A run that answers 10 of 40 judged queries and one that is not judged, and has one broken row."""
    lines = Path(STRONG).read_text().splitlines()[:20]
    Path("part.run").write_text("\n".join([*lines, "q99 Q0 good 1 1.0 t", "q00 Q0 x 3 high t"]) + "\n")
    Path("plain.run").write_text("\n".join([*lines, "q99 Q0 good 1 1.0 t"]) + "\n")
    return "part.run"


def rows_of(done):
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_csv_carries_the_counts_of_each_run(command, part):
    for more in ((), ("-q",)):
        done = command("eval", QRELS, part, STRONG, "--on-error", "skip", "--quiet", "--format", "csv", *more)
        for row in rows_of(done):
            found = [row[f"n_{name}"] for name in ("queries", "not_retrieved", "unjudged", "left_out")]
            assert found == (["40", "30", "1", "1"] if row["run"] == "part" else ["40", "0", "0", "0"])
            assert row["n_without_relevant"] == "0"


def test_csv_of_comparisons_and_of_power_carries_the_counts_of_both_runs(command, part):
    for name in ("compare", "power"):
        done = command(name, QRELS, part, STRONG, "--on-error", "skip", "--quiet", "--format", "csv")
        (row,) = rows_of(done)
        found = {key: row[f"n_{key}"] for key in ("not_retrieved_a", "unjudged_a", "left_out_a")}
        assert found == {"not_retrieved_a": "30", "unjudged_a": "1", "left_out_a": "1"}
        assert (row["n_not_retrieved_b"], row["n_left_out_b"]) == ("0", "0")


@pytest.mark.parametrize("style", ["table", "markdown", "latex"])
@pytest.mark.parametrize("name", ["eval", "compare", "power"])
def test_tables_say_what_was_left_out_even_when_quiet(command, part, name, style):
    done = command(name, QRELS, part, STRONG, "--on-error", "skip", "--quiet", "--format", style)
    assert "unreadable rows left out (run and judgements): part 1, strong 0" in done.stdout
    assert "part answers 10 of 40 judged queries; the other 30 score 0" in done.stdout
    assert done.stderr == ""


def test_json_has_the_counts(command, part):
    done = command("power", QRELS, part, STRONG, "--on-error", "skip", "--quiet", "--format", "json")
    assert json.loads(done.stdout)["runs"]["part"]["n_left_out"] == 1


def test_trec_columns_leave_the_counts_to_standard_error(command, part):
    done = command("eval", QRELS, "plain.run", "-m", "AP", "AP(rel=2)", "nDCG@10", "--format", "trec")
    assert done.stderr.splitlines() == ["note: plain: judged but not answered 30, answered but not judged 1"]
    names = [line.split("\t")[0].strip() for line in done.stdout.splitlines()]
    assert names == ["runid", "num_q", "AP", "AP(rel=2)", "ndcg_cut_10"]
    assert command("eval", QRELS, STRONG, "--format", "trec").stderr == ""


def test_a_name_of_two_lines_stays_in_its_column(command):
    Path("a\nb.run").write_bytes(Path(WEAK).read_bytes())
    done = command("eval", QRELS, "a\nb.run", "--format", "trec")
    assert {line.count("\t") for line in done.stdout.splitlines()} == {2}


@pytest.mark.parametrize("name", ["eval", "compare", "power"])
def test_a_least_coverage_can_be_asked_for(command, part, name):
    words = (name, QRELS, "plain.run", STRONG, "--min-coverage")
    done = command(*words, "0.5")
    assert done.exit_code == 3
    assert "plain answers 10 of 40 judged queries; the other 30 score 0; --min-coverage 0.5" in done.stderr
    assert command(*words, "0.25").exit_code == 0
    assert command(*words, "1.5").exit_code == 2
    left = command(*words, "0.5", "--missing", "skip")
    assert left.exit_code == 3
    assert "the other 30 are left out" in left.stderr


def test_a_coverage_short_of_all_is_told_where_all_is_asked_for(command):
    Path("most.run").write_text("\n".join(Path(WEAK).read_text().splitlines()[2:]) + "\n")
    done = command("eval", QRELS, "most.run", "--min-coverage", "1")
    assert done.exit_code == 3
    assert "most answers 39 of 40 judged queries; the other 1 scores 0" in done.stderr
    assert "warning" not in command("eval", QRELS, "most.run").stdout


@pytest.mark.parametrize("answered", [1, 8, 9, 24])
def test_a_coverage_that_is_just_reached_passes(command, answered):
    Path("some.run").write_text("\n".join(Path(WEAK).read_text().splitlines()[: 2 * answered]) + "\n")
    words = ("eval", QRELS, "some.run", "--min-coverage")
    assert command(*words, str(answered / 40)).exit_code == 0
    assert command(*words, str(answered / 40 + 0.001)).exit_code == 3
