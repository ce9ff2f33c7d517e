"""Just-in-time compilation, where a backend has it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ranklens.arrays.backend import Backend

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F, backend: Backend, static: tuple[str, ...] = ()) -> F:
    """Return `function` compiled by JAX on JAX, and as it is elsewhere.

    `static` names the keyword arguments that are Python values; another value of one compiles anew.
    """
    return _jitted(function, static) if backend.name == "jax" else function


@functools.lru_cache(maxsize=128)
def _jitted(function: Any, static: tuple[str, ...]) -> Any:
    import jax

    return jax.jit(function, static_argnames=static)
