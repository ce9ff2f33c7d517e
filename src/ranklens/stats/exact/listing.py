"""Counting the few subsets of absolute differences that fit on the losing side, row after row."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

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

_MOST_TOSSED = 900
"""The most values whose numbers of subsets stay within the floats."""

_SHORTEST_BUFFER, _SHORTEST_MERGED = 4096, 128


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

    for_each(count, chosen.tolist(), n_threads=n_cores())


def subset_count(tail: FlipTail, max_sums: int) -> Mass | None:
    """Count the subsets that fit below the limit, if there are few; None when either half has too many.

    Sums past the limit are dropped as soon as they appear. Equal values enter once, with the numbers of
    choices among them, and equal sums on a lattice are merged.
    """
    if tail.n > _MOST_TOSSED:
        return None
    values, times = tail.groups
    fitting = values <= tail.limit
    values, times = values[fitting][::-1], times[fitting][::-1]
    repeated = tail.lattice or 5 * len(values) < 4 * int(times.sum())
    if repeated:
        weighted = _WeightedSums(tail, max_sums), _WeightedSums(tail, max_sums)
        if not _grow(weighted, values, times):
            return None
        n_additions = len(weighted[0]) + len(weighted[1])
        return counted_mass(weighted[0].pairs(weighted[1]), tail.n, n_additions, STEP)
    plain = _Sums(tail, max_sums), _Sums(tail, max_sums)
    if not _grow(plain, np.repeat(values, times), np.ones(int(times.sum()), dtype=np.int64)):
        return None
    return counted_mass(float(plain[0].pairs(plain[1])), tail.n, 0, STEP)


def _grow(halves: Sequence[_Sums | _WeightedSums], values: Counts, times: Counts) -> bool:
    """Give each value to the half with fewer sums; False where either has too many."""
    return all(
        min(halves, key=len).grow(value, most)
        for value, most in zip(values.tolist(), times.tolist(), strict=True)
    )


class _Sums:
    """The sums of subsets of different values that fit, in the first places of a buffer."""

    def __init__(self, tail: FlipTail, max_sums: int) -> None:
        self.limit, self.max_sums = tail.limit, max_sums
        self.buffer, self.size = np.zeros(_SHORTEST_BUFFER, dtype=np.int64), 1

    def __len__(self) -> int:
        return self.size

    @property
    def sums(self) -> Counts:
        return self.buffer[: self.size]

    def grow(self, value: int, times: int) -> bool:
        """Add a value to all sums that leave room for it; False where these become too many."""
        fits = self.sums <= self.limit - value
        size = self.size + int(np.count_nonzero(fits))
        if size > self.max_sums:
            return False
        if size > len(self.buffer):
            self.buffer = np.concatenate([self.buffer, np.empty(2 * size, dtype=np.int64)])
        added = self.buffer[self.size : size]
        np.compress(fits, self.sums, out=added)
        added += value
        self.size = size
        return True

    def pairs(self, other: _Sums) -> int:
        """Count the pairs that fit together."""
        return int(count_pairs(self.sums, other.sums, np.asarray(self.limit)))


class _WeightedSums:
    """The sums of subsets that fit, and how many subsets have each."""

    def __init__(self, tail: FlipTail, max_sums: int) -> None:
        self.tail, self.max_sums, self.n_merged = tail, max_sums, _SHORTEST_MERGED
        self.sums, self.ways = np.zeros(1, dtype=np.int64), np.ones(1)

    def __len__(self) -> int:
        return len(self.sums)

    def grow(self, value: int, times: int) -> bool:
        """Choose up to `times` among equal values; False where that makes too many sums, or subsets."""
        limit, ways = self.tail.limit, _binomials(times)
        most = min(times, limit // value)
        if (most + 1) * len(self) > 4 * self.max_sums:
            return False
        if most == 1:
            fits = self.sums <= limit - value
            self.sums = np.concatenate([self.sums, self.sums[fits] + value])
            self.ways = np.concatenate([self.ways, self.ways[fits] * ways[1]])
        else:
            sums = (self.sums[:, None] + value * np.arange(most + 1)).ravel()
            fits = sums <= limit
            self.sums, self.ways = sums[fits], (self.ways[:, None] * ways[: most + 1]).ravel()[fits]
        if self.tail.lattice and len(self) > 4 * self.n_merged:
            self._merge()
        return len(self) <= self.max_sums

    def pairs(self, other: _WeightedSums) -> float:
        """Count the pairs of subsets that fit together."""
        order = np.argsort(self.sums)
        sums, ways = self.sums[order], self.ways[order]
        return float(count_weighted(sums, ways, other.sums, other.ways, self.tail.limit))

    def _merge(self) -> None:
        order = np.argsort(self.sums)
        sums, ways = self.sums[order], self.ways[order]
        first = np.flatnonzero(np.diff(sums, prepend=-1))
        self.sums, self.ways = sums[first], np.add.reduceat(ways, first)
        self.n_merged = max(len(self), _SHORTEST_MERGED)


@functools.lru_cache(maxsize=256)
def _binomials(n: int) -> Floats:
    return np.array([float(math.comb(n, k)) for k in range(n + 1)])


def _sums(terms: Floats) -> Floats:
    return np.asarray(folded_sum(np.ascontiguousarray(terms.T)))
