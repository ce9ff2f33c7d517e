"""Which floating type a device computes in."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class PrecisionWarning(UserWarning):
    """A device has no float64, so that results are rounded to float32."""


def float_dtype_of(xp: Any, name: str, device: Any) -> Any:
    """Return float64, or float32 where `device` has nothing wider (which is said once)."""
    return xp.float64 if name in _WIDE else _widest(xp, name, device)


_WIDE = ("numpy", "cupy", "jax")


@functools.lru_cache(maxsize=64)
def _widest(xp: Any, name: str, device: Any) -> Any:
    if _has_float64(xp, name, device):
        return xp.float64
    warnings.warn(
        f"device {device} of {name} has no float64, so float32 is used: p-values can differ by the few "
        "permutations that lie within rounding of the observed difference",
        PrecisionWarning,
        stacklevel=3,
    )
    return xp.float32


def _has_float64(xp: Any, name: str, device: Any) -> bool:
    if name == "torch":
        return getattr(device, "type", "cpu") != "mps"
    info = getattr(xp, "__array_namespace_info__", None)
    return info is None or "float64" in info().dtypes(device=device, kind="real floating")


@contextmanager
def jax_precise() -> Iterator[None]:
    """Allow 64-bit types and full products in JAX inside the block, and leave the user's settings alone."""
    import jax

    # Older versions keep it in jax.experimental.
    home = jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")
    # On recent cards JAX would multiply float32 matrices in TF32, with errors near 1e-2.
    with home.enable_x64(True), jax.default_matmul_precision("highest"):
        yield
