"""What an exact p-value counts: the subsets of absolute differences whose sum is small enough."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.exact.signed import SignedRows

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]


class FlipTails(NamedTuple):
    """P(T ≥ threshold) of each row, for T = Σ ±magnitudes and a positive threshold.

    Attributes
    ----------
    sums : SignedRows
    strict : numpy.ndarray of bool, shape (rows,)
        Which rows ask for sums beyond the observed one and its ties; the complement of a one-sided p does.
    limit : numpy.ndarray of int64, shape (rows,)
        The largest sum of flipped magnitudes that belongs to the tail; negative when nothing does.
    begin : numpy.ndarray of int64, shape (rows,)
        Where the tail begins: on a lattice the smallest of its sums.
    """

    sums: SignedRows
    strict: Rows
    limit: Counts
    begin: Counts

    @classmethod
    def of(cls, sums: SignedRows, strict: Rows, towards: Counts | None = None) -> FlipTails:
        """Find out where the tails begin.

        `towards` (rows,) are the observed sums towards the side that is asked for, of either sign, or their
        absolute values. A strict tail is that of the other side, beyond the ties of the observed sum there.
        """
        observed = np.abs(sums.observed) if towards is None else np.where(strict, -towards, towards)
        room = np.where(strict, -sums.band - 1, sums.band)
        limit = (sums.total - observed + room) // 2
        return cls(sums, strict, limit, np.abs(observed) + 2 * (strict & sums.lattice))

    @property
    def n(self) -> Counts:
        """The number of signs of each row."""
        return self.sums.n

    def take(self, places: Counts) -> FlipTails:
        """Return some of the rows."""
        return FlipTails(self.sums.take(places), self.strict[places], self.limit[places], self.begin[places])

    def row(self, i: int) -> FlipTail:
        """Return one row by itself."""
        own = self.sums
        magnitudes = own.magnitudes[i, own.magnitudes.shape[1] - int(own.n[i]) :]
        limit, begin, unit = int(self.limit[i]), int(self.begin[i]), float(own.unit[i])
        return FlipTail(magnitudes, limit, begin, bool(own.lattice[i]), unit)


@dataclass(frozen=True)
class FlipTail:
    """The tail of one row.

    `magnitudes` (n,) are positive and ascending; see `FlipTails` for `limit` and `begin`, and
    `SignedRows` for `unit`.
    """

    magnitudes: Counts
    limit: int
    begin: int
    lattice: bool
    unit: float = 1.0

    @property
    def n(self) -> int:
        """The number of signs."""
        return int(self.magnitudes.shape[0])

    @property
    def total(self) -> int:
        """The largest sum."""
        return int(self.magnitudes.sum())

    @functools.cached_property
    def groups(self) -> tuple[Counts, Counts]:
        """The distinct magnitudes, ascending, and how often each occurs."""
        parted = np.flatnonzero(self.magnitudes[1:] != self.magnitudes[:-1]) + 1
        ends = np.append(parted, self.n)
        return self.magnitudes[ends - 1], ends - np.append(0, parted)

    @functools.cached_property
    def spread(self) -> float:
        """The standard deviation of T."""
        magnitudes = self.magnitudes.astype(np.float64)
        return math.sqrt(float(np.sum(magnitudes * magnitudes)))


class Mass(NamedTuple):
    """A probability ``ways / 2^exponent``, which may lie far below the smallest float.

    `error` bounds what `ways` may be off by.
    """

    ways: float
    exponent: int
    error: float
    step: str


class Masses:
    """The masses of the tails of rows: columns that the steps fill in; NaN where none has yet.

    `ways`, `exponent`, `error` and `step`, each of shape (rows,), are those of `Mass`.
    """

    def __init__(self, rows: int) -> None:
        self.ways = np.full(rows, math.nan)
        self.exponent = np.zeros(rows, dtype=np.int64)
        self.error = np.zeros(rows)
        self.step = np.full(rows, "", dtype=object)

    @property
    def missing(self) -> Rows:
        """Which rows have no mass yet."""
        return np.asarray(np.isnan(self.ways))

    def put(
        self, places: Counts | Rows, ways: Floats | float, exponent: Counts, error: Floats | float, step: str
    ) -> None:
        """Fill in some rows."""
        self.ways[places], self.exponent[places] = ways, exponent
        self.error[places], self.step[places] = error, step

    def put_one(self, place: int, mass: Mass) -> None:
        """Fill in one row."""
        self.ways[place], self.exponent[place], self.error[place], self.step[place] = mass

    def relative_error(self, place: int) -> float:
        """Return the error of one row in parts of its mass."""
        return float(self.error[place] / self.ways[place])
