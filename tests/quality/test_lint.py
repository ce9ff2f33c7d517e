"""The linter, the formatter and the type checker have nothing to say."""

from __future__ import annotations

import pytest
from checkout import ROOT, run_python

PATHS = ("src", "tests", "benchmarks", "docs", "conftest.py")


@pytest.mark.parametrize("command", [("check",), ("format", "--check")], ids=["lint", "format"])
def test_ruff(command: tuple[str, ...]) -> None:
    done = run_python("-m", "ruff", *command, "--no-cache", *(str(ROOT / path) for path in PATHS))
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_strict_types() -> None:
    done = run_python("-m", "mypy")
    assert done.returncode == 0, done.stdout
