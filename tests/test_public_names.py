"""The names of `import ranklens`: each loads from its room, and type checkers see the same list."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ranklens


def names_for_type_checkers() -> set[str]:
    tree = ast.parse(Path(ranklens.__file__).read_text(encoding="utf-8"))
    block = next(
        node
        for node in tree.body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    )
    return {
        alias.asname or alias.name
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("name", [name for name in ranklens.__all__ if name != "__version__"])
def test_every_public_name_loads_and_is_documented(name: str) -> None:
    assert (getattr(ranklens, name).__doc__ or "").strip()


def test_type_checkers_see_the_names_that_load() -> None:
    assert names_for_type_checkers() == set(ranklens.__all__) - {"__version__"}


def test_an_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'compair'"):
        _ = ranklens.compair


def test_dir_lists_names_and_rooms() -> None:
    assert {"compare", "stats", "metrics"} <= set(dir(ranklens))
