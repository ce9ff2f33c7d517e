"""Every benchmark script runs in its fast setting and prints its table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from checkout import ROOT, run_python

SCRIPTS = sorted(path for path in (ROOT / "benchmarks").glob("*.py") if not path.name.startswith("_"))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_benchmark_runs_fast_and_prints_a_table(script: Path) -> None:
    done = run_python(str(script), "--fast", timeout=300)
    assert done.returncode == 0, done.stdout
    assert any(line.count("|") >= 2 or "---" in line for line in done.stdout.splitlines()), done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_index_says_what_a_benchmark_measures(script: Path) -> None:
    assert f"`{script.name}`" in (ROOT / "benchmarks" / "README.md").read_text("utf-8")


def table_rows(page: Path) -> list[tuple[str, str]]:
    """Return the jobs and peers of a table; which setting served a peer best is no part of its name."""
    cells = [line.strip("| ").split(" | ") for line in page.read_text("utf-8").splitlines() if "|" in line]
    return [(row[0], re.sub(r", batch \d+$", "", row[2])) for row in cells[2:]]


def test_the_table_of_peers_has_the_rows_of_its_script() -> None:
    done = run_python("benchmarks/peers.py", "--rows", timeout=120)
    assert done.returncode == 0, done.stdout
    listed = [tuple(line.strip("| ").split(" | ")) for line in done.stdout.splitlines()]
    rows = table_rows(ROOT / "docs" / "_tables" / "peers.md")
    timed = {peer.partition(",")[0] for _, peer in listed}
    assert timed, "no peer is installed"
    assert [row for row in rows if row[1].partition(",")[0] in timed] == listed


def test_the_documentation_shows_every_table_that_a_script_renders() -> None:
    pages = "\n".join(page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md"))
    for table in (ROOT / "docs" / "_tables").glob("*.md"):
        assert f"{{include}} _tables/{table.name}" in pages
        assert f"benchmarks/{table.stem}.py" in pages
