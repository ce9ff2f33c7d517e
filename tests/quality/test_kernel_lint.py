"""Kernels are pure array functions: what their syntax trees must not hold."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import SOURCE

KERNELS = SOURCE / "kernels"
FORBIDDEN_IMPORTS = {
    "array_api_compat",
    "array_api_strict",
    "cupy",
    "jax",
    "logging",
    "numpy",
    "scipy",
    "torch",
    "warnings",
}
# Each of these waits for the device, or fails under a tracer.
TO_SCALAR = {"bool", "complex", "float", "int", "list", "print", "tuple"}
TO_HOST = {"__array__", "get", "item", "numpy", "to_device", "to_host", "tolist"}
CREATION = {"arange", "asarray", "empty", "eye", "from_dlpack", "full", "linspace", "ones", "zeros"}
SORTS = {"argsort", "sort"}
# By boolean masks or shapes that depend on values: `array_api_compat` clips cupy's arrays by a mask.
WAITS = {"clip", "nonzero", "repeat", "unique_all", "unique_counts", "unique_inverse", "unique_values"}


def faults(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _import_faults(node)
        elif isinstance(node, ast.Call):
            yield from _call_faults(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "xp":
            if not hasattr(importlib.import_module("array_api_strict"), node.attr):
                yield node.lineno, f"xp.{node.attr} is not in the array API standard"
        elif isinstance(node, ast.Raise):
            yield node.lineno, "a kernel checks nothing; its caller does"


def _import_faults(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[int, str]]:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [item.name for item in node.names]
    for name in names:
        if name.partition(".")[0] in FORBIDDEN_IMPORTS:
            yield node.lineno, f"imports {name}"


def _call_faults(node: ast.Call) -> Iterator[tuple[int, str]]:
    keywords = {keyword.arg for keyword in node.keywords}
    if isinstance(node.func, ast.Name):
        if node.func.id in TO_SCALAR and node.args and not _is_of_shape(node.args[0]):
            yield node.lineno, f"{node.func.id}() on what may be an array"
        if node.func.id == "to_host":
            yield node.lineno, "to_host() inside a kernel"
        return
    if not isinstance(node.func, ast.Attribute):
        return
    name = node.func.attr
    if name in TO_HOST:
        yield node.lineno, f".{name}() brings an array to the host"
    if name in WAITS:
        yield node.lineno, f"{name}() waits for the device on cupy"
    if name in CREATION and "device" not in keywords:
        yield node.lineno, f"{name}() without device="
    if name in SORTS:
        if name == "argsort" and "stable" not in keywords:
            yield node.lineno, "argsort() without stable="
        if "descending" in keywords:
            yield node.lineno, "descending= places NaN and ties differently from backend to backend"


def _is_of_shape(node: ast.expr) -> bool:
    """Whether an expression is Python integers anyway: a generator of them, a shape, a range."""
    text = ast.unparse(node)
    return isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.List)) or "range" in text or "shape" in text


@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.py")), ids=lambda path: path.stem)
def test_kernels_are_pure(path: Path) -> None:
    found = [f"{path.name}:{line}: {what}" for line, what in faults(ast.parse(path.read_text("utf-8")))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import numpy as np", "imports numpy"),
        ("from jax import numpy", "imports jax"),
        ("float(x)", "float() on"),
        ("x.item()", ".item() brings"),
        ("xp.zeros(3)", "zeros() without device="),
        ("xp.argsort(x)", "argsort() without stable="),
        ("xp.sort(x, descending=True)", "descending= places"),
        ("xp.clip(x, min=0)", "clip() waits"),
        ("xp.partition(x, 3)", "not in the array API standard"),
        ("raise ValueError", "checks nothing"),
    ],
)
def test_the_lint_finds(source: str, what: str) -> None:
    assert [found for _, found in faults(ast.parse(source)) if what in found]


@pytest.mark.parametrize("source", ["xp.zeros(3, device=d)", "tuple(x.shape)", "xp.argsort(x, stable=True)"])
def test_the_lint_allows(source: str) -> None:
    assert not list(faults(ast.parse(source)))
