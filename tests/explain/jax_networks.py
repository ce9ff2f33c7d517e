"""A small network of JAX, pairs of documents for it, and both settings of 64-bit types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def user_precision(request: pytest.FixtureRequest) -> Iterator[bool]:
    """What the user has set; 64-bit types are off unless a test asks for both."""
    with jax.enable_x64(getattr(request, "param", False)):
        yield getattr(request, "param", False)


def parameters(n_features: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "inner": jnp.asarray(rng.normal(size=(n_features, 8)), dtype=jnp.float32),
        "outer": jnp.asarray(rng.normal(size=8), dtype=jnp.float32),
    }


def network(params: Any, x: Any) -> Any:
    return jnp.tanh(x @ params["inner"]) @ params["outer"]


def pairs_with(n_differing: list[int], n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a pair for each of the numbers of features that differ in it."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, len(n_differing), n_features)).astype(np.float32)
    for i, k in enumerate(n_differing):
        same = rng.permutation(n_features)[k:]
        b[i, same] = a[i, same]
    return a, b
