"""Threads for host loops that spend their time in long vector operations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def for_each(task: Callable[[T], None], items: Iterable[T], *, n_threads: int) -> None:
    """Call `task` on every item, on `n_threads` threads; the first error is raised."""
    items = list(items)
    if n_threads <= 1 or len(items) <= 1:
        for item in items:
            task(item)
        return
    with ThreadPoolExecutor(min(n_threads, len(items))) as pool:
        for _ in pool.map(task, items):
            pass
