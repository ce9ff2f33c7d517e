"""The world every test runs in: strict, repeatable, and untouched by the caller's settings."""

from __future__ import annotations

import ast
import os
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

# Set before jax is imported: no kernel may lean on its lenient promotion of types.
os.environ.pop("RANKLENS_BACKEND", None)
os.environ.setdefault("JAX_NUMPY_DTYPE_PROMOTION", "strict")

settings.register_profile("local", deadline=None)
settings.register_profile(
    "ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the examples of docstrings that import a library which is not installed."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            missing = [name for name in imported(item) if find_spec(name) is None]
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"{', '.join(missing)} is not installed"))


def imported(item: pytest.DoctestItem) -> list[str]:
    """Return the top-level packages that an example imports by ``import NAME``."""
    lines = [example.source for example in item.dtest.examples if example.source.startswith("import ")]
    statements = (node for line in lines for node in ast.parse(line).body)
    aliases = (alias for node in statements if isinstance(node, ast.Import) for alias in node.names)
    return [alias.name.partition(".")[0] for alias in aliases]
