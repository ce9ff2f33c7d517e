"""Which backends this machine has."""

from __future__ import annotations

from typing import NamedTuple

from ranklens.arrays.backend import NAMES
from ranklens.arrays.choice import open_backend
from ranklens.core import MissingDependencyError

_DISTRIBUTIONS = {"array_api_strict": ("array-api-strict",), "cupy": ("cupy", "cupy-cuda12x", "cupy-cuda13x")}


class BackendStatus(NamedTuple):
    """What is known of one backend: `device` and `version` are None where there is none."""

    name: str
    version: str | None
    device: str | None
    usable: bool
    why_not: str | None


def describe_backends() -> list[BackendStatus]:
    """Try every backend, and say which are usable and why the others are not.

    Examples
    --------
    >>> describe_backends()[0].usable
    True
    """
    return [_describe(name) for name in NAMES]


def _describe(name: str) -> BackendStatus:
    version = _version(name)
    try:
        backend = open_backend(name)
    except MissingDependencyError as error:
        return BackendStatus(name, version, None, False, str(error))
    device = "cpu" if backend.device is None else str(backend.device)
    return BackendStatus(name, version, device, True, None)


def _version(name: str) -> str | None:
    # 16 ms to import, which only a survey needs.
    import importlib.metadata

    for distribution in _DISTRIBUTIONS.get(name, (name,)):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None
