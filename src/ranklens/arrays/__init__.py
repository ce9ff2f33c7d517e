"""Array backends: dispatch, devices, precision, random streams, memory, and the one way to the host.

Kernels are written once against the Python array API standard. This room finds out in whose arrays they run,
and does what the standard has no word for.
"""

from ranklens.arrays.backend import Backend, backend_of, device_of, is_array, namespace
from ranklens.arrays.budget import budget_bytes, cut, memory_budget, rows_within
from ranklens.arrays.choice import current_backend, open_backend, resolve_backend, use_backend
from ranklens.arrays.compile import compiled, steady
from ranklens.arrays.draws import draw_words
from ranklens.arrays.mesh import even, n_devices, spread
from ranklens.arrays.precision import PrecisionWarning
from ranklens.arrays.streams import Purpose, Seed, seed_of, words
from ranklens.arrays.survey import BackendStatus, describe_backends
from ranklens.arrays.transfer import to_host

__all__ = [
    "Backend",
    "BackendStatus",
    "PrecisionWarning",
    "Purpose",
    "Seed",
    "backend_of",
    "budget_bytes",
    "compiled",
    "current_backend",
    "cut",
    "describe_backends",
    "device_of",
    "draw_words",
    "even",
    "is_array",
    "memory_budget",
    "n_devices",
    "namespace",
    "open_backend",
    "resolve_backend",
    "rows_within",
    "seed_of",
    "spread",
    "steady",
    "to_host",
    "use_backend",
    "words",
]
