"""The world every test runs in: strict, repeatable, and untouched by the caller's settings."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Set before jax is imported: no kernel may lean on its lenient promotion of types.
os.environ.pop("RANKLENS_BACKEND", None)
os.environ.setdefault("JAX_NUMPY_DTYPE_PROMOTION", "strict")

settings.register_profile("local", deadline=None)
settings.register_profile(
    "ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "local")
