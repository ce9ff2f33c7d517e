"""NumPy arrays that a JAX function captures, kept apart from what JAX makes of them in 64-bit types.

JAX keeps its own form of a captured array by the array's identity, whatever types are allowed, as long as
some trace holds it. The user's own calls of the function, in 32-bit types, would find that form and fail
(seen in JAX 0.10.2). So the programs here hold copies.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

import numpy as np

Array = Any


def with_own_constants(function: Callable[[Array], Any], points: Array) -> Any:
    """Call a function that is being traced, with copies of the NumPy arrays that it captures."""
    jax = importlib.import_module("jax")
    shape = jax.ShapeDtypeStruct(points.shape, points.dtype)
    # A function of its own, since JAX keeps what it traced as long as that lives.
    closed, answer = jax.make_jaxpr(lambda rows: function(rows), return_shape=True)(shape)
    constants = [np.array(each) if isinstance(each, np.ndarray) else each for each in closed.consts]
    found = jax.core.eval_jaxpr(closed.jaxpr, constants, points)
    return jax.tree.unflatten(jax.tree.structure(answer), found)


def with_copied_arrays(function: Any) -> Any:
    """Return a plain function that refers to copies of the NumPy arrays; anything else as it is.

    JAX never lets go of what a trace that failed has captured, and what the user's calls left behind would
    cost digits.
    """
    if not isinstance(function, FunctionType):
        return function
    names = function.__globals__
    copied = {name: names[name].copy() for name in function.__code__.co_names if _is_plain(names.get(name))}
    found = FunctionType(
        function.__code__,
        {**names, **copied} if copied else names,
        function.__name__,
        function.__defaults__,
        tuple(map(_copied, function.__closure__ or ())) or None,
    )
    found.__kwdefaults__ = function.__kwdefaults__
    return found


def _copied(cell: CellType) -> CellType:
    try:
        content = cell.cell_contents
    except ValueError:  # It is not filled yet.
        return cell
    return CellType(content.copy()) if _is_plain(content) else cell


def _is_plain(value: Any) -> bool:
    return type(value) is np.ndarray


def unjitted(function: Any) -> Any:
    """Return the function that `jax.jit` was given, if it was: JAX keeps what it traced of a jitted one."""
    jitted = hasattr(function, "lower") and hasattr(function, "__wrapped__")
    return function.__wrapped__ if jitted else function
