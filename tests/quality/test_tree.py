"""Facts about the files of the repository."""

from __future__ import annotations

import re
from pathlib import Path

from checkout import ROOT, SOURCE, tracked_files

TOP_LEVEL = {
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "conftest.py",
    "src",
    "tests",
    "benchmarks",
    "docs",
}
# Spelled in pieces, so that this file does not name what it looks for.
MACHINE_WORDS = re.compile(
    r"(^|[^A-Za-z0-9_.])/(work|farm|opt/(wheels|pypi))/|/tmp/bash"
    + r"_jobs|py"
    + r"pi\.org|python"
    + r"hosted"
)
UNFINISHED = re.compile(r"NotImpl" + r"ementedError|\bTO" + r"DO\b|\bFIX" + r"ME\b|\bXX" + r"X\b|x" + r"fail")
SILENCED = re.compile(r"except[^:\n]*:\s*pass\b")


def texts(*suffixes: str) -> list[tuple[str, str]]:
    return [
        (path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
        for path in tracked_files()
        if path.suffix in suffixes or (not suffixes and path.suffix not in {".png", ".gz", ".parquet"})
    ]


def lines_with(pattern: re.Pattern[str], files: list[tuple[str, str]]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in files
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_the_top_level_holds_only_what_a_newcomer_expects() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in tracked_files()}
    unexpected = {name for name in names if not name.startswith(".")} - TOP_LEVEL
    assert not unexpected


def test_no_file_names_a_machine_or_a_package_host() -> None:
    assert not lines_with(MACHINE_WORDS, texts())


def test_nothing_is_left_unfinished() -> None:
    assert not lines_with(UNFINISHED, texts(".py"))


def test_no_error_is_swallowed() -> None:
    swallowed = [name for name, text in texts(".py") if SILENCED.search(text)]
    assert not swallowed


def test_files_are_short_enough_to_hold_one_idea() -> None:
    long = {
        path.relative_to(ROOT).as_posix(): lines
        for path in SOURCE.rglob("*.py")
        if (lines := len(path.read_text("utf-8").splitlines())) > 400
    }
    assert not long


def test_the_package_is_marked_as_typed() -> None:
    assert (SOURCE / "py.typed").is_file()


def test_changelog_names_the_version() -> None:
    import ranklens

    assert ranklens.__version__ in Path(ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f'version = "{ranklens.__version__}"' in Path(ROOT / "pyproject.toml").read_text("utf-8")
