"""The command as a process: pipes, signals, terminals, and what it loads."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "ranklens"]
PAIR = ("qrels.txt", "weak.run", "strong.run")
SLOW_WRITER = """
import os, sys, time
from ranklens.cli import main
real = os.replace
def slow(source, target):
    print("written", flush=True)
    time.sleep(60)
    real(source, target)
os.replace = slow
main(sys.argv[1:])
"""


def run(folder, *arguments, **options):
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False, **options
    )


def test_the_module_is_the_command(files):
    done = run(files, "eval", "qrels.txt", "weak.run", "-m", "RR", "--format", "trec")
    assert done.returncode == 0
    assert done.stderr == ""
    assert {line.count("\t") for line in done.stdout.splitlines()} == {2}


def test_a_pipe_gets_data_only(files):
    done = run(files, "compare", *PAIR, env={**os.environ, "FORCE_COLOR": "1"})
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr


def test_a_reader_that_stops_early_is_no_error(files):
    with subprocess.Popen(
        [*COMMAND, "eval", *PAIR, "-q"], cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        message = process.stderr.read()
        assert process.wait(60) == 141
    assert message == ""


def test_a_killed_run_leaves_no_partial_file(files):
    (files / "report.json").write_text("old")
    before = sorted(os.listdir(files))
    for end in (signal.SIGTERM, signal.SIGKILL):
        arguments = ["compare", *PAIR, "--format", "json", "--output", "report.json"]
        with subprocess.Popen(
            [sys.executable, "-c", SLOW_WRITER, *arguments], cwd=files, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout.readline() == "written\n"
            process.send_signal(end)
            assert process.wait(60) == -end
        assert (files / "report.json").read_text() == "old"
    left = [name for name in os.listdir(files) if name not in before]
    assert all(name.startswith(".report.json.") for name in left)


def test_an_interrupt_is_one_line_and_code_130(files):
    arguments = ["compare", *PAIR, "--output", "report.txt"]
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_WRITER, *arguments],
        cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "written\n"
        process.send_signal(signal.SIGINT)
        message = process.stderr.read()
        assert process.wait(60) == 130
    assert message == "interrupted\n"
    assert not [name for name in os.listdir(files) if "report" in name]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("eval", "qrels.txt", "none.run"), 1, "error: RUN: no such file: none.run"),
        (("eval", "qrels.txt"), 2, "Usage: ranklens eval"),
        (("eval", "qrels.txt", "queries.csv"), 3, "error: queries.csv"),
        (("compare", *PAIR, "--fail-if", "delta > 0"), 4, "gate failed: delta > 0"),
    ],
)
def test_exit_codes_of_the_process(files, arguments, code, says):
    done = run(files, *arguments)
    assert done.returncode == code
    assert done.stderr.startswith(says)
    assert "Traceback" not in done.stderr


def test_debug_keeps_the_traceback(files):
    done = run(files, "eval", "qrels.txt", "none.run", "--debug")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")


def on_terminal(folder: Path, *arguments: str, columns: int, code: int = 0, **environment: str) -> str:
    """Return what the command prints on a terminal of a given width."""
    leader, follower = pty.openpty()
    env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", **environment}
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, stdout=follower, stderr=follower, env=env
    ) as process:
        os.close(follower)
        chunks = []
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                chunk = os.read(leader, 65536)
            except OSError:
                break
            if not chunk:
                break
            chunks.append(chunk)
        assert process.wait(60) == code
    os.close(leader)
    return b"".join(chunks).decode()


@pytest.mark.parametrize("columns", [80, 100])
def test_nothing_wraps_on_a_terminal(files, columns):
    shown = on_terminal(
        files, "compare", *PAIR, "-m", "nDCG@10", "AP(rel=1)", "--segments", "queries.csv",
        columns=columns, NO_COLOR="1",
    )  # fmt: skip
    lines = shown.rpartition("\x1b")[2].splitlines()
    table = lines[lines.index("A = weak, B = strong, n = 40 queries") :]
    assert max(len(line) for line in table) <= columns
    assert "\x1b[1m" not in shown


def test_the_verdict_is_bold_on_a_terminal(files):
    shown = on_terminal(files, "compare", *PAIR, columns=100, NO_COLOR="")
    assert "\x1b[1mnDCG@10: strong is better" in shown


def test_help_loads_no_numpy(files):
    script = (
        "import sys\nfrom ranklens.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
    assert "compare" in done.stdout


def test_a_failed_gate_is_said_once_on_a_terminal(files):
    shown = on_terminal(files, "compare", *PAIR, "--fail-if", "delta > 0", columns=100, code=4)
    assert shown.count("gate failed") == 1


@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_an_open_descriptor_is_written_to(files, place):
    plain = run(files, "eval", "qrels.txt", "weak.run").stdout
    assert run(files, "eval", "qrels.txt", "weak.run", "-o", place).stdout == plain
    with open(files / "log.txt", "w") as log:
        log.write("old\n")
        log.flush()
        subprocess.run(
            [*COMMAND, "eval", "qrels.txt", "weak.run", "-o", place], cwd=files, stdout=log, check=True
        )
    assert (files / "log.txt").read_text() == "old\n" + plain


def test_named_pipes_and_process_substitution_are_written_to(files):
    plain = run(files, "eval", "qrels.txt", "weak.run").stdout
    os.mkfifo(files / "pipe")
    with subprocess.Popen(["cat", "pipe"], cwd=files, stdout=subprocess.PIPE, text=True) as reader:
        run(files, "eval", "qrels.txt", "weak.run", "-o", "pipe")
        assert reader.communicate(timeout=60)[0] == plain
    assert (files / "pipe").is_fifo()
    line = f"{sys.executable} -m ranklens eval qrels.txt weak.run -o >(cat)"
    done = subprocess.run(
        ["bash", "-c", f"{line} | cat"], cwd=files, capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == (plain, "")


@pytest.mark.parametrize("output", ["", " -o out.txt"])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_success_or_one_line(files, closed, output):
    line = f"{sys.executable} -m ranklens eval qrels.txt weak.run -q{output} {closed}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=files, capture_output=True, text=True, timeout=60, check=False
    )
    if ">&-" in closed.replace("2>&-", "") and not output:
        assert done.returncode == 1
        told = "error: standard output: closed by the caller; name a file with --output\n"
        assert done.stderr == ("" if "2>&-" in closed else told)
    else:
        assert done.returncode == 0
        assert done.stderr == ""
        text = (files / "out.txt").read_text() if output else done.stdout
        assert text == run(files, "eval", "qrels.txt", "weak.run", "-q").stdout


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("eval", "--help"), ("doctor",)])
def test_help_into_a_closed_stream_shows_no_traceback(files, words):
    line = f"{sys.executable} -m ranklens {' '.join(words)} >&-"
    done = subprocess.run(
        ["bash", "-c", line], cwd=files, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: standard output: closed")
    assert len(done.stderr.splitlines()) == 1


def test_a_closed_input_has_no_rows(files):
    line = f"{sys.executable} -m ranklens eval qrels.txt - <&-"
    done = subprocess.run(
        ["bash", "-c", line], cwd=files, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 3
    assert done.stderr == "error: standard input: there are no rows in this run source\n"


def test_the_file_behind_standard_input_is_an_input(files):
    before = (files / "weak.run").read_bytes()
    with (files / "weak.run").open() as stream:
        done = run(files, "eval", "qrels.txt", "w=-", "-o", "weak.run", stdin=stream)
    assert done.returncode == 1
    assert "is an input of this command" in done.stderr
    assert (files / "weak.run").read_bytes() == before
