"""Counting by meeting in the middle: all signed sums of either half, brought together by one sort."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, budget_bytes, cut, rows_within
from ranklens.arrays.threads import for_each, n_cores
from ranklens.kernels.exact_subsets import count_pairs, subset_sums
from ranklens.stats.exact.mirrored import mirrored_counts
from ranklens.stats.exact.signed import Counts
from ranklens.stats.exact.tail import FlipTails
from ranklens.stats.rows.jobs import Job

STEP = "meet in the middle"

_BYTES_PER_SUM, _BYTES_ON_HOST = 64, 20
_SUMS_AT_ONCE = 1 << 15
_WORTH_A_THREAD = 1 << 18


def meeting_counts(tails: FlipTails, chosen: Counts, backend: Backend) -> Job[NDArray[np.float64]]:
    """Count the subsets of some rows, those with as many differences together; shape (len(chosen),).

    Halves whose 2^(n/2) sums do not fit into the memory budget are flipped for one subset of the rest at a
    time.
    """
    n = tails.n[chosen]
    bytes_per_sum = _BYTES_ON_HOST if backend.name == "numpy" else _BYTES_PER_SUM
    places = [np.flatnonzero(n == size) for size in np.unique(n)[::-1].tolist()]
    parts = [
        own[part.start : part.stop]
        for own in places
        for part in _parts(len(own), int(n[own[0]]), bytes_per_sum)
    ]
    counts: dict[int, Any] = {}

    def count(i: int) -> None:
        own, size = chosen[parts[i]], int(n[parts[i][0]])
        magnitudes = tails.sums.magnitudes[own][:, -size:]
        counts[i] = _count(magnitudes, tails.limit[own], backend, bytes_per_sum)

    largest = bytes_per_sum << (int(n.max(initial=0)) // 2)
    threads = backend.name == "numpy" and largest >= _WORTH_A_THREAD
    for_each(count, range(len(parts)), n_threads=rows_within(largest, n_cores()) if threads else 1)
    host = yield tuple(counts[i] for i in range(len(parts)))
    found = np.empty(len(chosen))
    for part, ways in zip(parts, host, strict=True):
        found[part] = ways
    return found


def _parts(rows: int, size: int, bytes_per_sum: int) -> Iterator[range]:
    together = max(1, _SUMS_AT_ONCE >> (size // 2))
    return cut(range(rows), rows_within(bytes_per_sum << (size // 2), together, share=0.5))


def _count(magnitudes: Counts, limits: Counts, backend: Backend, bytes_per_sum: int) -> Any:
    most = 2 * max(1, int(math.log2(budget_bytes() / bytes_per_sum)))
    rest, halves = magnitudes[:, :-most], magnitudes[:, -most:]
    # A negative rest of the limit leaves no pair: no sum is below it.
    flipped = limits[:, None] - subset_sums(rest)
    if backend.name == "numpy":
        return functools.reduce(operator.add, (mirrored_counts(halves, left) for left in flipped.T))
    ship = backend.asarray
    first, second = subset_sums(ship(halves[:, ::2].copy())), subset_sums(ship(halves[:, 1::2].copy()))
    counts = [count_pairs(first, second, ship(left.copy())) for left in flipped.T]
    return functools.reduce(operator.add, counts)
