"""One array library on one device, and how to find it from an array."""

from __future__ import annotations

import functools
import importlib
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ranklens.arrays.mesh import everywhere, first_device, whole
from ranklens.arrays.precision import float_dtype_of, jax_precise
from ranklens.core import MissingDependencyError

NAMES = ("numpy", "cupy", "jax", "torch", "array_api_strict")

_NAMESPACES = {
    "numpy": "numpy",
    "cupy": "array_api_compat.cupy",
    "jax": "jax.numpy",
    "torch": "array_api_compat.torch",
    "array_api_strict": "array_api_strict",
}
_INSTALL = {
    "numpy": "pip install numpy",
    "cupy": "pip install 'ranklens[cuda12]' (or 'ranklens[cuda13]')",
    "jax": "pip install 'ranklens[jax]'",
    "torch": "pip install 'ranklens[torch]'",
    "array_api_strict": "pip install array-api-strict",
}
# Reductions of NumPy's arrays give scalars, which kernels take for arrays without dimensions.
_NUMPY = (np.ndarray, np.generic)
# numpy's arrays are found without a table; these are looked for only in modules that are loaded already.
_ARRAY_TYPES = {"cupy": "ndarray", "jax": "Array", "torch": "Tensor"}


@dataclass(frozen=True)
class Backend:
    """An array namespace, a device of it, and the floating type to compute in.

    Attributes
    ----------
    name : str
        ``"numpy"``, ``"cupy"``, ``"jax"``, ``"torch"``, ``"array_api_strict"``, or the name of another
        namespace that follows the standard.
    xp : module
        The namespace.
    device : object
        What creation functions are given as ``device=``; None where the library chooses. On several JAX
        devices it is the sharding that copies to all of them.
    float_dtype : dtype
        float64 wherever the device has it.
    """

    name: str
    xp: Any
    # cupy's devices have no hash.
    device: Any = field(hash=False)
    float_dtype: Any

    def asarray(self, values: Any, dtype: Any = None) -> Any:
        """Put `values` on the device; floats get `float_dtype`, everything else keeps its type.

        uint64 words become int64 with the same bits, since most libraries cannot compute with uint64. A torch
        tensor that records gradients comes without them.
        """
        with self.current():
            return self._put(values, dtype)

    def _put(self, values: Any, dtype: Any) -> Any:
        if not isinstance(values, np.ndarray) and is_array(values):
            if self.name == "torch":
                values = values.detach()
            values = everywhere(values, self)
            return self.xp.astype(values, dtype or self._dtype_for(values), copy=False)
        host = np.asarray(values)
        if self.name == "numpy":
            return np.asarray(host, dtype=dtype or (np.float64 if host.dtype.kind == "f" else None))
        if host.dtype == np.uint64:
            host = host.view(np.int64)
        if dtype is None and host.dtype.kind == "f":
            dtype = self.float_dtype
        if self.name == "torch" and not host.flags.writeable:
            host = host.copy()
        return self.xp.asarray(host, dtype=dtype, device=self.device)

    @property
    def on_accelerator(self) -> bool:
        """Whether the device is not the processor."""
        device = first_device(self.device)
        kind = getattr(device, "platform", None) or getattr(device, "type", None)
        return self.name == "cupy" or kind not in (None, "cpu")

    def precise(self) -> AbstractContextManager[Any]:
        """Return `current`, with float64 and int64 (JAX may have them switched off)."""
        return jax_precise() if self.name == "jax" else self.current()

    def current(self) -> AbstractContextManager[Any]:
        """Return a context in which the library works on this device.

        Only cupy needs it: its current device does the work, wherever arguments lie and whatever ``device=``
        says.
        """
        return self.device if self.name == "cupy" else nullcontext()

    def _dtype_for(self, array: Any) -> Any:
        return self.float_dtype if self.xp.isdtype(array.dtype, "real floating") else array.dtype


def is_array(value: Any) -> bool:
    """Whether `value` is an array of a library that is loaded (nothing is imported to find out)."""
    if isinstance(value, np.ndarray) or hasattr(value, "__array_namespace__"):
        return not isinstance(value, np.generic)
    return _loaded_type(value) is not None


def backend_of(*arrays: Any) -> Backend:
    """Return the backend on which `arrays` lie.

    Raises
    ------
    TypeError
        When none of them is an array.
    ValueError
        When they belong to different libraries or lie on different devices.

    Examples
    --------
    >>> import numpy as np
    >>> backend_of(np.zeros(3)).name
    'numpy'
    """
    found = [_backend_of_one(array) for array in arrays if is_array(array)]
    if not found:
        raise TypeError("no array among the arguments; pass arrays, or choose with ranklens.use_backend(...)")
    first = found[0]
    for other in found[1:]:
        if (other.name, other.device) != (first.name, first.device):
            raise ValueError(
                f"arrays lie on different backends: {first.name} ({first.device}) and {other.name} "
                f"({other.device}); move them to one with its own asarray or to_device"
            )
    return first


def namespace(*arrays: Any) -> Any:
    """Return the array-API namespace of `arrays`."""
    first = arrays[0]
    if isinstance(first, _NUMPY):
        return np
    return _namespace_of(first)[1]


def device_of(array: Any) -> Any:
    """Return the device of an array, as creation functions take it; None where the library chooses.

    Of an array that several JAX devices share it is the sharding that copies to all of them.
    """
    return None if isinstance(array, _NUMPY) else whole(getattr(array, "device", None))


def load_namespace(name: str) -> Any:
    """Import the namespace of a known backend.

    Raises
    ------
    MissingDependencyError
        When the library is not installed; the message says how to install it.
    """
    try:
        return _import_namespace(name)
    except ImportError as error:
        raise MissingDependencyError(name, f"the {name!r} backend", _INSTALL[name]) from error


@functools.lru_cache(maxsize=8)
def _import_namespace(name: str) -> Any:
    return importlib.import_module(_NAMESPACES[name])


def make_backend(name: str, xp: Any, device: Any) -> Backend:
    """Build the backend of a namespace and a device."""
    return Backend(name, xp, device, float_dtype_of(xp, name, device))


def _backend_of_one(array: Any) -> Backend:
    if isinstance(array, np.ndarray):
        return make_backend("numpy", np, None)
    name, xp = _namespace_of(array)
    return make_backend(name, xp, device_of(array))


def _namespace_of(array: Any) -> tuple[str, Any]:
    name = _loaded_type(array)
    if name is not None:
        return name, _import_namespace(name)
    xp = array.__array_namespace__()
    full = str(getattr(xp, "__name__", type(xp).__name__))
    return full.partition(".")[0], xp


def _loaded_type(value: Any) -> str | None:
    for name, type_name in _ARRAY_TYPES.items():
        module = sys.modules.get(name)
        kind = getattr(module, type_name, None) if module is not None else None
        if kind is not None and isinstance(value, kind):
            return name
    return None
