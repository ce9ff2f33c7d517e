"""A small collection as files, and the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ranklens.cli.group import ranklens

N_QUERIES = 40
Command = Callable[..., Result]


def run_lines(lift: float) -> list[str]:
    """Return a run that ranks the one relevant document of a query second, or first where `lift` says so."""
    lines = []
    for i in range(N_QUERIES):
        first, second = ("good", "bad") if i < lift * N_QUERIES else ("bad", "good")
        lines += [f"q{i:02d} Q0 {first} 1 2.0 t", f"q{i:02d} Q0 {second} 2 1.0 t"]
    return lines


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with qrels, a weak, a middling and a strong run, and segments."""
    judged = [f"q{i:02d} 0 good 1\nq{i:02d} 0 bad 0" for i in range(N_QUERIES)]
    write(tmp_path / "qrels.txt", judged)
    write(tmp_path / "weak.run", run_lines(0.1))
    write(tmp_path / "middle.run", run_lines(0.125))
    write(tmp_path / "strong.run", run_lines(0.9))
    locales = [f"q{i:02d},{'de' if i % 2 else 'en'},{'phone' if i < 3 else 'desk'}" for i in range(N_QUERIES)]
    write(tmp_path / "queries.csv", ["query_id,locale,device", *locales])
    return tmp_path


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture
def command(files: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run ``ranklens`` with some arguments in the folder of the files."""
    monkeypatch.chdir(files)
    monkeypatch.delenv("RANKLENS_BACKEND", raising=False)

    def call(*arguments: str, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(ranklens, list(arguments), input=input)

    return call
