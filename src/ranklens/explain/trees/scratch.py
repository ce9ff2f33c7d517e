"""Arrays that are used again and again: fresh large ones cost a page fault every few kilobytes."""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

KEPT_BYTES = 2**24
"""More than this is not kept for the next call."""


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

    @property
    def nbytes(self) -> int:
        """What all its arrays take."""
        return sum(held.nbytes for held in self._held.values())


class ScratchPool:
    """What threads use one after another, so that each call finds arrays whose pages are there already."""

    def __init__(self) -> None:
        self._idle: deque[Scratch] = deque()

    @contextlib.contextmanager
    def one(self) -> Iterator[Scratch]:
        """Lend a `Scratch` to one thread."""
        try:
            scratch = self._idle.pop()
        except IndexError:
            scratch = Scratch()
        yield scratch
        if scratch.nbytes <= KEPT_BYTES:
            self._idle.append(scratch)

    def __reduce__(self) -> tuple[type[ScratchPool], tuple[()]]:
        return ScratchPool, ()
