"""An array library that nobody knows: it keeps to the standard and refuses ``__array__`` and host arrays.

It counts transfers to the host.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

HOST_METHODS = ("__bool__", "__complex__", "__float__", "__index__", "__int__", "item", "tolist")
OPERATORS = (
    "abs add and eq floordiv ge gt invert le lshift lt matmul mod mul ne neg or pow radd rand rlshift "
    "rmatmul rmul ror rpow rshift rsub rtruediv rxor sub truediv xor"
)


class FakeArray:
    """A numpy array behind a curtain."""

    device = "fake:0"

    def __init__(self, hidden: np.ndarray, syncs: SimpleNamespace) -> None:
        self._hidden = hidden
        self._syncs = syncs

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return FakeNamespace(self._syncs)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("implicit conversion to a host array is not allowed; use .get()")

    def get(self) -> np.ndarray:
        """Copy to the host: the one allowed way."""
        self._syncs.count += 1
        return self._hidden.copy()

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("numpy's function of an array on a device")

    def __array_function__(self, *_: Any) -> Any:
        raise TypeError("numpy's function of an array on a device")

    def __getitem__(self, key: Any) -> FakeArray:
        return FakeArray(np.asarray(self._hidden[shown(key)]), self._syncs)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._hidden.shape

    @property
    def ndim(self) -> int:
        return self._hidden.ndim

    @property
    def dtype(self) -> Any:
        return self._hidden.dtype

    def __len__(self) -> int:
        return len(self._hidden)


def _operator(name: str) -> Any:
    def apply(self: FakeArray, *others: Any) -> FakeArray:
        result = getattr(self._hidden, name)(*[shown(other) for other in others])
        return FakeArray(np.asarray(result), self._syncs)

    return apply


def _forbidden(name: str) -> Any:
    def refuse(self: FakeArray) -> Any:
        raise AssertionError(f"{name} waits for the device")

    return refuse


for _name in OPERATORS.split():
    setattr(FakeArray, f"__{_name}__", _operator(f"__{_name}__"))
for _name in HOST_METHODS:
    setattr(FakeArray, _name, _forbidden(_name))


class FakeNamespace:
    """numpy's functions over `FakeArray`; creation without ``device=`` is refused."""

    def __init__(self, syncs: SimpleNamespace) -> None:
        self.__name__ = "fake"
        self._syncs = syncs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FakeNamespace) and other._syncs is self._syncs

    def __hash__(self) -> int:
        return id(self._syncs)

    def __array_namespace_info__(self) -> Any:
        return SimpleNamespace(dtypes=lambda device, kind: {"float32": np.float32, "float64": np.float64})

    def __getattr__(self, name: str) -> Any:
        member = getattr(np, name)
        if isinstance(member, type) or not callable(member) or name in ("isdtype", "finfo"):
            return member

        def call(*args: Any, **kwargs: Any) -> Any:
            if name in ("arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros"):
                assert kwargs.pop("device") == FakeArray.device, f"{name} without device="
            if name == "asarray":
                return FakeArray(np.array(getattr(args[0], "_hidden", args[0]), **kwargs), self._syncs)
            result = member(*shown(args), **{key: shown(value) for key, value in kwargs.items()})
            return FakeArray(np.asarray(result), self._syncs)

        return call


def shown(value: Any) -> Any:
    """Look behind the curtain, through tuples and lists."""
    if isinstance(value, FakeArray):
        return value._hidden
    if isinstance(value, (tuple, list)):
        return type(value)(shown(item) for item in value)
    if isinstance(value, np.ndarray):
        raise TypeError("an array of the host among those of the device")
    return value


def fake_array(values: Any) -> tuple[FakeArray, SimpleNamespace]:
    """Return an array on the fake device, and the counter of its transfers."""
    syncs = SimpleNamespace(count=0)
    return FakeArray(np.asarray(values, dtype=np.float64), syncs), syncs
