"""How often each query is drawn: the standard has no scatter, every library has its own."""

from __future__ import annotations

import importlib
from typing import Any

from ranklens.arrays.backend import Backend

COUNTING = frozenset({"cupy", "jax", "torch"})
"""The backends that count draws here, as NumPy does in a way of its own; others gather what was drawn."""


def count_first_draws(indices: Any, first: Any, n: int, dtype: Any) -> Any:
    """Count on JAX the first `first` rows of `indices` (draws, m) alone, as `dtype`, shape (m, n)."""
    jax = importlib.import_module("jax")
    xp = jax.numpy
    weight = xp.astype(xp.arange(indices.shape[0]) < first, dtype)
    zeros = xp.zeros(n, dtype=dtype)
    # Adding at repeated places is defined in JAX, and devices can share resamples that are mapped over.
    return jax.vmap(lambda drawn: zeros.at[drawn].add(weight))(indices.T)


def count_draws(backend: Backend, indices: Any, n: int) -> Any:
    """Count how often each of `n` queries occurs in each column of `indices` (draws, m), as floats (m, n).

    bincount of torch and cupy looks at its largest argument, which waits for the device; adding does not.
    """
    xp = backend.xp
    m = indices.shape[1]
    places = indices + xp.arange(m, dtype=xp.int64, device=backend.device)[None, :] * n
    places = xp.reshape(places, (-1,))
    counts = xp.zeros(m * n, dtype=backend.float_dtype, device=backend.device)
    if backend.name == "torch":
        counts.scatter_add_(0, places, xp.ones_like(places, dtype=counts.dtype))
    else:
        xp.add.at(counts, places, 1.0)
    return xp.reshape(counts, (m, n))
