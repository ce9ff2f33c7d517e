"""The one way from a device to the host."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays.backend import Backend, backend_of
from ranklens.arrays.budget import budget_bytes

HostArray = NDArray[Any]

_FLOAT_BYTES = 8
# All of one type, and one behind the other.
_PACKED_COPIES = 2


def to_host(*arrays: Any) -> tuple[HostArray, ...]:
    """Bring arrays of one backend to the host, all in one transfer.

    They are laid one behind the other on the device for that; what the memory budget has no room for there
    travels by itself.

    Parameters
    ----------
    *arrays
        Arrays of one library on one device. Arrays of several types travel as float64, so that integers
        among them must stay below 2^53, as counts and flags do.

    Returns
    -------
    tuple of numpy.ndarray
        In the order of the arguments, with their shapes and types.

    Examples
    --------
    >>> import numpy as np
    >>> to_host(np.arange(2), np.ones(1))
    (array([0, 1]), array([1.]))
    """
    # NumPy's own reductions give scalars where other libraries give arrays without dimensions.
    if all(isinstance(array, (np.ndarray, np.generic)) for array in arrays):
        return tuple(np.asarray(array) for array in arrays)
    backend = backend_of(*arrays)
    if backend.name == "jax":
        import jax

        return tuple(np.asarray(array) for array in jax.device_get(list(arrays)))
    with backend.current():
        return _fetch_all(arrays, backend)


def _fetch_all(arrays: Sequence[Any], backend: Backend) -> tuple[HostArray, ...]:
    if len(arrays) == 1 or "64" not in str(backend.float_dtype):
        return tuple(_fetch(array) for array in arrays)
    fitting = _fitting(arrays)
    packed = [array for array, fits in zip(arrays, fitting, strict=True) if fits]
    unpacked = iter(_unpack(packed, _fetch(_pack(backend, packed))) if packed else ())
    return tuple(
        next(unpacked) if fits else _fetch(array) for array, fits in zip(arrays, fitting, strict=True)
    )


def _fitting(arrays: Sequence[Any]) -> list[bool]:
    """Whether there is room for each array among those before it."""
    room, fitting = budget_bytes() // _PACKED_COPIES, []
    for array in arrays:
        n_bytes = _FLOAT_BYTES * math.prod(array.shape)
        fitting.append(n_bytes <= room)
        room -= n_bytes if n_bytes <= room else 0
    return fitting


def _pack(backend: Backend, arrays: Sequence[Any]) -> Any:
    xp = backend.xp
    flat = [xp.reshape(array, (-1,)) for array in arrays]
    if any(array.dtype != flat[0].dtype for array in flat):
        flat = [xp.astype(array, backend.float_dtype) for array in flat]
    return xp.concat(flat)


def _unpack(arrays: Sequence[Any], packed: HostArray) -> tuple[HostArray, ...]:
    host, start = [], 0
    for array in arrays:
        shape = tuple(array.shape)
        stop = start + math.prod(shape)
        host.append(packed[start:stop].reshape(shape).astype(_numpy_dtype(array.dtype)))
        start = stop
    return tuple(host)


def _numpy_dtype(dtype: Any) -> np.dtype[Any]:
    name = str(getattr(dtype, "name", dtype)).rpartition(".")[2]
    return np.dtype(name)


def _fetch(array: Any) -> HostArray:
    if hasattr(array, "detach"):
        return np.asarray(array.detach().cpu().numpy())
    if hasattr(array, "get"):
        return np.asarray(array.get())
    if type(array).__module__.startswith("array_api_strict"):
        import array_api_strict

        array = array.to_device(array_api_strict.Device("CPU_DEVICE"))
    return np.asarray(array)
