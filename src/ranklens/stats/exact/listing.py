"""Counting the few subsets of absolute differences that fit on the losing side, row after row."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays.threads import for_each, n_cores
from ranklens.kernels.exact_folds import folded_sum
from ranklens.kernels.exact_subsets import count_pairs, count_weighted
from ranklens.stats.exact.counting import counted_mass
from ranklens.stats.exact.signed import Counts
from ranklens.stats.exact.tail import FlipTail, FlipTails, Mass, Masses

Floats = NDArray[np.float64]

STEP = "subset count"

SHORT_BITS, LONG_BITS = 17.0, 20.5
"""The binary logarithm of how many sums of either half are listed at once, and where little else serves."""

MOST_TOSSED = 900
"""The most values whose numbers of subsets stay within the floats."""

_WORTH_A_THREAD = 14.0
"""In bits as well: on shorter lists threads wait for each other."""

_FEWEST_MERGED, _MANY_NEEDLES = 128, 1 << 12
_CHOICES_AT_ONCE = ((64, 64), (1024, 16), (8192, 4), (math.inf, 1))
"""Up to how many sums so many choices among values are added at once."""


def list_bits(tails: FlipTails) -> Floats:
    """Estimate the binary logarithm of how many sums of one half fit, as if they followed a normal law."""
    values = tails.sums.magnitudes
    width = values.shape[1]
    begins = np.diff(values, axis=1, prepend=0) != 0
    place = np.where(begins, np.arange(width), width)
    following = np.minimum.accumulate(place[:, ::-1], axis=1)[:, ::-1]
    times = np.append(following[:, 1:], np.full((len(values), 1), width), axis=1) - place
    fitting = np.minimum(times, np.maximum(tails.limit, 0)[:, None] // np.maximum(values, 1))
    choices = np.where(begins, 1.0 + fitting, 1.0)
    bits = 0.5 * _sums(np.log2(choices))
    own = values.astype(np.float64)
    spread = np.sqrt(_sums(own * own) / 8.0)
    distance = np.maximum(0.25 * values.sum(axis=1) - tails.limit, 0.0) / spread
    return np.asarray(np.maximum(0.0, bits - math.log2(math.e) * 0.5 * distance * distance))


def count_listed(found: Masses, tails: FlipTails, chosen: Counts, bits: float) -> None:
    """Count the subsets of some rows, where neither half has more than 2^(bits + 1) sums that fit."""
    most = int(2.0 ** (bits + 1.0))

    def count(place: int) -> None:
        mass = subset_count(tails.row(place), most)
        if mass is not None:
            found.put_one(place, mass)

    if chosen.size:
        long = list_bits(tails.take(chosen)) >= _WORTH_A_THREAD
        for_each(count, chosen[~long].tolist(), n_threads=1)
        for_each(count, chosen[long].tolist(), n_threads=n_cores())


def subset_count(tail: FlipTail, max_sums: int) -> Mass | None:
    """Count the subsets that fit below the limit, if there are few; None when either half has too many.

    Sums past the limit are dropped as soon as they appear. Equal values enter once, with the numbers of
    choices among them, and equal sums on a lattice are merged.
    """
    if tail.n > MOST_TOSSED:
        return None
    values, times = tail.groups
    fitting = values <= tail.limit
    values, times = values[fitting][::-1], times[fitting][::-1]
    weighted = tail.lattice or 5 * len(values) < 4 * int(times.sum())
    if not weighted:
        values, times = np.repeat(values, times), np.ones(int(times.sum()), dtype=np.int64)
    first, second = (_Half(tail, weighted, max_sums) for _ in range(2))
    left, choices = 0, (times + 1).tolist()
    while left < len(choices):
        half = first if first.size <= second.size else second
        right = left + _n_at_once(half.size, choices, left)
        if not half.grow(values[left:right], tuple(choices[left:right])):
            return None
        left = right
    return first.met(second)


def _n_at_once(size: int, choices: list[int], left: int) -> int:
    """Return how many of the values from `left` on are worth taking at once: some, while the sums are few."""
    most = next(most for longest, most in _CHOICES_AT_ONCE if size <= longest)
    product, chosen = choices[left], 1
    for more in choices[left + 1 :]:
        product *= more
        if product > most:
            break
        chosen += 1
    return chosen


class _Half:
    """The sums of subsets of one half of the values that fit, and how many subsets have each."""

    def __init__(self, tail: FlipTail, weighted: bool, max_sums: int) -> None:
        self.limit, self.n, self.lattice, self.max_sums = tail.limit, tail.n, tail.lattice, max_sums
        self.sums, self.size, self.merge_beyond = np.zeros(1, dtype=np.int64), 1, 4 * _FEWEST_MERGED
        self.ways = np.ones(1) if weighted else None

    def grow(self, values: Counts, choices: tuple[int, ...]) -> bool:
        """Make one of so many choices of each value; False where that makes too many sums."""
        coefficients, ways = _choices(choices)
        if len(ways) * self.size > 4 * self.max_sums:
            return False
        if choices == (2,):
            fits = np.flatnonzero(self.sums <= self.limit - values[0])
            self.sums = np.concatenate([self.sums, self.sums.take(fits) + values[0]])
            self.ways = None if self.ways is None else np.concatenate([self.ways, self.ways.take(fits)])
        else:
            sums = np.add.outer(self.sums, coefficients @ values).ravel()
            fits = np.flatnonzero(sums <= self.limit)
            self.sums = sums.take(fits)
            self.ways = None if self.ways is None else np.multiply.outer(self.ways, ways).ravel().take(fits)
        self.size = len(self.sums)
        if self.lattice and self.size > self.merge_beyond:
            self._merge()
        return self.size <= self.max_sums

    def met(self, other: _Half) -> Mass:
        """Count the pairs of subsets that fit together."""
        if self.ways is None or other.ways is None:
            return counted_mass(float(self._n_pairs(other)), self.n, 0, STEP)
        self._sort()
        if other.size > _MANY_NEEDLES:
            other._sort()
        count = float(count_weighted(self.sums, self.ways, other.sums, other.ways, self.limit))
        return counted_mass(count, self.n, self.size + other.size, STEP)

    def _n_pairs(self, other: _Half) -> int:
        if other.size > _MANY_NEEDLES:
            return int(count_pairs(self.sums, other.sums, np.asarray(self.limit)))
        fitting = np.searchsorted(np.sort(self.sums), self.limit - other.sums, side="right")
        return int(fitting.sum())

    def _sort(self) -> None:
        order = np.argsort(self.sums)
        self.sums = self.sums[order]
        self.ways = None if self.ways is None else self.ways[order]

    def _merge(self) -> None:
        self._sort()
        first = np.flatnonzero(np.concatenate([[True], self.sums[1:] != self.sums[:-1]]))
        self.sums = self.sums[first]
        self.ways = None if self.ways is None else np.add.reduceat(self.ways, first)
        self.size = len(self.sums)
        self.merge_beyond = 4 * max(self.size, _FEWEST_MERGED)


@functools.lru_cache(maxsize=4096)
def _choices(choices: tuple[int, ...]) -> tuple[Counts, Floats]:
    """Return all combinations of so many choices of each value, and how often each occurs."""
    coefficients = np.indices(choices).reshape(len(choices), -1).T
    ways = functools.reduce(
        np.multiply.outer, [np.array([float(math.comb(n - 1, k)) for k in range(n)]) for n in choices]
    )
    return np.ascontiguousarray(coefficients), ways.ravel()


def _sums(terms: Floats) -> Floats:
    return np.asarray(folded_sum(np.ascontiguousarray(terms.T)))
