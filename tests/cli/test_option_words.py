"""Messages of the command line name its options, not the arguments of Python."""

from __future__ import annotations

import re
from pathlib import Path

PAIR = ("qrels.txt", "weak.run", "strong.run", "-m", "P@1")
ARGUMENT = re.compile(r"\b(method|correction|interval|alternative|n_permutations|min_queries)\b[=_]?")


def test_a_wrong_column_of_weights_is_called_a_column(command, files: Path):
    lines = ["query_id,views,session", *(f"q{i:02d},{i + 1},s{i // 2}" for i in range(40))]
    (files / "traffic.csv").write_text("\n".join(lines) + "\n", "utf-8")
    for role in ("weights", "clusters"):
        found = command("compare", *PAIR, f"--{role}", "traffic.csv:nope")
        assert found.exit_code == 1
        assert "unknown column 'nope'" in found.stderr
        assert "the table has query_id, views, session" in found.stderr
        assert "segment" not in found.stderr


def test_errors_name_options(command):
    found = command("compare", *PAIR, "--interval", "studentized", "--method", "exact")
    assert found.exit_code == 1
    assert "--interval studentized" in found.stderr
    assert "--method auto" in found.stderr
    assert "=" not in found.stderr


def test_warnings_name_options(command):
    for correction in ("maxt", "bh"):
        found = command(
            "compare", *PAIR, "--method", "monte-carlo", "--n-permutations", "5", "--correction", correction
        )
        assert found.exit_code == 0
        assert "--n-permutations of at least" in found.stderr
        assert not ARGUMENT.search(found.stderr.replace("--method exact", ""))


def test_notes_name_options(command):
    options = ("--method", "monte-carlo", "--n-permutations", "5", "--correction", "none")
    found = command("compare", *PAIR, *options)
    assert "or --method exact" in found.stdout
