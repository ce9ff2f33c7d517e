"""The documentation builds with every example executed, and the README shows what really happens."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from checkout import ROOT, run_python

README = ROOT / "README.md"


@pytest.mark.slow
def test_site_builds_without_a_warning(tmp_path: Path) -> None:
    source = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("_build", "jupyter_execute", "_api"))
    done = run_python(
        "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(source), str(tmp_path / "site")
    )
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "site" / "index.html").is_file()
