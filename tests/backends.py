"""The `backend` fixture: every array backend that this machine has, in variants that break careless code."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import cupy_double
import numpy as np
import pytest

from ranklens.arrays import Backend, open_backend
from ranklens.arrays.backend import make_backend
from ranklens.core import MissingDependencyError

VARIANTS = (
    "numpy",
    "numpy-readonly",
    "strict",
    "strict-second-device",
    "jax",
    "jax-x64",
    "torch",
    "cupy",
    "cupy-double",
)


class ReadOnlyBackend(Backend):
    """numpy whose inputs cannot be written to."""

    def asarray(self, values: Any, dtype: Any = None) -> Any:
        array = np.array(super().asarray(values, dtype))
        array.flags.writeable = False
        return array


def open_variant(variant: str) -> Backend:
    """Open a variant, or skip the test where its library or device is missing."""
    name = {"strict": "array_api_strict"}.get(variant.partition("-")[0], variant.partition("-")[0])
    try:
        backend = open_backend(name)
    except MissingDependencyError as error:
        pytest.skip(str(error))
    if variant == "numpy-readonly":
        return ReadOnlyBackend(backend.name, backend.xp, backend.device, backend.float_dtype)
    if variant == "strict-second-device":
        return make_backend(name, backend.xp, backend.xp.Device("device1"))
    return backend


@pytest.fixture(params=VARIANTS)
def user_backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    """Each backend in turn, as a user has it: with "jax", 64-bit types are switched off."""
    variant = request.param
    if variant == "cupy-double":
        with cupy_double.installed():
            yield open_backend("cupy")
        return
    opened = open_variant(variant)
    if variant.startswith("strict"):
        forbid_host_syncs(monkeypatch)
    if variant.startswith("jax"):
        with importlib.import_module("jax").enable_x64(variant == "jax-x64"):
            yield opened
    else:
        yield opened


@pytest.fixture
def backend(user_backend: Backend) -> Iterator[Backend]:
    """Each backend in turn, with 64-bit types, as kernels have it; the double of cupy on another card."""
    if isinstance(user_backend.device, cupy_double.Device):
        user_backend = make_backend("cupy", user_backend.xp, cupy_double.Device(1))
    with user_backend.precise():
        yield user_backend


def forbid_host_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make float(), bool(), int() and indexing by an array raise: on an accelerator each of them waits."""
    array_type = type(importlib.import_module("array_api_strict").asarray(0))

    def refuse(self: Any) -> Any:
        raise AssertionError("a kernel turned an array into a Python scalar, which waits for the device")

    for method in ("__float__", "__bool__", "__int__", "__complex__"):
        monkeypatch.setattr(array_type, method, refuse)
