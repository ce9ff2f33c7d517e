"""A torch module as a model: no gradient, evaluation mode, and never off its device."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from ranklens.arrays import Backend, backend_of, open_backend
from ranklens.core import ModelError
from ranklens.explain.models.base import Model
from ranklens.explain.models.registry import needed


class TorchModel(Model):
    """A `torch.nn.Module` from (n, k) to n scores (or to shape (n, 1)).

    The points are made on the device and in the floating type of the module's first parameter. While it is
    asked the module is in evaluation mode, so that dropout and batch statistics stand still; the mode of each
    of its parts is put back afterwards.

    Parameters
    ----------
    module : torch.nn.Module
    names : iterable of str
        The k features.

    Raises
    ------
    ModelError
        When the module has no weights yet (they lie on the meta device).

    Examples
    --------
    >>> import torch
    >>> model = TorchModel(torch.nn.Linear(2, 1), ["bm25", "price"])
    >>> tuple(model.score(torch.zeros(5, 2)).shape)
    (5,)
    """

    kind = "the torch module"

    def __init__(self, module: Any, names: Iterable[str]) -> None:
        tensors = chain(module.parameters(), module.buffers())
        floating = next((tensor for tensor in tensors if tensor.is_floating_point()), None)
        if floating is not None and floating.is_meta:
            raise ModelError(
                "the torch module lies on the meta device, which holds no numbers; load its weights first "
                "(to_empty(device=...) and load_state_dict)"
            )
        super().__init__(names, _backend(floating))
        self.module = module
        self._dtype = None if floating is None else floating.dtype

    @property
    def dtype(self) -> Any:
        """The floating type of the module's parameters."""
        return self._dtype

    def predict(self, points: Any) -> Any:
        with importlib.import_module("torch").no_grad(), evaluating(self.module):
            return self.module(points)


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Put a module into evaluation mode, and each of its parts back into its own mode at the end."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


def _backend(tensor: Any) -> Backend:
    return open_backend("torch") if tensor is None else backend_of(tensor.detach())


def adapt_model(model: Any, names: Iterable[str] | None, params: Any = None) -> Model:
    """Make a model of a torch module."""
    if params is not None:
        raise ValueError("params belongs to JAX functions; a torch module holds its own parameters")
    if not hasattr(model, "modules"):
        raise TypeError(f"no adapter for a {type(model).__name__}; pass a torch.nn.Module or a function")
    return TorchModel(model, needed(names, "a torch module"))
