"""Which adapter takes a model: found by the library that its class comes from."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

from ranklens.explain.models.base import Model

# The first library along the model's class hierarchy decides. An adapter's module has
# adapt_model(model, names, params) -> Model.
_LIBRARIES: dict[str, str] = {}


def adapt(model: Any, names: Iterable[str] | None = None, *, params: Any = None) -> Model:
    """Make a model of whatever scores rows.

    Parameters
    ----------
    model : object
        A plain function from an (n, k) array to n scores, or a `Model`, which is returned as it is.
    names : iterable of str, optional
        The features, in the order of the columns. Needed where the model does not know them.
    params : pytree, optional
        The parameters of a JAX function ``model(params, points)``.

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        When the names are needed and missing.
    TypeError
        When nothing here knows how to ask such a model.

    Examples
    --------
    >>> adapt(lambda x: x[:, 0] - x[:, 1], ["bm25", "price"]).names
    ('bm25', 'price')
    """
    if isinstance(model, Model):
        return model
    home = library_of(model)
    if home is not None:
        adapter = importlib.import_module(f"ranklens.explain.models.{home}")
        found: Model = adapter.adapt_model(model, names, params)
        return found
    if not callable(model):
        raise TypeError(
            f"no adapter for a {type(model).__name__}; pass a function from an (n, k) array to n scores"
        )
    from ranklens.explain.models.callable import CallableAdapter

    return CallableAdapter(model, needed(names, "a function"))


def library_of(model: Any) -> str | None:
    """Return the adapter's module for the library that `model` comes from."""
    for kind in type(model).__mro__:
        home = _LIBRARIES.get(kind.__module__.partition(".")[0])
        if home is not None:
            return home
    return None


def needed(names: Iterable[str] | None, what: str) -> Iterable[str]:
    """Return `names`, or say that `what` does not know them."""
    if names is None:
        raise ValueError(f"names is missing: {what} does not know its features; pass names=[...]")
    return names
