"""Choosing among the largest differences, one after the other, while the choice can still decide."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.exact.tail import FlipTail

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_EXACT_INTEGERS = 2.0**53
_MOST_WAYS = 1e300


class Prefixes(NamedTuple):
    """The choices among the largest magnitudes of a tail that the rest of them has yet to decide about.

    Attributes
    ----------
    room : numpy.ndarray of int64, shape (width,)
        How much of the rest may still be flipped; at least 0 and less than all of it.
    ways : numpy.ndarray of float64, shape (width,)
        How many choices leave that room.
    rest : numpy.ndarray of int64, shape (n_rest,)
        The smaller magnitudes, ascending.
    counted : int
        The subsets of all magnitudes that are known to fit.
    exact : bool
        Whether no count has been rounded.
    """

    room: Counts
    ways: Floats
    rest: Counts
    counted: int
    exact: bool

    @property
    def bits(self) -> float:
        """The binary logarithm of the number of undecided subsets, equal rooms counted once."""
        return math.log2(len(self.room)) + len(self.rest) if len(self.room) else 0.0


def growing_prefixes(tail: FlipTail, widest: int) -> Iterator[Prefixes]:
    """Yield the undecided choices after each group of equal magnitudes, from the largest on.

    A choice is decided once everything that is left fits, or nothing more would. It stops where there are
    more than `widest` different ones, or where all are decided. Of magnitudes of very different sizes few
    choices stay open, so that the subsets of hundreds are counted.
    """
    values, times = tail.groups
    merging = tail.lattice or len(values) < tail.n
    now = Prefixes(np.array([tail.limit]), np.ones(1), tail.magnitudes, 0, True)
    yield now
    for value, repeats in zip(values[::-1].tolist(), times[::-1].tolist(), strict=True):
        rest = now.rest[: len(now.rest) - repeats]
        choices = min(repeats, int(now.room.max()) // value) + 1
        if choices * len(now.room) > 4 * widest:
            return
        chosen = np.arange(choices)
        binomials = np.array([float(math.comb(repeats, k)) for k in range(choices)])
        room = (now.room[:, None] - value * chosen).ravel()
        with np.errstate(over="ignore"):
            ways = (now.ways[:, None] * binomials).ravel()
        if merging:
            room, ways = _merged(room, ways)
        if not ways.max() < _MOST_WAYS:
            return
        total = int(rest.sum())
        decided, open_ones = room >= total, (room >= 0) & (room < total)
        counted = now.counted + (sum(map(int, ways[decided].tolist())) << len(rest))
        exact = now.exact and bool(ways.max() < _EXACT_INTEGERS)
        now = Prefixes(room[open_ones], ways[open_ones], rest, counted, exact)
        if len(now.room) > widest:
            return
        yield now
        if not len(now.room):
            return


def _merged(room: Counts, ways: Floats) -> tuple[Counts, Floats]:
    order = np.argsort(room, kind="stable")
    room, ways = room[order], ways[order]
    first = np.flatnonzero(np.concatenate([[True], room[1:] != room[:-1]]))
    return room[first], np.add.reduceat(ways, first)
