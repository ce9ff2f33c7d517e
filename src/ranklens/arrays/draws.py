"""Random words on any backend, made where that is cheaper."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklens.arrays.backend import Backend
from ranklens.arrays.mesh import n_devices, spread
from ranklens.arrays.philox import device_words
from ranklens.arrays.streams import Purpose, words


def draw_words(backend: Backend, seed: int, start: int, stop: int, columns: range, purpose: Purpose) -> Any:
    """Return `words` on the backend's device as int64 with the same bits, shape (len(columns), stop - start).

    Several devices get a part of the resamples each, so that all that follows is computed where they are.

    The processor makes a word in 4 ns, so an accelerator is sent the few words of sign flips (one bit a
    query), and makes the many of resamples (half a word a query) itself.
    """
    if backend.on_accelerator and purpose is not Purpose.FLIPS:
        return spread(device_words(backend, seed, start, stop, columns, purpose), backend, axis=1)
    drawn = words(seed, start, stop, columns, purpose).view(np.int64)
    if n_devices(backend) > 1:
        return spread(drawn, backend, axis=1)
    return backend.asarray(drawn)
