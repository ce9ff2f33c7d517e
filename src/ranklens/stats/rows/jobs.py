"""Work on a device whose results come to the host together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

from ranklens.arrays import to_host

T = TypeVar("T")

Job = Generator[tuple[Any, ...], tuple[Any, ...], T]
"""Yields its arrays on the device once, is sent them on the host, and returns its result."""


def together(jobs: Sequence[Job[Any]]) -> list[Any]:
    """Run jobs of one backend with a single transfer, and return their results."""
    asked = [next(job) for job in jobs]
    flat = [array for arrays in asked for array in arrays]
    host = list(to_host(*flat)) if flat else []
    results = []
    for job, arrays in zip(jobs, asked, strict=True):
        sent, host = host[: len(arrays)], host[len(arrays) :]
        results.append(_result(job, tuple(sent)))
    return results


def _result(job: Job[T], arrays: tuple[Any, ...]) -> T:
    try:
        job.send(arrays)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("a job must yield once")
