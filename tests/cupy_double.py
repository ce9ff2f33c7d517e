"""A double of cupy on the host: numpy behind what cupy promises, and refuses, on cards.

`array_api_compat` wraps it as it wraps cupy. What runs on the double runs on cupy as far as the host can
tell: it has no function or argument that cupy (13 and 14) lacks, works on a current device as cupy does, and
refuses host arrays among its own. It is stricter where cupy would only wait: each way to the host but ``get``
raises.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

UFUNCS = (
    "abs add arccos arccosh arcsin arcsinh arctan arctan2 arctanh cos divide equal exp floor floor_divide "
    "greater greater_equal invert isfinite isnan left_shift less less_equal log log1p log2 logical_and "
    "logical_not logical_or maximum minimum multiply negative not_equal power remainder right_shift sin sinh "
    "sqrt subtract tanh trunc"
)
REDUCTIONS = {
    "all": "out keepdims",
    "any": "out keepdims",
    "max": "out keepdims",
    "mean": "dtype out keepdims",
    "min": "out keepdims",
    "prod": "dtype out keepdims",
    "sum": "dtype out keepdims",
    "count_nonzero": "",
    "cumsum": "dtype out",
    "flip": "",
}
"""Their keywords beside the array and ``axis``."""

FUNCTIONS = {
    "argsort": "axis kind",
    "broadcast_to": "",
    "concatenate": "axis out dtype casting",
    "expand_dims": "axis",
    "matmul": "out dtype casting",
    "moveaxis": "",
    "reshape": "order",
    "round": "decimals out",
    "searchsorted": "side sorter",
    "sort": "axis kind",
    "stack": "axis out dtype casting",
    "swapaxes": "",
    "take": "axis out",
    "take_along_axis": "axis",
    "transpose": "",
}
VIEWS = {"broadcast_to", "expand_dims", "moveaxis", "swapaxes", "transpose"}
"""They are made without the card."""

CREATION = {
    "arange": "stop step dtype",
    "empty": "dtype order",
    "eye": "M k dtype order",
    "full": "dtype order",
    "linspace": "num endpoint dtype",
    "ones": "dtype order",
    "zeros": "dtype order",
}
LIKE = {"empty_like": "dtype order", "full_like": "dtype order", "ones_like": "dtype", "zeros_like": "dtype"}
NAMED = (
    "bool_ broadcast_shapes complex128 complex64 dtype finfo float32 float64 iinfo inf int16 int32 int64 "
    "int8 integer intp isdtype issubdtype nan newaxis uint16 uint32 uint64 uint8"
)
OPERATORS = "add and eq floordiv ge gt le lshift lt matmul mod mul ne or pow rshift sub truediv xor"
UNARY = "abs invert neg pos"
REFLECTED = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor"
WAITING = "__bool__ __complex__ __float__ __int__ item tolist"
SCALARS = (bool, int, float, complex, np.generic)

waits = SimpleNamespace(count=0)
"""How often an array was fetched."""

_current = threading.local()


class Device:
    """Cards are compared by their number, and have no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, device: Any = None) -> None:
        self.id = current_card() if device is None else int(device)

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __enter__(self) -> Device:
        _current.stack = [*getattr(_current, "stack", []), current_card()]
        _current.card = self.id
        return self

    def __exit__(self, *_: object) -> None:
        _current.card = _current.stack.pop()


def current_card() -> int:
    """Return the number of this thread's current device."""
    return getattr(_current, "card", 0)


class ndarray:
    """A numpy array behind a curtain, on a card; it has no ``__array_namespace__``, as cupy's has none."""

    __array_priority__ = 100

    def __init__(self, hidden: Any, device: Device | None = None) -> None:
        self._hidden = np.asarray(hidden)
        self.device = device or Device()
        for name in ("shape", "ndim", "size", "nbytes", "dtype"):
            setattr(self, name, getattr(self._hidden, name))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("implicit conversion to a NumPy array is not allowed; use `.get()`")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        assert method == "__call__"
        return getattr(MODULE, ufunc.__name__)(*inputs, **options)

    def __array_function__(self, function: Any, *_: Any) -> Any:
        raise AssertionError(f"numpy.{function.__name__} of an array on a card")

    def get(self) -> np.ndarray:
        """Copy to the host."""
        waits.count += 1
        return seen(self).copy()

    def astype(self, dtype: Any, copy: bool = True) -> ndarray:
        return self if not copy and self.dtype == dtype else ndarray(seen(self).astype(dtype))

    def copy(self) -> ndarray:
        return ndarray(seen(self).copy())

    def __getitem__(self, key: Any) -> ndarray:
        for part in key if isinstance(key, tuple) else (key,):
            assert not isinstance(part, (np.ndarray, list)), "a host's indices"
            assert not (isinstance(part, ndarray) and part.dtype == np.bool_), "choosing by a mask waits"
            assert not isinstance(part, ndarray) or self.device == Device(), f"from card {self.device}"
        # A view is made without the card.
        return ndarray(self._hidden[shown(key)], self.device)

    def __setitem__(self, key: Any, value: Any) -> None:
        seen(self)[shown(key)] = shown(value)

    def __len__(self) -> int:
        return len(self._hidden)

    def __iter__(self) -> Iterator[ndarray]:
        return iter([self[i] for i in range(len(self))])


def seen(array: ndarray) -> np.ndarray:
    """Look behind the curtain of an array that lies on the current device."""
    assert array.device.id == current_card(), f"on card {current_card()}: {array.device}"
    return array._hidden


def shown(value: Any) -> Any:
    """Look behind the curtain, through tuples and lists; refuse what lies on the host."""
    if isinstance(value, ndarray):
        return seen(value)
    if isinstance(value, (tuple, list)):
        return type(value)(shown(item) for item in value)
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    return value


def _operator(name: str) -> Any:
    def apply(self: ndarray, *others: Any) -> Any:
        if not all(isinstance(other, (ndarray, np.ndarray, *SCALARS)) for other in others):
            return NotImplemented
        return ndarray(getattr(seen(self), name)(*shown(others)))

    return apply


def _in_place(name: str) -> Any:
    def apply(self: ndarray, other: Any) -> ndarray:
        getattr(seen(self), name)(shown(other))
        return self

    return apply


def _waiting(name: str) -> Any:
    def refuse(self: ndarray, *_: Any) -> Any:
        raise AssertionError(f"{name} waits for the card")

    return refuse


for _name in OPERATORS.split() + UNARY.split():
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))
for _name in REFLECTED.split():
    setattr(ndarray, f"__r{_name}__", _operator(f"__r{_name}__"))
    setattr(ndarray, f"__i{_name}__", _in_place(f"__i{_name}__"))
for _name in WAITING.split():
    setattr(ndarray, _name, _waiting(_name))
ndarray.__hash__ = None  # type: ignore[assignment]
ndarray.__module__ = "cupy"


def _function(name: str, keywords: str, *, of: Any = np, arrays: bool = True) -> Any:
    """Return a function of numpy with cupy's keywords; the first argument must be on the card."""
    known = frozenset(keywords.split())
    if name in VIEWS:
        return lambda array, *args, **options: ndarray(
            getattr(of, name)(array._hidden, *args, **options), array.device
        )

    def call(*args: Any, **options: Any) -> ndarray:
        assert known >= set(options), f"{name} has no {set(options) - known}"
        first = args[0] if not isinstance(args[0], (tuple, list)) or not arrays else None
        for item in args[0] if first is None else [first]:
            assert not arrays or isinstance(item, ndarray), f"{name} of {type(item)}"
        return ndarray(
            getattr(of, name)(*shown(args), **{key: shown(value) for key, value in options.items()})
        )

    return call


class _Ufunc:
    """An elementwise function of arrays and scalars, at least one of which is on the card."""

    def __init__(self, name: str) -> None:
        self._ufunc = getattr(np, name)

    def __call__(self, *args: Any, **options: Any) -> ndarray:
        assert len(args) == self._ufunc.nin
        assert set(options) <= {"dtype"}
        assert any(isinstance(arg, ndarray) for arg in args), f"{self._ufunc.__name__} of the host's"
        assert all(isinstance(arg, (ndarray, np.ndarray, *SCALARS)) for arg in args)
        return ndarray(self._ufunc(*shown(args), **options))

    def at(self, array: ndarray, places: ndarray, values: Any) -> None:
        self._ufunc.at(seen(array), seen(places), shown(values))


def where(condition: ndarray, x: Any, y: Any) -> ndarray:
    return ndarray(np.where(seen(condition), shown(x), shown(y)))


def asarray(values: Any, dtype: Any = None) -> ndarray:
    if isinstance(values, ndarray):
        return values.astype(dtype or values.dtype, copy=False)
    return ndarray(np.array(values, dtype=dtype))


def array(values: Any, dtype: Any = None, copy: bool = True) -> ndarray:
    if not isinstance(values, ndarray):
        return asarray(values, dtype)
    return values.astype(dtype or values.dtype, copy=copy)


def _linear(name: str) -> Any:
    def call(*matrices: ndarray) -> ndarray:
        return ndarray(getattr(np.linalg, name)(*(seen(matrix) for matrix in matrices)))

    return call


def _module() -> ModuleType:
    """Assemble the module."""
    module = ModuleType("cupy")
    for name in UFUNCS.split():
        setattr(module, name, _Ufunc(name))
    for name, keywords in REDUCTIONS.items():
        setattr(module, name, _function(name, f"axis {keywords}"))
    for name, keywords in (FUNCTIONS | LIKE).items():
        setattr(module, name, _function(name, keywords))
    for name, keywords in CREATION.items():
        setattr(module, name, _function(name, keywords, arrays=False))
    for name in NAMED.split():
        setattr(module, name, getattr(np, name))
    for member in (ndarray, where, asarray, array):
        setattr(module, member.__name__, member)
    device, cuda = ModuleType("cupy.cuda.device"), ModuleType("cupy.cuda")
    linalg, fft = ModuleType("cupy.linalg"), ModuleType("cupy.fft")
    device.Device = cuda.Device = Device  # type: ignore[attr-defined]
    linalg.inv, linalg.solve, linalg.lstsq = _linear("inv"), _linear("solve"), None  # type: ignore[attr-defined]
    for name in ("rfft", "irfft"):
        setattr(fft, name, _function(name, "n axis norm", of=np.fft))
    for name in ("fft", "ifft", "fftn", "ifftn", "rfftn", "irfftn", "hfft", "ihfft", "fftfreq", "rfftfreq"):
        setattr(fft, name, None)
    cuda.device, module.cuda, module.linalg, module.fft = device, cuda, linalg, fft  # type: ignore[attr-defined]
    return module


MODULE = _module()
_PARTS = {"cupy": MODULE, "cupy.cuda": MODULE.cuda, "cupy.cuda.device": MODULE.cuda.device} | {
    f"cupy.{name}": getattr(MODULE, name) for name in ("linalg", "fft")
}
_wrapped: dict[str, ModuleType] = {}


@contextmanager
def installed() -> Iterator[ModuleType]:
    """Put the double in cupy's place, and `array_api_compat`'s own view of it beside it."""
    backend = importlib.import_module("ranklens.arrays.backend")
    compat = "array_api_compat.cupy"
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_of_cupy(name)}
    sys.modules.update(_PARTS | _wrapped)
    backend._import_namespace.cache_clear()
    try:
        importlib.import_module(compat)
        _wrapped.update({name: module for name, module in sys.modules.items() if name.startswith(compat)})
        yield MODULE
    finally:
        for name in [name for name in sys.modules if _is_of_cupy(name)]:
            del sys.modules[name]
        sys.modules.update(before)
        backend._import_namespace.cache_clear()


def _is_of_cupy(name: str) -> bool:
    return name.partition(".")[0] == "cupy" or name.startswith("array_api_compat.cupy")
