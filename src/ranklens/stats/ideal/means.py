"""Intervals of the means of many samples, with infinitely many resamples: each as if it were alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.stats.ideal.grids import grid_ends, lattice_ends, lattice_lengths
from ranklens.stats.ideal.levels import Levels
from ranklens.stats.ideal.listed import LISTED, listed_ends
from ranklens.stats.ideal.nodes import n_nodes
from ranklens.stats.ideal.ordered import OrderedRows, multiples_of_steps
from ranklens.stats.ideal.smooth import LEAST_TAIL, smooth_ends
from ranklens.stats.moments import ROUNDING
from ranklens.stats.rows.jobs import Job

Floats = NDArray[np.float64]

_LONGEST_LATTICE = 1 << 14


def mean_intervals(
    samples: Floats, kind: str, tail: float, eps: float, backend: Backend
) -> Job[tuple[Floats, Floats]]:
    """Return both ends of the intervals of means, shape (rows,).

    How a sample's law is computed depends on that sample alone, and so does every sum and its rounding: a row
    has the same interval in every batch, on the host to the last bit. Up to 8 differences all resamples are
    listed. On a lattice that is not too fine the law is exact. Elsewhere the characteristic function is
    inverted where it vanishes, and what is left lies on a grid of a thousandth of a standard error.

    Parameters
    ----------
    samples : numpy.ndarray of float64, shape (rows, n)
        Finite; n at least 1, and at least 2 for another kind than "percentile".
    kind : {"percentile", "expanded", "bca"}
    tail : float
        The probability beyond each end.
    eps : float
        The spacing of the type in which the samples were computed.
    backend : Backend
        Where characteristic functions are computed; they come to the host in one transfer.
    """
    lowest, highest = samples.min(axis=1), samples.max(axis=1)
    low = lowest / 2.0 + highest / 2.0 + 0.0
    high = low.copy()
    rows = np.flatnonzero(highest - lowest > ROUNDING * np.maximum(-lowest, highest))
    ordered = OrderedRows.of(samples[rows])
    ends = yield from _ordered_ends(
        samples[rows], ordered, Levels.of(kind, tail, samples.shape[1]), eps, backend
    )
    low[rows], high[rows] = ordered.interval(*ends)
    if tail <= 0.5:
        high = np.maximum(low, high)
    return low, high


def _ordered_ends(
    samples: Floats, ordered: OrderedRows, levels: Levels, eps: float, backend: Backend
) -> Job[tuple[Floats, Floats]]:
    values = ordered.values
    rows, n = values.shape
    if n <= LISTED or not rows:
        yield ()
        return listed_ends(values, levels) if rows else (np.zeros(0), np.zeros(0))
    on_lattice, multiples = multiples_of_steps(samples, ordered, eps)
    lengths = np.zeros(rows, dtype=np.int64)
    if on_lattice.any():
        found = lattice_lengths(multiples)
        lengths[on_lattice] = np.where(found <= _LONGEST_LATTICE, found, 0)
    others = np.flatnonzero(lengths == 0)
    nodes = np.zeros(rows, dtype=np.int64)
    if others.size and LEAST_TAIL <= levels.tail <= 1.0 - LEAST_TAIL:
        nodes[others] = n_nodes(values[others])
    smooth = np.flatnonzero(nodes)
    ends = np.full((2, rows), math.nan)
    ends[:, smooth] = yield from smooth_ends(values[smooth], nodes[smooth], levels, backend)
    for length in sorted({*lengths.tolist()} - {0}):
        chosen = np.flatnonzero(lengths == length)
        own = multiples[lengths[on_lattice] == length]
        ends[:, chosen] = lattice_ends(values[chosen], own, length, levels)
    rough = np.flatnonzero(np.isnan(ends).any(axis=0))
    if rough.size:
        ends[:, rough] = grid_ends(values[rough], levels)
    return ends[0], ends[1]
