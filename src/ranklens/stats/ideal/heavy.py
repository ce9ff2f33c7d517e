"""The law of a mean of draws when a few units outweigh the others: given how often each of these is drawn."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.ideal.light import LightSums
from ranklens.stats.moments import ROUNDING

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_LARGEST_SHARE = 0.3
"""A unit with more than this share of the size of those at most as large is heavy."""

_MOST_WAYS, _MOST_DRAWN = 1 << 13, 40
_IMPROBABLE = 1e-12
_GRID = 1 << 13


class Ways(NamedTuple):
    """How often draws contain each of some units, (ways, m), and how probable each way is, (ways,).

    `drawn` are the draws that contain any of them, ascending, and the ways with so many.
    """

    counts: Floats
    masses: Floats
    drawn: tuple[tuple[int, slice], ...]


@dataclass(frozen=True, slots=True)
class HeavyUnits:
    """The places of the heavy units among n, (m,), those of the others, (n - m,), and the ways to draw."""

    heavy: Counts
    others: Counts
    ways: Ways

    @classmethod
    def of(cls, sizes: Floats) -> HeavyUnits | None:
        """Find the heavy units of `sizes` (n,), at most as many as have not too many ways; None without any.

        The lightest unit is never one of them.
        """
        order = np.argsort(-sizes, kind="stable")
        up_to = np.cumsum(sizes[order[::-1]])[::-1]
        even = sizes[order[:-1]] <= _LARGEST_SHARE * up_to[:-1]
        most = int(np.argmax(even)) if even.any() else len(even)
        ways = ways_to_draw(len(sizes), most)
        m = ways.counts.shape[1]
        return cls(order[:m], np.sort(order[m:]), ways) if m else None

    def share(self, values: Floats, mean: float, length: int | None = None) -> float:
        """Return the share of smaller means of n draws from values (n,), and half that of equal ones.

        The sums of the light units are rounded to a grid of `length` points, the heavy ones are not.
        """
        wanted = len(values) * mean - self.ways.counts @ values[self.heavy]
        return self._share(values, wanted, length or _GRID)

    def share_at_mean(self, values: Floats) -> float:
        """Return the share of means of n draws below that of values (n,), and half that of equal ones.

        A heavy unit drawn once is in both sums, and its size costs the light ones no digits.
        """
        light = math.fsum(values[self.others].tolist())
        return self._share(values, light - (self.ways.counts - 1.0) @ values[self.heavy], _GRID)

    def _share(self, values: Floats, wanted: Floats, length: int) -> float:
        """Return the share where the light units sum to less than is `wanted` with each way, (ways,)."""
        n, ways = len(values), self.ways
        light = LightSums.of(values[self.others], n, length)
        if light is None:
            below = self._certain(values, wanted)
        else:
            below = np.empty_like(wanted)
            # Powers grow from the fewest light draws to the most.
            for drawn, some in reversed(ways.drawn):
                below[some] = light.share_below(n - drawn, wanted[some])
        return float(ways.masses @ below)

    def error(self, values: Floats, length: int) -> float:
        """Return by how much the mean of draws can differ from that of the rounded values."""
        light = LightSums.of(values[self.others], len(values), length)
        rounding = ROUNDING * float(np.abs(values).max())
        return rounding if light is None else rounding + light.error / len(values)

    def _certain(self, values: Floats, wanted: Floats) -> Floats:
        """Return the shares below sums where the light units have one value, and their draws no spread."""
        one = float(values[self.others[0]])
        draws = len(values) - self.ways.counts.sum(axis=1)
        band = ROUNDING * (self.ways.counts @ np.abs(values[self.heavy]) + draws * abs(one))
        away = wanted - draws * one
        return np.asarray(np.where(np.abs(away) <= band, 0.5, away > 0.0))


@functools.lru_cache(maxsize=16)
def ways_to_draw(n: int, most: int) -> Ways:
    """List how often n draws from n units contain each of the first `most`, or of fewer where too many.

    Improbable ways are left out, and the probabilities are multinomial ones given the others.

    Examples
    --------
    >>> ways = ways_to_draw(2, 1)
    >>> ways.counts.tolist(), ways.masses.tolist()
    ([[0.0], [1.0], [2.0]], [0.25, 0.5, 0.25])
    """
    counts, masses = np.zeros((1, 0), dtype=np.int64), np.ones(1)
    for unit in range(most):
        drawn = counts.sum(axis=1)
        joint = masses[:, None] * _binomials(n, int(drawn.max()), 1.0 / (n - unit))[drawn]
        way, times = np.nonzero(joint > _IMPROBABLE)
        if len(way) > _MOST_WAYS:
            break
        counts, masses = np.column_stack([counts[way], times]), joint[way, times]
    drawn = counts.sum(axis=1)
    order = np.argsort(drawn, kind="stable")
    numbers, starts = np.unique(drawn[order], return_index=True)
    ends = [*starts.tolist()[1:], len(order)]
    parts = zip(numbers.tolist(), map(slice, starts.tolist(), ends), strict=True)
    masses = masses[order] / math.fsum(masses.tolist())
    listed = np.ascontiguousarray(counts[order], dtype=np.float64)
    listed.flags.writeable = masses.flags.writeable = False
    return Ways(listed, masses, tuple(parts))


def _binomials(n: int, most_gone: int, chance: float) -> Floats:
    """Return the probabilities of 0, 1, ... successes in n, n - 1, ... trials, `most_gone` + 1 rows."""
    times = range(min(n, _MOST_DRAWN) + 1)
    return np.array(
        [
            [math.comb(n - gone, k) * chance**k * (1.0 - chance) ** max(n - gone - k, 0) for k in times]
            for gone in range(most_gone + 1)
        ]
    )
