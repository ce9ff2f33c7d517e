"""Ends of intervals of means with smooth laws: their characteristic functions vanish, and are inverted."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, compiled, cut, rows_within
from ranklens.arrays.compile import steady_length, steady_rows
from ranklens.kernels.exact_quantiles import resampled_characteristic, square_wave_law
from ranklens.stats.ideal.levels import Levels, centred_rows, cubes
from ranklens.stats.ideal.nodes import NODES, STEP
from ranklens.stats.rows.jobs import Job

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

LEAST_TAIL = 1e-3
"""Further out the density is too small for Newton's method."""

_FLOAT_BYTES, _COPIES, _AT_ONCE = 8, 10, 1 << 15
# A move of this size is the last: the error that it leaves is of the size of its square.
_SETTLED = 1e-6
_MOST_MOVES, _LEAST_DENSITY = 12, 1e-4
_NORMAL = NormalDist()


class _Standard(NamedTuple):
    """Samples so that the sum of n draws has the mean 0 and the variance 1."""

    values: Floats
    mean: Floats
    error: Floats

    @classmethod
    def of(cls, values: Floats) -> _Standard:
        n = values.shape[1]
        centred, spread = centred_rows(values)
        standard = centred / (spread * math.sqrt(n))[:, None]
        return cls(standard, np.mean(values, axis=1), spread / math.sqrt(n))


def smooth_ends(
    values: Floats, nodes: Counts, levels: Levels, backend: Backend
) -> Job[tuple[Floats, Floats]]:
    """Return both ends, shape (rows,), of samples (rows, n) by inversion with so many nodes each.

    NaN stands for what cannot be had by it.
    """
    if not len(values):
        yield ()
        return np.zeros(0), np.zeros(0)
    sample = _Standard.of(values)
    groups = [np.flatnonzero(nodes == count) for count in NODES]
    asked: list[Any] = []
    parts: list[Counts] = []
    for count, rows in zip(NODES, groups, strict=True):
        most = max(1, _AT_ONCE // values.shape[1]) if backend.name == "numpy" else max(1, rows.size)
        row_bytes = _COPIES * _FLOAT_BYTES * values.shape[1]
        for part in cut(range(rows.size), rows_within(row_bytes, most, share=0.25)):
            parts.append(rows[part.start : part.stop])
            asked += _characteristic(sample.values[parts[-1]], count, backend)
    host = yield tuple(asked)
    ends = np.full((2, len(values)), math.nan)
    for rows, real, imaginary in zip(parts, host[0::2], host[1::2], strict=True):
        law = _Law(*(np.asarray(part, np.float64)[:, : rows.size] for part in (real, imaginary)))
        below, above = levels.tails(values[rows], law.share_at_mean)
        skewness = cubes(sample.values[rows])
        ends[:, rows] = law.quantile(below, skewness), law.quantile(1.0 - above, skewness)
    low, high = sample.mean + ends * sample.error
    return low, high


def _characteristic(values: Floats, n_nodes: int, backend: Backend) -> tuple[Any, Any]:
    """Ask for the characteristic functions of some samples; on JAX zeros fill rows and columns up.

    One program then serves many numbers of samples and of queries.
    """
    if backend.name != "jax":
        return resampled_characteristic(backend.asarray(values), STEP, n_nodes)
    rows, n = values.shape
    padded = np.pad(values, ((0, steady_rows(rows) - rows), (0, steady_length(n) - n)))
    asked = compiled(resampled_characteristic, backend, static=("step", "n_nodes"))
    return asked(backend.asarray(padded), step=STEP, n_nodes=n_nodes, n=n)


class _Law(NamedTuple):
    """Laws of standardised sums by their characteristic functions, shape (nodes, rows)."""

    real: Floats
    imaginary: Floats

    def share_at_mean(self) -> Floats:
        """Return the share below the mean of each sample."""
        below, _ = square_wave_law(self, np.zeros(self.real.shape[1]), STEP)
        return np.asarray(below)

    def quantile(self, level: Floats, skewness: Floats) -> Floats:
        """Solve F(x) = level, in standard errors from the mean, by Newton's method for every row by itself.

        It starts at Cornish and Fisher's first correction for the `skewness` of the sum.
        """
        z = _normal_quantiles(level)
        x = z + skewness * (z * z - 1.0) / 6.0
        rows = np.flatnonzero(np.minimum(level, 1.0 - level) >= LEAST_TAIL)
        found = np.full(len(level), math.nan)
        for _ in range(_MOST_MOVES):
            law = self if rows.size == len(level) else _Law(*(np.take(part, rows, axis=1) for part in self))
            below, density = square_wave_law(law, x[rows], STEP)
            move = (level[rows] - below) / np.maximum(density, _LEAST_DENSITY)
            x[rows] += np.minimum(np.maximum(move, -1.0), 1.0)
            settled = np.abs(move) <= _SETTLED
            found[rows[settled]] = x[rows[settled]]
            rows = rows[~settled]
            if not rows.size:
                break
        return found


def _normal_quantiles(levels: Floats) -> Floats:
    """Return those of levels, most of which are the same."""
    different, which = np.unique(levels, return_inverse=True)
    within = np.minimum(np.maximum(different, 1e-300), 1.0 - 2.0**-53)
    return np.array([_NORMAL.inv_cdf(level) for level in within.tolist()])[which]
