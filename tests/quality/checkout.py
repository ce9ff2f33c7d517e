"""The checkout that the tests of this folder look at."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "ranklens"


def tracked_files() -> list[Path]:
    """Return every file of the repository that git tracks, or would if it were added."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [ROOT / name for name in listing.split("\0") if name and (ROOT / name).is_file()]


def run(
    command: list[str] | str, *, cwd: Path = ROOT, env: Mapping[str, str] | None = None, timeout: float = 1200
) -> subprocess.CompletedProcess[str]:
    """Run `command` (a string goes to bash) with its output, both streams together, as text."""
    return subprocess.run(
        command if isinstance(command, list) else ["bash", "-euo", "pipefail", "-c", command],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_python(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run this interpreter with `arguments`."""
    return run([sys.executable, *arguments], **options)  # type: ignore[arg-type]


def fenced_blocks(page: Path, language: str) -> list[str]:
    """Return the text of each ``` block of a Markdown page that is marked with `language`."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
