"""The documentation builds with every example executed, and the README shows what really happens."""

from __future__ import annotations

import html
import os
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest
from checkout import ROOT, fenced_blocks, run, run_python

import ranklens as rl

README = ROOT / "README.md"
DOCS = ROOT / "docs"


def commands(block: str) -> list[tuple[str, str]]:
    """Split a console block into its commands, continued lines joined, and what each is said to print."""
    found: list[tuple[str, str]] = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command = re.match(r"(?:.*\\\n)*.*\n?", part)
        assert command is not None
        found.append((command[0].strip(), part[command.end() :]))
    return found


@pytest.mark.slow
def test_site_builds_without_a_warning(tmp_path: Path) -> None:
    source = tmp_path / "docs"
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns("_build", "jupyter_execute"))
    shutil.copy2(ROOT / "CHANGELOG.md", tmp_path)
    options = ["-W", "--keep-going", "-q", "-b", "html"]
    done = run_python("-m", "sphinx", *options, str(source), str(tmp_path / "site"))
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "site" / "index.html").is_file()


def test_api_page_lists_every_public_name() -> None:
    listed = set(re.findall(r"^\.\. auto\w+:: (\w+)$", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE))
    assert listed == set(rl.__all__) - {"__version__"}


def test_readme_python_prints_what_it_shows(tmp_path: Path) -> None:
    programs, outputs = fenced_blocks(README, "python"), fenced_blocks(README, "text")
    assert programs
    for program, output in zip(programs, outputs, strict=True):
        done = run_python("-W", "error", "-c", program, cwd=tmp_path)
        assert done.returncode == 0, done.stdout
        assert done.stdout == output


def test_readme_commands_print_what_it_shows(tmp_path: Path) -> None:
    rl.demo_collection().write(tmp_path)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    shown = [pair for block in fenced_blocks(README, "console") for pair in commands(block)]
    shown = [(command, output) for command, output in shown if command.startswith("ranklens ")]
    assert shown
    for command, output in shown:
        done = run(command, cwd=tmp_path, env={"PATH": path})
        assert done.returncode == 0, done.stdout
        assert done.stdout == output


def test_picture_shows_the_present_numbers(tmp_path: Path) -> None:
    forest = runpy.run_path(str(DOCS / "forest.py"))
    rows = forest["comparisons"]()
    forest["draw"](rows, tmp_path / "forest.svg")
    for picture in (tmp_path / "forest.svg", forest["PICTURE"]):
        carried = re.search(r"<dc:description>(.*?)</dc:description>", picture.read_text("utf-8"), re.DOTALL)
        assert carried is not None
        assert html.unescape(carried[1]) == forest["caption"](rows)


def test_pages_are_reachable_and_their_links_lead_somewhere() -> None:
    pages = {page.name for page in DOCS.glob("*.md")}
    index = (DOCS / "index.md").read_text("utf-8")
    assert {f"{name}.md" for name in re.findall(r"^(\w+)$", index, re.MULTILINE)} == pages - {"index.md"}
    for page in (README, *DOCS.glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
