"""At how many nodes a characteristic function has to be known, for the law to be had from it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut, rows_within
from ranklens.stats.ideal.convolution import draw_masses
from ranklens.stats.ideal.grids import grid_steps
from ranklens.stats.ideal.levels import REACH

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

STEP = math.pi / 6.0
"""Between nodes: a law is seen within 12 standard errors of a place."""

NODES = (16, 32)

MOST_INVERTED = 800
"""Of more values the law is found faster on a grid."""

_GONE = 1e-12, 1e-4
_FAR, _GONE_FAR, _MANY = 2, 1e-8, 65
_COARSEST, _FINENESS = 1 << 10, 140.0
_FLOAT_BYTES, _COPIES, _AT_ONCE = 8, 10, 1 << 15


def n_nodes(values: Floats) -> Counts:
    """Return how many nodes the inversion of each sample (rows, n) takes; 0 where no number serves.

    The characteristic function of the sum is looked at on a coarse grid, far beyond the last node: it must
    have vanished there, and must not come back, as it does where values gather around multiples of a step.
    """
    found = np.zeros(len(values), dtype=np.int64)
    n = values.shape[1]
    if n > MOST_INVERTED:
        return found
    length = _grid_length(n)
    most = max(1, _AT_ONCE // length)
    for part in cut(range(len(values)), rows_within(_COPIES * _FLOAT_BYTES * length, most, share=0.25)):
        some = slice(part.start, part.stop)
        found[some] = _n_nodes(values[some], length)
    return found


def nodes_until(values: Floats, counts: tuple[int, ...], modulus: float) -> Counts:
    """Return the smallest of ascending `counts` of nodes beyond which the characteristic function of each sum
    stays below `modulus`; 0 where none is enough."""
    found = np.zeros(len(values), dtype=np.int64)
    length = _grid_length(values.shape[1])
    most = max(1, _AT_ONCE // length)
    for part in cut(range(len(values)), rows_within(_COPIES * _FLOAT_BYTES * length, most, share=0.25)):
        vanishes = _vanishing(values[part.start : part.stop], length)
        own = found[part.start : part.stop]
        for count in reversed(counts):
            own[vanishes(count, modulus)] = count
    return found


def _n_nodes(values: Floats, length: int) -> Counts:
    n, vanishes = values.shape[1], _vanishing(values, length)
    few, many = (vanishes(*least) for least in zip(NODES, _GONE, strict=True))
    if n >= _MANY:
        # Rounding many values dampens what comes back. Of a smooth law it is far less still.
        many &= vanishes(_FAR * NODES[1], _GONE_FAR)
    return np.where(many, np.where(few, *NODES), 0)


def _grid_length(n: int) -> int:
    return max(_COARSEST, 1 << math.ceil(math.log2(_FINENESS * math.sqrt(n))))


def _vanishing(values: Floats, length: int) -> Callable[[int, float], NDArray[np.bool_]]:
    """Return what says for each row whether its function stays below a modulus beyond so many nodes."""
    n = values.shape[1]
    steps, _ = grid_steps(values, length)
    spectrum = np.fft.rfft(draw_masses(steps, length))
    squares = spectrum.real**2 + spectrum.imag**2

    def vanishes(nodes: int, modulus: float) -> NDArray[np.bool_]:
        last = math.floor(nodes * STEP * REACH / math.pi)
        return np.asarray(squares[:, last:].max(axis=1) < modulus ** (2.0 / n))

    return vanishes
