"""Work on a device whose results come to the host together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import to_host

T = TypeVar("T")

Job = Generator[tuple[Any, ...], tuple[Any, ...], T]
"""Yields its arrays on the device once, is sent them on the host, and returns its result."""


def together(jobs: Sequence[Job[Any]]) -> list[Any]:
    """Run jobs of one backend with a single transfer, and return their results."""
    job = combined(jobs)
    asked = next(job)
    results: list[Any] = _result(job, to_host(*asked) if asked else ())
    return results


def combined(jobs: Sequence[Job[Any]]) -> Job[list[Any]]:
    """Make one job of several; its result is theirs.

    What is on the host already waits for nothing: such jobs run one after the other, so that only one of them
    holds memory at a time.
    """
    results: list[Any] = [None] * len(jobs)
    waiting: list[tuple[int, tuple[Any, ...]]] = []
    for i, job in enumerate(jobs):
        arrays = next(job)
        if all(isinstance(array, (np.ndarray, np.generic)) for array in arrays):
            results[i] = _result(job, to_host(*arrays))
        else:
            waiting.append((i, arrays))
    host = list((yield tuple(array for _, arrays in waiting for array in arrays)))
    for i, arrays in waiting:
        sent, host = host[: len(arrays)], host[len(arrays) :]
        results[i] = _result(jobs[i], tuple(sent))
    return results


def joined(parts: Sequence[Any]) -> NDArray[np.float64]:
    """Put what several parts gave one after the other; nothing of no parts."""
    return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts]) if parts else np.zeros(0)


def _result(job: Job[T], arrays: tuple[Any, ...]) -> T:
    try:
        job.send(arrays)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("a job must yield once")
