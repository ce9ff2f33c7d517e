"""Every public name is documented, and the documentation names what the signature names."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import ranklens

PUBLIC = [name for name in ranklens.__all__ if name != "__version__"]
CALLS = [
    name
    for name in PUBLIC
    if not (inspect.isclass(getattr(ranklens, name)) and issubclass(getattr(ranklens, name), BaseException))
]
ROOMS = ("arrays", "core", "explain", "io", "kernels", "metrics", "stats")


def room_names() -> Iterator[tuple[str, str]]:
    for room in ROOMS:
        module = importlib.import_module(f"ranklens.{room}")
        yield from ((room, name) for name in getattr(module, "__all__", ()))


def own_methods(kind: type[Any]) -> list[str]:
    return [
        name
        for name, member in vars(kind).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or isinstance(member, (property, classmethod, staticmethod)))
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for(room: str) -> None:
    assert (importlib.import_module(f"ranklens.{room}").__doc__ or "").strip()


@pytest.mark.parametrize(("room", "name"), list(room_names()))
def test_every_name_of_a_room_is_documented(room: str, name: str) -> None:
    value = getattr(importlib.import_module(f"ranklens.{room}"), name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value), f"ranklens.{room}.{name} has no docstring"


@pytest.mark.parametrize("name", CALLS)
def test_public_names_have_an_example_that_runs(name: str) -> None:
    # The doctests themselves are collected from src by pytest.
    documentation = inspect.getdoc(getattr(ranklens, name)) or ""
    assert re.search(r"^Examples\n-+\n(.*\n)*?>>> ", documentation, re.MULTILINE), f"{name} shows no example"


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isfunction(getattr(ranklens, name))])
def test_public_functions_explain_every_parameter(name: str) -> None:
    function = getattr(ranklens, name)
    documentation = inspect.getdoc(function) or ""
    unnamed = [
        parameter
        for parameter in inspect.signature(function).parameters
        if not re.search(rf"(?<![\w.]){re.escape(parameter)}(?!\w)", documentation)
    ]
    assert not unnamed, f"{name} does not document {', '.join(unnamed)}"


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isclass(getattr(ranklens, name))])
def test_public_methods_are_documented(name: str) -> None:
    kind = getattr(ranklens, name)
    silent = [
        method for method in own_methods(kind) if not inspect.getdoc(inspect.getattr_static(kind, method))
    ]
    assert not silent, f"{name} has undocumented members: {', '.join(silent)}"
