"""Counting on a lattice, integer by integer: no error beyond the last bit."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut, rows_within
from ranklens.kernels.exact_folds import folded_sum
from ranklens.kernels.exact_lattice import subset_counts
from ranklens.stats.exact.signed import padded_width
from ranklens.stats.exact.tail import FlipTail, FlipTails, Mass, Masses

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

STEP = "lattice convolution"

_EXACT_INTEGERS = 2.0**53
_EPS = float(np.finfo(np.float64).eps)
_LONGEST_TOGETHER, _MOST_TOGETHER = 2048, 900
_ROWS_AT_ONCE = 64
_COPIES, _FLOAT_BYTES = 4, 8


def count_on_lattice(found: Masses, tails: FlipTails, chosen: Counts) -> None:
    """Count the subsets of some rows on a lattice: of the short ones together, of the others one by one.

    On the host: a compiler on a device would meet a new shape for every distinct difference.
    """
    short = (tails.limit[chosen] < _LONGEST_TOGETHER) & (tails.n[chosen] <= _MOST_TOGETHER)
    lengths = padded_width(tails.limit[chosen] + 1)
    for length in np.unique(lengths[short]).tolist():
        some = chosen[short & (lengths == length)]
        for part in cut(
            range(len(some)), rows_within(_COPIES * _FLOAT_BYTES * length, _ROWS_AT_ONCE, share=0.25)
        ):
            places = some[part.start : part.stop]
            ways = _counted(tails.sums.magnitudes[places], tails.limit[places], length)
            n = tails.n[places]
            found.put(places, ways, n, np.where(ways < _EXACT_INTEGERS, 0.0, n * _EPS * ways), STEP)
    for place in chosen[~short].tolist():
        found.put_one(place, lattice_convolution(tails.row(place)))


def lattice_convolution(tail: FlipTail) -> Mass:
    """Count by adding one difference after the other to the counts of all sums up to the limit."""
    start = np.zeros(tail.limit + 1)
    start[0] = 1.0
    counts, exponent = subset_counts(start, tail.magnitudes.tolist())
    return counted_mass(float(np.sum(counts)), tail.n - exponent, tail.n, STEP)


def counted_mass(count: float, exponent: int, n_additions: int, step: str) -> Mass:
    """Return a count as a mass, with the rounding of so many additions unless it is a whole number."""
    exact = count < _EXACT_INTEGERS and count == math.floor(count)
    return Mass(count, exponent, 0.0 if exact else n_additions * _EPS * count, step)


def _counted(magnitudes: Counts, limits: Counts, length: int) -> Floats:
    """Count the subsets of each row (rows, width) that sum to at most its limit, which is below `length`.

    Rows take a value at the same time, those that have it, and each row its values in order.
    """
    rows = np.arange(len(magnitudes))
    counts = np.zeros((len(rows), length))
    counts[:, 0] = 1.0
    values, place = np.unique(magnitudes, return_inverse=True)
    repeats = np.zeros((len(rows), len(values)), dtype=np.int64)
    np.add.at(repeats, (rows[:, None], place.reshape(magnitudes.shape)), 1)
    fewest, most = repeats.min(axis=0).tolist(), repeats.max(axis=0).tolist()
    for i, value in enumerate(values.tolist()):
        for time in range(most[i] if 0 < value < length else 0):
            having: slice | Counts = slice(None) if time < fewest[i] else np.flatnonzero(repeats[:, i] > time)
            counts[having, value:] += counts[having, :-value]
    within = np.arange(length) <= limits[:, None]
    return np.asarray(folded_sum((counts * within).T))
