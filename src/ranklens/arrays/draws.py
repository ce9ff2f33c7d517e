"""Random words on any backend, made where that is cheaper."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklens.arrays.backend import Backend
from ranklens.arrays.philox import device_words
from ranklens.arrays.streams import Purpose, words


def draw_words(backend: Backend, seed: int, start: int, stop: int, columns: range, purpose: Purpose) -> Any:
    """Return `words` on the backend's device as int64 with the same bits, shape (len(columns), stop - start).

    The processor makes a word in 4 ns, so an accelerator is sent the few words of sign flips (one bit a
    query), and makes the many of resamples (half a word a query) itself.
    """
    if backend.on_accelerator and purpose is not Purpose.FLIPS:
        return device_words(backend, seed, start, stop, columns, purpose)
    return backend.asarray(words(seed, start, stop, columns, purpose).view(np.int64))
