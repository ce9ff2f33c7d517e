"""Which backend a call runs on, and what is said when it cannot."""

from __future__ import annotations

import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from backends import open_variant

from ranklens.arrays import backend as backend_module
from ranklens.arrays import (
    backend_of,
    current_backend,
    describe_backends,
    is_array,
    namespace,
    resolve_backend,
    to_host,
    use_backend,
)
from ranklens.arrays import choice as choice_module
from ranklens.core import MissingDependencyError, UnknownNameError


def test_arrays_stay_in_their_namespace_and_on_their_device(backend):
    array = backend.asarray(np.arange(3.0))
    assert is_array(array)
    found = backend_of(array, array)
    assert (found.name, found.device) == (backend.name, backend.device)
    assert namespace(array) is backend.xp
    with use_backend("numpy"):
        assert resolve_backend(array).name == backend.name


def test_what_is_no_array_goes_to_the_chosen_backend(user_backend):
    with use_backend(user_backend.name) as chosen:
        assert current_backend() == chosen == resolve_backend([1.0])
        assert chosen.name == user_backend.name
    assert current_backend().name == "numpy"


def test_a_setter_holds_in_every_thread_and_a_block_in_its_own():
    before = use_backend("array_api_strict")
    try:
        with ThreadPoolExecutor(1) as pool, use_backend("numpy"):
            assert pool.submit(lambda: current_backend().name).result() == "array_api_strict"
            assert current_backend().name == "numpy"
        assert current_backend().name == "array_api_strict"
    finally:
        with before:
            pass
    assert current_backend().name == "numpy"


def test_the_environment_chooses(monkeypatch):
    monkeypatch.setenv("RANKLENS_BACKEND", "array_api_strict")
    assert current_backend().name == "array_api_strict"
    with use_backend("numpy"):
        assert current_backend().name == "numpy"
    monkeypatch.setenv("RANKLENS_BACKEND", "nunpy")
    with pytest.raises(UnknownNameError, match="unknown backend 'nunpy'; did you mean numpy"):
        current_backend()


@pytest.mark.parametrize(
    ("name", "install"),
    [
        ("jax", r"pip install 'ranklens\[jax\]'"),
        ("torch", r"pip install 'ranklens\[torch\]'"),
        ("cupy", r"pip install 'ranklens\[cuda12\]'"),
        ("array_api_strict", "pip install array-api-strict"),
    ],
)
def test_a_missing_library_is_one_error_with_the_install_line(monkeypatch, name, install):
    def missing(asked):
        raise ImportError(f"No module named {asked!r}")

    monkeypatch.setattr(backend_module, "_import_namespace", missing)
    with pytest.raises(MissingDependencyError, match=f"the '{name}' backend needs {name}.*{install}"):
        use_backend(name)
    monkeypatch.undo()
    assert current_backend().name == "numpy"


def test_a_library_without_a_device_is_not_usable(monkeypatch):
    def fail(values):
        raise RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")

    monkeypatch.setattr(choice_module, "load_namespace", lambda name: SimpleNamespace(asarray=fail))
    with pytest.raises(
        MissingDependencyError, match="the 'cupy' backend needs a GPU that CUDA or ROCm can use"
    ):
        use_backend("cupy")


def test_auto_says_what_it_took(caplog):
    with caplog.at_level(logging.INFO, logger="ranklens"), use_backend("auto") as chosen:
        assert chosen.name in ("numpy", "cupy", "jax", "torch")
    assert f"backend auto: {chosen.name}" in caplog.text


def test_arrays_of_two_backends_are_refused_together():
    strict = open_variant("strict")
    with pytest.raises(ValueError, match=r"different backends: numpy .* and array_api_strict"):
        backend_of(np.zeros(1), strict.asarray(np.zeros(1)))
    with pytest.raises(TypeError, match="no array among the arguments"):
        backend_of([1.0], 2.0)


def test_scalars_and_sequences_are_no_arrays():
    assert not any(is_array(value) for value in (1.0, np.float64(1), [1.0], "a", None, {"q": 1.0}))


def test_transfers_keep_shapes_and_types(backend):
    floats, integers = np.arange(6.0).reshape(2, 3), np.arange(4)
    flags = np.array([True, False])
    found = to_host(backend.asarray(floats), backend.asarray(integers), backend.asarray(flags))
    for host, expected in zip(found, (floats, integers, flags), strict=True):
        assert host.dtype == expected.dtype
        np.testing.assert_array_equal(host, expected)


def test_every_backend_is_described():
    status = {row.name: row for row in describe_backends()}
    assert status["numpy"].usable
    assert status["numpy"].version == np.__version__
    for row in status.values():
        assert row.usable == (row.why_not is None)


def test_importing_the_room_loads_no_backend():
    heavy = ["jax", "torch", "cupy", "array_api_compat", "array_api_strict", "scipy"]
    script = f"import sys, ranklens.arrays; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
