"""Torch on a device that is no processor, without one: tensors that say "meta" and have values on the host.

All that torch does with them passes through here, and does what it does on CUDA: other devices' tensors are
refused, and what would wait for the device raises. Copies to the host are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

# Every module here is looked through for examples, also where torch is missing.
pytest.importorskip("torch", reason="torch is not installed")

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

CARD = torch.device("meta")
WAITS = {
    "_local_scalar_dense",
    "_unique2",
    "bincount",
    "equal",
    "is_nonzero",
    "masked_select",
    "nonzero",
    "repeat_interleave",
    "unique_consecutive",
    "unique_dim",
}
FROM_VALUES = (torch.asarray, torch.as_tensor, torch.tensor)

waits = SimpleNamespace(count=0)
"""How often tensors came to the host."""


class OnCard(torch.Tensor):
    """A tensor behind a curtain."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> OnCard:
        made = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=CARD,
        )
        made.inner = inner
        return made  # type: ignore[no-any-return]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return performed(func, args, kwargs or {})


def performed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Do an operation behind the curtain."""
    name = func._schema.name.partition("::")[2]
    given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    on_card = [tensor for tensor in given if isinstance(tensor, OnCard)]
    stays = bool(on_card)
    if kwargs.get("device") is not None:
        stays = torch.device(kwargs["device"]) == CARD
        waits.count += bool(on_card) and not stays
        kwargs = kwargs | {"device": torch.device("cpu")}
    if on_card:
        check(name, args, given)
    out = func(*tree_map(uncovered, args), **tree_map(uncovered, kwargs))
    if func._schema.is_mutable:
        return args[0]
    return (
        tree_map(lambda leaf: OnCard(leaf) if isinstance(leaf, torch.Tensor) else leaf, out) if stays else out
    )


def check(name: str, args: Any, given: list[torch.Tensor]) -> None:
    """Refuse what waits for the card, and tensors that are not all there."""
    assert name not in WAITS, f"{name} waits for the card"
    if name.startswith("index"):
        masks = [leaf for leaf in tree_leaves(args[1:2]) if getattr(leaf, "dtype", None) == torch.bool]
        assert not masks, "choosing by a mask waits for the card"
    elsewhere = [tensor for tensor in given if not isinstance(tensor, OnCard) and tensor.ndim > 0]
    assert name == "copy_" or not elsewhere, f"{name} of tensors on the card and on the host"


def uncovered(leaf: Any) -> Any:
    return leaf.inner if isinstance(leaf, OnCard) else leaf


class _Operations(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return performed(func, args, kwargs or {})


class _Values(TorchFunctionMode):
    """Bring lists and host arrays to the card: torch would make a meta tensor, which has no values."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        there = options.get("device") is not None and torch.device(options["device"]) == CARD
        if func in FROM_VALUES and there and not isinstance(args[0], torch.Tensor):
            return OnCard(func(*args, **(options | {"device": "cpu"})))
        return func(*args, **options)


@contextmanager
def inserted() -> Iterator[torch.device]:
    """Have the card in the block."""
    waits.count = 0
    with _Operations(), _Values():
        yield CARD
