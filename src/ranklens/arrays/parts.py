"""A long axis in parts of one length, so that what is computed of one stays in the cache.

One program serves all parts: JAX compiles a loop over them in a tenth of a second, a program that repeats its
body for each in many.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ranklens.arrays.backend import Backend, namespace
from ranklens.arrays.mesh import n_devices


def is_one_processor(backend: Backend) -> bool:
    """Whether JAX works on a single processor, where a loop over parts is faster than all at once."""
    return backend.name == "jax" and not backend.on_accelerator and n_devices(backend) == 1


def part_length(m: int, most: int, backend: Backend) -> int:
    """Return the length of parts of at most `most` that together have at least `m`, with the least rest.

    Several devices share a part evenly.

    Examples
    --------
    >>> from ranklens.arrays import open_backend
    >>> part_length(10_000, 512, open_backend("numpy"))
    500
    """
    length, devices = -(-m // -(-m // max(1, most))), n_devices(backend)
    return -(-length // devices) * devices


def by_parts(compute: Callable[[Any], Any], array: Any, length: int) -> Any:
    """Call `compute` with `length` columns of `array` at a time; what it gives is stacked along a new axis.

    Several parts are a loop of JAX, and must be within a compiled function.
    """
    n_parts = array.shape[-1] // length
    if n_parts == 1:
        return namespace(array).expand_dims(compute(array), axis=0)
    lax = importlib.import_module("jax").lax

    def compute_part(part: Any) -> Any:
        return compute(lax.dynamic_slice_in_dim(array, part * length, length, axis=array.ndim - 1))

    return lax.map(compute_part, importlib.import_module("jax").numpy.arange(n_parts))


def where_needed(
    compute: Callable[[Any], Any], needed: Callable[[Any], Any], items: Any, backend: Backend
) -> Any:
    """Call `compute`, which maps items (k,) to booleans (k, ...), False for all that `needed` (k,) is not.

    JAX takes one item after the other, in a loop of the compiled program, and leaves those out; other
    libraries, which would have to wait for the device to know them, take all at once.
    """
    if backend.name != "jax":
        return compute(items)
    jax = importlib.import_module("jax")

    def compute_one(item: Any) -> Any:
        return compute(item[None])[0, ...]

    def compute_if_needed(pair: tuple[Any, Any]) -> Any:
        is_needed, item = pair
        none = jax.numpy.zeros(jax.eval_shape(compute_one, item).shape, dtype=bool)
        return jax.lax.cond(is_needed, compute_one, lambda _: none, item)

    return jax.lax.map(compute_if_needed, (needed(items), items))
