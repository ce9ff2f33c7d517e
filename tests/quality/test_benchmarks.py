"""Every benchmark script runs in its fast setting and prints its table."""

from __future__ import annotations

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
