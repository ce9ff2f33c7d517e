"""Several JAX devices as one: arrays lie on all of them, or are cut along an axis.

JAX calls the placement of an array a sharding, and takes one wherever it takes a device. A backend of several
devices has the sharding that copies everything to each; what is cut is decided here, and the programs follow
their inputs.
"""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ranklens.arrays.backend import Backend

_AXIS = "devices"


def spread_over(devices: int | Iterable[Any]) -> Any:
    """Return the sharding that copies to each of some JAX devices, or the device, if it is one.

    Raises
    ------
    ValueError
        For no device, for fewer devices than asked, and for what is neither a number nor JAX devices.
    """
    found = _numbered(devices) if isinstance(devices, int) else tuple(devices)
    if not found or not all(hasattr(device, "platform") for device in found):
        raise ValueError(f"devices must be a number of devices or JAX devices, got {devices!r}")
    return found[0] if len(found) == 1 else _on_all(found)


def whole(placement: Any) -> Any:
    """Return a device as it is; of a sharding, the one that copies everything to the same devices."""
    return _whole(placement) if hasattr(placement, "device_set") else placement


def n_devices(backend: Backend) -> int:
    """Return over how many devices the backend spreads its arrays."""
    return len(getattr(backend.device, "device_set", ())) or 1


def first_device(device: Any) -> Any:
    """Return the device itself, or the first of a sharding's."""
    return next(iter(device.device_set)) if hasattr(device, "device_set") else device


def even(length: int, backend: Backend) -> int:
    """Return the largest number up to `length` that the devices share without rest; `length` if none does.

    Examples
    --------
    >>> from ranklens.arrays import open_backend
    >>> even(1023, open_backend("numpy"))
    1023
    """
    return length // n_devices(backend) * n_devices(backend) or length


def spread(array: Any, backend: Backend, axis: int) -> Any:
    """Cut a host's or a device's array along `axis` among the devices; copy it to each if there is a rest.

    Where there are no several devices, it stays as it is.
    """
    n = n_devices(backend)
    if n == 1:
        return array
    placement = backend.device if array.shape[axis] % n else _along(backend.device, axis)
    return importlib.import_module("jax").device_put(array, placement)


def everywhere(array: Any, backend: Backend) -> Any:
    """Copy an array that several devices share, in whatever way, to each of them."""
    return (
        array if n_devices(backend) == 1 else importlib.import_module("jax").device_put(array, backend.device)
    )


def _numbered(n: int) -> tuple[Any, ...]:
    available = importlib.import_module("jax").devices()
    if not 1 <= n <= len(available):
        raise ValueError(
            f"devices must be from 1 to the {len(available)} that JAX finds, got {n}; on the host, "
            "XLA_FLAGS=--xla_force_host_platform_device_count=8 makes more"
        )
    return tuple(available[:n])


@functools.lru_cache(maxsize=64)
def _whole(sharding: Any) -> Any:
    mesh = getattr(sharding, "mesh", None)
    devices = sharding.device_set if mesh is None else mesh.devices.flat
    if len(sharding.device_set) == 1:
        return next(iter(sharding.device_set))
    return _on_all(tuple(devices) if mesh is not None else _by_id(devices))


def _by_id(devices: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(devices, key=operator.attrgetter("id")))


@functools.lru_cache(maxsize=64)
def _on_all(devices: tuple[Any, ...]) -> Any:
    sharding = importlib.import_module("jax.sharding")
    return sharding.NamedSharding(sharding.Mesh(np.array(devices), (_AXIS,)), sharding.PartitionSpec())


@functools.lru_cache(maxsize=64)
def _along(copies: Any, axis: int) -> Any:
    sharding = importlib.import_module("jax.sharding")
    return sharding.NamedSharding(copies.mesh, sharding.PartitionSpec(*[None] * axis, _AXIS))
