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


def steady(array: Any, backend: Backend) -> Any:
    """Append zeros along the last axis, on JAX, until its length is one of few.

    A compiled program serves one shape; this way it serves every number of queries up to the next length
    (which is at most a half further).
    """
    if backend.name != "jax":
        return array
    n = array.shape[-1]
    return backend.xp.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, steady_length(n) - n)])


def steady_length(n: int) -> int:
    """Return the smallest of 64, 96, 128, 192, 256, 384, ... that is at least `n`.

    Examples
    --------
    >>> steady_length(50), steady_length(65), steady_length(6980)
    (64, 96, 8192)
    """
    return max(64, steady_rows(n))


def steady_rows(n: int) -> int:
    """Return the smallest of 4, 6, 8, 12, 16, 24, ... that is at least `n`.

    Examples
    --------
    >>> steady_rows(1), steady_rows(5), steady_rows(1000)
    (4, 6, 1024)
    """
    power = 1 << max(2, (n - 1).bit_length())
    return power * 3 // 4 if power > 4 and n <= power * 3 // 4 else power


@functools.lru_cache(maxsize=128)
def _jitted(function: Any, static: tuple[str, ...]) -> Any:
    import jax

    return jax.jit(function, static_argnames=static)
