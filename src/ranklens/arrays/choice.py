"""Which backend takes values that are not arrays yet."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Iterable
from typing import Any

from ranklens.arrays.backend import NAMES, Backend, backend_of, is_array, load_namespace, make_backend
from ranklens.arrays.mesh import spread_over
from ranklens.arrays.setting import Change, Setting
from ranklens.core import MissingDependencyError, UnknownNameError

ENVIRONMENT = "RANKLENS_BACKEND"

_logger = logging.getLogger("ranklens")
_chosen: Setting[Backend] = Setting("ranklens backend")


def use_backend(name: str, devices: int | Iterable[Any] | None = None) -> Change[Backend]:
    """Choose the backend for mappings, lists and files; arrays always stay where they are.

    Takes effect at once. In a ``with`` statement the former backend comes back at the end.

    Parameters
    ----------
    name : {"numpy", "cupy", "jax", "torch", "array_api_strict", "auto"}
        ``"auto"`` takes an accelerator if one is usable, else numpy, and logs which at level info.
        Without any choice the environment variable ``RANKLENS_BACKEND`` decides, then ``"numpy"``.
    devices : int or iterable of jax.Device, optional
        With ``"jax"``: over how many of JAX's devices, or over which, flips and resamples are spread. Counts
        are the same for any number. By default all work is done on the device that JAX prefers.

    Raises
    ------
    UnknownNameError
        For any other name.
    ValueError
        For `devices` of another backend, and for more of them than there are.
    MissingDependencyError
        When the library is not installed or finds no device. Nothing falls back silently.

    Examples
    --------
    >>> from ranklens.arrays import current_backend, use_backend
    >>> with use_backend("numpy"):
    ...     current_backend().name
    'numpy'
    """
    return _chosen.change(open_backend(name) if devices is None else _spread_backend(name, devices))


def current_backend() -> Backend:
    """Return the backend that was chosen with `use_backend`, or by the environment, else numpy."""
    chosen = _chosen.get()
    return chosen if chosen is not None else open_backend(os.environ.get(ENVIRONMENT) or "numpy")


def resolve_backend(values: Any) -> Backend:
    """Return the backend of `values` if they are an array, else the current one."""
    return backend_of(values) if is_array(values) else current_backend()


def open_backend(name: str) -> Backend:
    """Load a backend by name, on the device that its library prefers."""
    if not isinstance(name, str):
        raise TypeError(f"name must be one of {', '.join((*NAMES, 'auto'))}, got {name!r}")
    if name == "auto":
        return _automatic()
    if name not in NAMES:
        raise UnknownNameError("backend", name, (*NAMES, "auto"))
    xp = load_namespace(name)
    return make_backend(name, xp, preferred_device(name, xp))


def _spread_backend(name: str, devices: int | Iterable[Any]) -> Backend:
    if name != "jax":
        raise ValueError(f"devices= is for the backend 'jax', got {name!r}; leave it out")
    return make_backend(name, load_namespace(name), spread_over(devices))


def preferred_device(name: str, xp: Any) -> Any:
    """Return the device on which a library makes its arrays; creating one there proves that it is usable."""
    if name == "numpy":
        return None
    if name == "cupy":
        # cupy imports on a machine without a GPU and fails at the first array.
        try:
            return xp.asarray([0.0]).device
        except Exception as error:
            raise MissingDependencyError(
                "a GPU that CUDA or ROCm can use", "the 'cupy' backend", "the driver of the card"
            ) from error
    if name == "torch":
        torch = importlib.import_module("torch")
        device = torch.get_default_device()
        # A default of "meta" serves to build modules without their values; nothing can be computed there.
        return torch.device("cpu") if device.type == "meta" else device
    return xp.asarray([0.0]).device


def accelerator(name: str) -> bool:
    """Whether the library is installed and prefers a device that is not the CPU."""
    try:
        return open_backend(name).on_accelerator
    except MissingDependencyError:
        return False


def _automatic() -> Backend:
    name = next((name for name in ("cupy", "jax") if accelerator(name)), None)
    backend = _torch_accelerator() if name is None else open_backend(name)
    if backend is None:
        backend = open_backend("numpy")
    _logger.info("backend auto: %s on %s", backend.name, backend.device or "cpu")
    return backend


def _torch_accelerator() -> Backend | None:
    try:
        xp = load_namespace("torch")
    except MissingDependencyError:
        return None
    torch = importlib.import_module("torch")
    if not torch.accelerator.is_available():
        return None
    # That of an array has a number, as those of the user's arrays have.
    device = xp.asarray([0.0], device=torch.accelerator.current_accelerator()).device
    return make_backend("torch", xp, device)
