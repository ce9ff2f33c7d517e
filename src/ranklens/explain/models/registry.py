"""Which adapter takes a model: found by the library that its class comes from."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ranklens.core import ModelError
from ranklens.explain.models.base import Model

# The first library along the model's class hierarchy decides. An adapter's module has
# adapt_model(model, names, params) -> Model.
_LIBRARIES = {
    "catboost": "catboost",
    "equinox": "jax",
    "flax": "jax",
    "jax": "jax",
    "jaxlib": "jax",
    "lightgbm": "lightgbm",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "sklearn": "sklearn",
    "torch": "torch",
    "xgboost": "xgboost",
}
# A function that calls these takes NumPy's arrays, and works in torch only inside.
_CONVERSIONS = {"from_numpy", "numpy", "tensor"}
_ARRAY_LIBRARIES = {**dict.fromkeys(("equinox", "flax", "jax", "jaxlib"), "jax"), "torch": "torch"}


def adapt(model: Any, names: Iterable[str] | None = None, *, params: Any = None) -> Model:
    """Make a model of whatever scores rows.

    Parameters
    ----------
    model : object
        A LightGBM, XGBoost, CatBoost, scikit-learn or ONNX model, or the path of a file of one or of RankLib
        (see `load_model`); a torch module; a JAX function, equinox or flax module; any other function from an
        (n, k) array to n scores; or a `Model`, which is returned as it is. A plain function is taken for one
        of JAX when it is given `params`, is jitted, or uses something of JAX by name; likewise for torch.
    names : iterable of str, optional
        The features, in the order of the columns. Needed where the model does not know them.
    params : pytree, optional
        The parameters of a JAX function ``model(params, points)``.

    Returns
    -------
    Model

    Raises
    ------
    ModelError
        When an estimator is not fitted.
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
    if isinstance(model, (str, os.PathLike)):
        from ranklens.explain.model_files import load_model

        return load_model(model, names)
    home = library_of(model) or ("jax" if params is not None else None)
    if home is not None:
        _require_fitted(model)
        adapter = importlib.import_module(f"ranklens.explain.models.{home}")
        found: Model = adapter.adapt_model(model, names, params)
        return found
    if not callable(model):
        raise TypeError(
            f"no adapter for a {type(model).__name__}; pass a function from an (n, k) array to n scores"
        )
    return adapt_function(model, needed(names, "a function"))


def _require_fitted(model: Any) -> None:
    """Raise ModelError for an estimator that was not fitted, as scikit-learn tells."""
    if not (hasattr(model, "fit") and hasattr(model, "get_params")):
        return
    told = getattr(model, "__sklearn_is_fitted__", None) or getattr(model, "is_fitted", None)
    fitted = told() if callable(told) else any(name.endswith("_") for name in vars(model))
    if not fitted:
        raise ModelError(f"the {type(model).__name__} is not fitted; call its fit() first")


def adapt_function(function: Callable[[Any], Any], names: Iterable[str]) -> Model:
    """Make a model of a plain function, in the arrays of the library that it uses."""
    from ranklens.explain.models.callable import CallableAdapter

    library = language_of(function)
    if library == "jax":
        from ranklens.explain.models.jax import JaxModel

        try:
            return JaxModel(function, names)
        except ModelError:
            # It uses JAX inside, but cannot be traced: it takes and gives NumPy's arrays, or it is wrong.
            library = None
    return CallableAdapter(function, names, backend=library)


def library_of(model: Any) -> str | None:
    """Return the adapter's module for the library that `model` comes from."""
    for kind in type(model).__mro__:
        home = _LIBRARIES.get(kind.__module__.partition(".")[0])
        if home is not None:
            return home
    return None


def language_of(function: Any) -> str | None:
    """Return "jax" or "torch" where a plain function refers to something of that library, else None."""
    values: list[Any] = []
    for _ in range(8):
        inner = getattr(function, "func", None) or getattr(function, "__wrapped__", None)
        if inner is None:
            break
        if isinstance(function, functools.partial):
            values += [*function.args, *function.keywords.values()]
        function = inner
    home = library_of(function)
    if home in ("jax", "torch"):
        return home
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType):
        function = vars(type(function)).get("__call__")
    if not isinstance(function, FunctionType):
        return None
    codes = _codes(function)
    names = {name for code in codes for name in code.co_names}
    values += [function.__globals__[name] for name in names if name in function.__globals__]
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # a cell that is not filled yet
            values.append(cell.cell_contents)
    origins = (
        value.__name__ if isinstance(value, ModuleType) else type(value).__module__ for value in values
    )
    found = {_ARRAY_LIBRARIES.get(origin.partition(".")[0]) for origin in origins}
    if "jax" in found:
        return "jax"
    return "torch" if "torch" in found and not names & _CONVERSIONS else None


def _codes(function: FunctionType) -> list[CodeType]:
    """Return the code of a function and of those defined inside it."""
    codes = [function.__code__]
    for code in codes:
        codes.extend(constant for constant in code.co_consts if isinstance(constant, CodeType))
    return codes


def needed(names: Iterable[str] | None, what: str) -> Iterable[str]:
    """Return `names`, or say that `what` does not know them."""
    if names is None:
        raise ValueError(f"names is missing: {what} does not know its features; pass names=[...]")
    return names
