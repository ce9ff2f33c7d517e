"""Arrays that are used again and again: fresh large ones cost a page fault every few kilobytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Scratch:
    """Uninitialised arrays by name, for one thread.

    Examples
    --------
    >>> scratch = Scratch()
    >>> large = scratch.take("states", (3, 4), np.uint8)
    >>> np.shares_memory(large, scratch.take("states", (2, 5), np.uint8))
    True
    """

    def __init__(self) -> None:
        self._held: dict[str, NDArray[Any]] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Return an array whose content is left over from whoever took `name` before, in the same type."""
        size = math.prod(shape)
        held = self._held.pop(name, None)
        if held is None or held.size < size:
            # The old one is gone before the new one comes.
            held = None
            held = np.empty(size, dtype)
        self._held[name] = held
        return held[:size].reshape(shape)
