"""Rooms import in one direction only, and importing the package loads nothing heavy."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import SOURCE, run_python

# Nearest the user first; a room may import the rooms to its right, never those to its left or beside it.
ROOMS = ("cli", "report", "explain", "stats", "metrics", "io", "kernels", "arrays", "core")
SIDE_BY_SIDE = ({"explain", "stats"},)
BACKENDS = {"jax", "torch", "cupy", "array_api_compat"}
READERS = {"polars", "pyarrow", "pandas"}
HEAVY = {*BACKENDS, *READERS, "scipy", "click", "tabulate"}


def imported_modules(tree: ast.AST, module: str) -> Iterator[str]:
    """Yield the absolute names that `module` imports anywhere, type-checking blocks included."""
    package = module.split(".")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level] if node.level else []
            name = ".".join([*base, node.module] if node.module else base)
            yield from (f"{name}.{alias.name}" for alias in node.names)


def room_of(name: str) -> str | None:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "ranklens" and parts[1] in ROOMS else None


def back_arrows(path: Path, root: Path) -> list[str]:
    module = "ranklens." + path.relative_to(root).with_suffix("").as_posix().replace("/", ".")
    home = room_of(module)
    if home is None:
        return []
    found = []
    for name in imported_modules(ast.parse(path.read_text("utf-8")), module):
        target = room_of(name)
        if target is None or target == home:
            continue
        if ROOMS.index(target) < ROOMS.index(home) or {home, target} in SIDE_BY_SIDE:
            found.append(f"{path.relative_to(root)} imports {name}")
    return found


def test_imports_point_one_way() -> None:
    found = [arrow for path in sorted(SOURCE.rglob("*.py")) for arrow in back_arrows(path, SOURCE)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("core/a.py", "from ranklens.stats import compare"),
        ("core/a.py", "from ranklens import io"),
        ("kernels/a.py", "def f():\n    import ranklens.io.files"),
        ("io/a.py", "from ..metrics import evaluate"),
        ("stats/a.py", "from ranklens.explain import pairwise"),
        ("metrics/deep/a.py", "from ...stats.compare import compare"),
    ],
)
def test_a_back_arrow_is_seen(tmp_path: Path, file: str, line: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(line, "utf-8")
    assert len(back_arrows(path, tmp_path)) == 1


def test_every_room_is_known() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(ROOMS), f"rooms without a place in the order: {folders - set(ROOMS)}"


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import sys, json, ranklens, ranklens.core; print(json.dumps(sorted(sys.modules)))"
    done = run_python("-W", "error", "-c", script)
    assert done.returncode == 0, done.stdout
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert "numpy" in loaded
    assert not loaded & HEAVY


def test_naming_a_backend_does_not_load_the_others() -> None:
    script = (
        "import sys, json, ranklens; ranklens.permutation_test([1.0, 2.0, -1.0], n_permutations=99); "
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = run_python("-W", "error", "-c", script)
    assert done.returncode == 0, done.stdout
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert not loaded & (HEAVY - {"tabulate"})


def test_command_help_loads_no_reader_and_no_backend() -> None:
    script = (
        "import sys\nfrom ranklens.cli import main\n"
        "sys.argv = ['ranklens', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print('LOADED', *sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = run_python("-c", script)
    assert done.returncode == 0, done.stdout
    loaded = set(done.stdout.rpartition("LOADED")[2].split())
    assert not loaded & {*BACKENDS, *READERS, "scipy"}
