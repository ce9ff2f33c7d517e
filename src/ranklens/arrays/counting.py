"""How often each query is drawn: the standard has no scatter, every library has its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklens.arrays.backend import Backend

COUNTING = frozenset({"numpy", "cupy", "jax", "torch"})
"""The backends that can count draws; the others gather what was drawn."""


def count_draws(backend: Backend, indices: Any, n: int) -> Any:
    """Count how often each of `n` queries occurs in each column of `indices` (draws, m), as floats (m, n)."""
    xp = backend.xp
    m = indices.shape[1]
    if backend.name == "jax":
        rows = xp.arange(m, device=backend.device)[None, :]
        # Adding at repeated places is defined in JAX.
        return xp.zeros((m, n), dtype=backend.float_dtype, device=backend.device).at[rows, indices].add(1.0)
    places = indices + xp.arange(m, dtype=xp.int64, device=backend.device)[None, :] * n
    bincount = np.bincount if backend.name == "numpy" else xp.bincount
    counts = bincount(xp.reshape(places, (-1,)), minlength=m * n)
    return xp.astype(xp.reshape(counts, (m, n)), backend.float_dtype)
