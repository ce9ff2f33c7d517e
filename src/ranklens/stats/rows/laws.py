"""Percentile intervals of the ideal bootstrap for many rows at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, cut, rows_within
from ranklens.arrays.threads import for_each, n_cores
from ranklens.kernels.exact_quantiles import inverted_quantile, resampled_characteristic
from ranklens.kernels.exact_resampling import resampled_law
from ranklens.stats.rows.jobs import Job
from ranklens.stats.rows.tails import joined

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_REACH = 8.5
_NODES = 28
_COPIES = 10
_FLOAT_BYTES = 8
_SLACK = 1e-13
_GRID_REACH = 9.0
_GRID = 1 << 13
_ROWS_AT_ONCE = 32


def inverted_ends(values: Floats, tail: float, backend: Backend) -> Job[tuple[Floats, Floats]]:
    """Return the `tail` and 1 - `tail` quantiles of the resampled mean of each row (rows, n).

    The rows must be free of atoms that weigh: their characteristic function has to vanish.
    """
    rows, n = values.shape
    unit = np.ldexp(1.0, np.frexp(np.abs(values).max(axis=1))[1])[:, None]
    scaled = values / unit
    mean = scaled.mean(axis=1, keepdims=True)
    centred = scaled - mean
    spread = np.sqrt(np.mean(centred * centred, axis=1, keepdims=True))
    standard = centred / (spread * math.sqrt(n))
    skewness = np.mean((centred / spread) ** 3, axis=1) / math.sqrt(n)
    z = NormalDist().inv_cdf(tail)
    step = 2.0 * math.pi / (abs(z) + 0.5 + _REACH)
    found: list[Any] = []
    ship = backend.asarray
    for part in cut(range(rows), rows_within(_COPIES * _FLOAT_BYTES * n, rows, share=0.25)):
        some = slice(part.start, part.stop)
        law = resampled_characteristic(ship(standard[some]), step, _NODES)
        # Cornish and Fisher's first correction of the normal quantile.
        bend = skewness[some] * (z * z - 1.0) / 6.0
        low = inverted_quantile(law, ship(bend + z), tail, step)
        high = inverted_quantile(law, ship(bend - z), 1.0 - tail, step)
        found += [low, high]
    host = yield tuple(found)
    ends = np.stack([joined(host[0::2]), joined(host[1::2])])
    means = (mean[:, 0] + ends * spread[:, 0] / math.sqrt(n)) * unit[:, 0]
    means = np.clip(means, values.min(axis=1), values.max(axis=1)) + 0.0
    return means[0], means[1]


def grid_length(steps: Counts) -> Counts:
    """Return how long a grid the law of the sum of n draws takes, a power of two; of rows (rows, n)."""
    least = 2.0 * _GRID_REACH * np.std(steps, axis=1) * math.sqrt(steps.shape[1]) + 8.0
    return np.asarray(1 << np.maximum(3, np.ceil(np.log2(least))).astype(np.int64))


def lattice_ends(steps: Counts, length: int, tail: float) -> tuple[Counts, Counts]:
    """Return the sums at which the law of n draws from each row of integers reaches `tail` and 1 - `tail`."""
    low, high = np.empty((2, len(steps)), dtype=np.int64)

    def read(some: slice, first: Counts, cumulated: Floats) -> None:
        below = np.count_nonzero(cumulated < tail - _SLACK, axis=1)
        above = np.count_nonzero(cumulated < 1.0 - tail + _SLACK, axis=1)
        low[some] = first + np.minimum(below, length - 1)
        high[some] = first + np.minimum(above, length - 1)

    _with_sum_laws(read, steps, length)
    return low, high


def grid_ends(values: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the `tail` and 1 - `tail` quantiles of the resampled mean of each row, rounded to a grid.

    The grid spans 18 standard errors; mean and spread of what was rounded are put right afterwards.
    """
    n = values.shape[1]
    unit = np.ldexp(1.0, np.frexp(np.abs(values).max(axis=1))[1])
    scaled = values / unit[:, None]
    mean, spread = scaled.mean(axis=1), scaled.std(axis=1)
    width = 2.0 * _GRID_REACH * spread * math.sqrt(n) / _GRID
    steps = np.rint((scaled - mean[:, None]) / width[:, None]).astype(np.int64)
    ends = np.empty((2, len(values)))

    def read(some: slice, first: Counts, cumulated: Floats) -> None:
        for i, begin, law in zip(range(some.start, some.stop), first.tolist(), cumulated, strict=True):
            # The mass of a grid point stretches half a step to either side of it.
            ends[:, i] = np.interp((tail, 1.0 - tail), law, begin + np.arange(_GRID) + 0.5)

    _with_sum_laws(read, steps, _GRID)
    centred = (ends / n - steps.mean(axis=1)) * (spread / steps.std(axis=1))
    means = np.clip((mean + centred) * unit, values.min(axis=1), values.max(axis=1))
    return means[0], means[1]


def _with_sum_laws(read: Callable[[slice, Counts, Floats], None], steps: Counts, length: int) -> None:
    """Call `read` with some rows, where the sum of their n draws begins, and its cumulated law from there."""
    rows, n = steps.shape

    def transform(part: range) -> None:
        own = steps[part.start : part.stop]
        begins = np.arange(len(own))[:, None] * length
        masses = np.bincount((own % length + begins).ravel(), minlength=len(own) * length) / n
        law = resampled_law(masses.reshape(len(own), length), n)
        first = np.rint(own.mean(axis=1) * n).astype(np.int64) - length // 2
        shifted = (np.arange(length) + first[:, None]) % length
        cumulated = np.cumsum(np.maximum(np.take_along_axis(law, shifted, axis=1), 0.0), axis=1)
        read(
            slice(part.start, part.stop), first, np.maximum.accumulate(cumulated / cumulated[:, -1:], axis=1)
        )

    row_bytes = 8 * _FLOAT_BYTES * length
    parts = cut(range(rows), rows_within(row_bytes, min(rows, _ROWS_AT_ONCE), share=0.125))
    for_each(transform, parts, n_threads=n_cores())
