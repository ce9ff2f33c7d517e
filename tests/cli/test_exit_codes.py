"""Every way to fail has its exit code and says what is wrong and what to do, without a traceback."""

import gzip
from pathlib import Path

import pytest

QRELS, WEAK, STRONG = "qrels.txt", "weak.run", "strong.run"


def failure(done, code):
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("eval", "none.txt", WEAK), "no such file: none.txt"),
        (("eval", QRELS, "week.run"), "no such file: week.run\ndid you mean weak.run"),
        (("eval", QRELS, "far/away.run"), "the folder far does not exist either"),
        (("eval", QRELS, "."), "is a folder"),
        (("eval", QRELS, "name=none.run"), "no such file: none.run"),
        (("eval", QRELS, "=weak.run"), "empty name"),
        (("eval", QRELS, WEAK, "-m", "nDGC@10"), "unknown measure 'nDGC@10'; did you mean nDCG"),
        (
            ("eval", QRELS, WEAK, "sub=weak.run", f"weak={STRONG}"),
            "two runs are named 'weak': weak.run and strong",
        ),
        (("eval", "-", "-"), "standard input (-) is named twice"),
        (("compare", QRELS, WEAK), "at least two runs"),
        (("compare", QRELS, WEAK, STRONG, "--segments", "none.csv"), "no such file: none.csv"),
        (("compare", QRELS, WEAK, STRONG, "--fail-if", "delta(nDCG@10 < 0"), "parenthesis is not closed"),
        (
            ("compare", QRELS, WEAK, STRONG, "--fail-if", "delta(P@5) < 0"),
            "the measures compared are nDCG@10",
        ),
        (
            ("compare", QRELS, WEAK, STRONG, "--fail-if", "segment(locale=de) and p < 1"),
            "'locale'; name their file with --segments",
        ),
        (("power", QRELS, WEAK), "QRELS RUN_A RUN_B"),
        (("power", "--sd", "-1", "--n", "20"), "sd must be a finite number of at least 0"),
        (("eval", QRELS, WEAK, "--output", "no/where.txt"), "--output: no such folder: no"),
        (("demo", "--write", "."), "not an empty folder"),
    ],
)
def test_wrong_use_is_code_1(command, arguments, says):
    assert says in failure(command(*arguments), 1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("eval", QRELS), "Missing argument"),
        (("eval", QRELS, WEAK, "--nonsense"), "No such option"),
        (("eval", QRELS, WEAK, "--format", "xml"), "'xml' is not one of"),
        (("compare", QRELS, WEAK, STRONG, "--alpha", "2"), "--alpha"),
        (("compare", QRELS, WEAK, STRONG, "--format", "trec"), "'trec' is not one of"),
        (("eval", QRELS, WEAK, "--append"), "--append needs --output"),
        (("power",), "give --sd"),
        (("evil",), "Did you mean eval?"),
    ],
)
def test_arguments_that_cannot_be_parsed_are_code_2(command, arguments, says):
    assert says in failure(command(*arguments), 2)


def test_broken_lines_are_code_3_and_are_shown(command):
    Path("broken.run").write_text("q00 Q0 good 1 2.0 t\nq00 Q0 bad 2 high t\n")
    message = failure(command("eval", QRELS, "broken.run"), 3)
    assert message.startswith("error: broken.run:2: ")
    assert "high" in message


def test_a_truncated_archive_is_code_3(command):
    Path("cut.run.gz").write_bytes(gzip.compress(Path(WEAK).read_bytes())[:-5])
    assert "cut.run.gz" in failure(command("eval", QRELS, "cut.run.gz"), 3)


def test_no_query_in_common_is_code_3(command):
    Path("other.run").write_text("1 Q0 good 1 2.0 t\n")
    message = failure(command("eval", QRELS, "other.run"), 3)
    assert "no query in common" in message
    assert "q00" in message


def test_an_empty_run_is_code_3(command):
    Path("empty.run").write_text("")
    assert "empty.run" in failure(command("eval", QRELS, "empty.run"), 3)


def test_control_characters_of_a_file_do_not_reach_the_terminal(command):
    Path("evil.run").write_text("q00 Q0 \x1b[2Jgood 1 high t\n")
    assert "\x1b" not in failure(command("eval", QRELS, "evil.run"), 3)


def test_debug_shows_where_it_happened(command):
    done = command("eval", QRELS, WEAK, "-m", "nDGC@10", "--debug")
    assert type(done.exception).__name__ == "UnknownNameError"


def test_an_unforeseen_error_is_one_line_and_names_debug(command, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("the kernel caught fire")

    monkeypatch.setattr("ranklens.cli.eval.eval_document", broken)
    message = failure(command("eval", QRELS, WEAK), 1)
    assert message.splitlines() == [
        "error: RuntimeError: the kernel caught fire",
        "this is a bug in ranklens; --debug shows where it happened",
    ]


def test_a_file_whose_name_holds_an_equals_sign_is_found(command):
    Path("k1=0.9.run").write_bytes(Path(WEAK).read_bytes())
    assert command("eval", QRELS, "k1=0.9.run").stdout.splitlines()[2].startswith("k1=0.9 ")
    assert command("eval", QRELS, "tuned=k1=0.9.run").stdout.splitlines()[2].startswith("tuned ")
    assert command("eval", QRELS, "k1=1=k1=0.9.run").stdout.splitlines()[2].startswith("k1=1 ")


def test_help_needs_no_file_and_shows_examples(command):
    for name in ("eval", "compare", "power", "demo", "doctor"):
        done = command(name, "--help")
        assert done.exit_code == 0
        assert f"ranklens {name}" in done.stdout


def test_a_demo_without_a_name_for_its_folder_is_refused(command):
    done = command("demo", "--write", "")
    assert done.exit_code == 1
    assert "the name of the folder is empty" in done.stderr


@pytest.mark.parametrize("empty", ["", " ", ","])
def test_an_empty_measure_is_not_the_default_one(command, empty):
    for words in (("eval", QRELS, WEAK), ("compare", QRELS, WEAK, STRONG), ("power", QRELS, WEAK, STRONG)):
        assert "-m names no measure" in failure(command(*words, "-m", empty), 2)


def test_cutoffs_as_trec_eval_writes_them_reach_every_command(command):
    for words in (("eval", QRELS, WEAK), ("compare", QRELS, WEAK, STRONG), ("power", QRELS, WEAK, STRONG)):
        done = command(*words, "-m", "ndcg_cut.5,10")
        assert done.exit_code == 0
        assert "nDCG@5" in done.stdout
        assert "nDCG@10" in done.stdout


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(
    "words",
    [
        ("compare", QRELS, WEAK, STRONG, "--alpha"),
        ("compare", QRELS, WEAK, STRONG, "--margin"),
        ("eval", QRELS, WEAK, "--min-coverage"),
        ("power", "--n", "9", "--sd"),
        ("power", "--sd", "0.1", "--delta"),
    ],
)
def test_numbers_of_options_are_finite(command, words, value):
    assert words[-1] in failure(command(*words, value), 2)
