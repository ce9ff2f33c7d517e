"""Reading the laws of sums: where a share is reached, and what share lies below a sum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


class SumLaws(NamedTuple):
    """The laws of sums, a row each, on the whole numbers from `first` (rows,) on.

    `masses` (rows, blocks, size) are of sums modulo blocks · size, and `passed` (rows, blocks) is what lies
    up to the end of each block, counted from `first`, at which a block begins. So only the block in which a
    level is reached is looked at more closely.
    """

    first: Counts
    masses: Floats
    passed: Floats

    @classmethod
    def of(cls, first: Counts, masses: Floats) -> SumLaws:
        """Return the laws that begin in the block of `first`."""
        _, blocks, size = masses.shape
        first = first // size * size
        order = (first[:, None] // size + np.arange(blocks)) % blocks
        passed = np.cumsum(np.take_along_axis(np.sum(masses, axis=2), order, axis=1), axis=1)
        return cls(first, masses, passed)

    def reached(self, level: Floats) -> tuple[Counts, Floats]:
        """Return the first sum up to which the share is at least `level`, both of shape (rows,).

        And which part of its mass it takes to get there.
        """
        level = level * self.passed[:, -1]
        size = self.masses.shape[2]
        block = _count_below(self.passed, level)
        before, within = self._block(block)
        upto = before[:, None] + np.cumsum(within, axis=1)
        place = _count_below(upto, level)
        mass = _at(within, place)
        missing = level - (_at(upto, place) - mass)
        part = np.divide(missing, mass, out=np.ones_like(mass), where=mass > 0.0)
        return self.first + block * size + place, np.minimum(np.maximum(part, 0.0), 1.0)

    def share_at(self, sums: Counts, part: float | Floats = 0.5) -> Floats:
        """Return the share of smaller sums, and `part` of that of equal ones."""
        block, place = np.divmod(sums - self.first, self.masses.shape[2])
        before, within = self._block(block)
        upto = before + _at(np.cumsum(within, axis=1), place)
        return np.asarray((upto - (1.0 - part) * _at(within, place)) / self.passed[:, -1])

    def _block(self, block: Counts) -> tuple[Floats, Floats]:
        """Return what lies before some block of each row, and the masses in it."""
        rows, blocks, size = self.masses.shape
        within = self.masses[np.arange(rows), (self.first // size + block) % blocks]
        return np.where(block > 0, _at(self.passed, np.maximum(block - 1, 0)), 0.0), within


def _count_below(ascending: Floats, level: Floats) -> Counts:
    """Return how many of each row are below its level, and at most all but one."""
    count = np.count_nonzero(ascending < level[:, None], axis=1)
    return np.asarray(np.minimum(count, ascending.shape[1] - 1))


def _at(values: Floats, place: Counts) -> Floats:
    return np.asarray(values[np.arange(len(values)), place])
