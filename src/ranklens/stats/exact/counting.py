"""Counting on a lattice: all sums at once in one long integer, or integer by integer in many columns."""

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
_LONGEST_INTEGER = 1 << 13
"""The bits up to which one integer that holds all counts is faster than columns, even beside other rows."""
_COPIES, _FLOAT_BYTES = 4, 8


def count_on_lattice(found: Masses, tails: FlipTails, chosen: Counts) -> None:
    """Count the subsets of some rows on a lattice: the shortest in integers, more of them together.

    On the host: a compiler on a device would meet a new shape for every distinct difference.
    """
    in_one = (tails.n[chosen] + 1) * (tails.limit[chosen] + 1) <= _LONGEST_INTEGER
    for place in chosen[in_one].tolist():
        found.put_one(place, integer_count(tails.row(place)))
    chosen = chosen[~in_one]
    if not chosen.size:
        return
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


def integer_count(tail: FlipTail) -> Mass:
    """Count in one long integer whose digits are the numbers of subsets by sum, up to the limit.

    To choose a value or not adds the number to itself, shifted by as many digits.
    """
    bits = tail.n + 1
    kept = (1 << bits * (tail.limit + 1)) - 1
    digits = 1
    for value in tail.magnitudes.tolist():
        digits = (digits + (digits << bits * value)) & kept
    # A number is congruent to the sum of its digits modulo the base less one, which no count reaches.
    return counted_mass(float(digits % ((1 << bits) - 1)), tail.n, 1, STEP)


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
