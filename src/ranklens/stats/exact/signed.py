"""Rows of differences as integers that depend on the row alone, not on its order, sign, scale or company."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.kernels.exact_folds import row_sums
from ranklens.kernels.ties import BAND
from ranklens.stats.exact.atoms import largest_atoms
from ranklens.stats.exact.differences import DifferenceRows, times_power_of_two
from ranklens.stats.exact.steps import multiples_of_steps
from ranklens.stats.moments import ROUNDING

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]

MOSTLY_DISTINCT = 0.75
"""The share of different values from which on a row counts as one that hardly repeats any."""

_FIXED_POINT_BITS, _COARSE_BITS = 61, 26


@dataclass(frozen=True, eq=False)
class SignedRows:
    """Differences as integers of a common step, zeros dropped.

    Attributes
    ----------
    magnitudes : numpy.ndarray of int64, shape (rows, width)
        Their absolute values, ascending; zeros fill a row up to the common width.
    n : numpy.ndarray of int64, shape (rows,)
        How many of them are not zero.
    total : numpy.ndarray of int64, shape (rows,)
        Their sums.
    observed : numpy.ndarray of int64, shape (rows,)
        The sums of the signed differences.
    band : numpy.ndarray of int64, shape (rows,)
        Sums that differ by this much tie; 0 where the integers are exact.
    lattice : numpy.ndarray of bool, shape (rows,)
        Whether the integers are the differences themselves and share no divisor. Otherwise they are rounded
        to the 61st binary digit of Σ|d|.
    atom : numpy.ndarray of float64, shape (rows,)
        A bound of the chance of any single sum; see `largest_atoms`.
    unit : numpy.ndarray of float64, shape (rows,)
        What the integers are multiplied by to bring the largest difference into [512, 1024), off a lattice.
    """

    magnitudes: Counts
    n: Counts
    total: Counts
    observed: Counts
    band: Counts
    lattice: Rows
    atom: Floats
    unit: Floats

    @classmethod
    def of(cls, values: Floats, eps: float) -> SignedRows:
        """Turn rows of differences (rows, width) into integers, exactly where they lie on a lattice.

        At least one difference of each row is not zero; `eps` is the rounding unit of their type.
        """
        rows = DifferenceRows(values, eps)
        lattice, signed = multiples_of_steps(rows)
        on, off = np.flatnonzero(lattice), np.flatnonzero(~lattice)
        band, atom, unit = np.zeros(len(values), dtype=np.int64), np.ones(len(values)), np.ones(len(values))
        if on.size:
            signed[on] //= np.gcd.reduce(signed[on], axis=1)[:, None]
        if off.size == len(values):
            signed, unit = _fixed_point(rows)
        elif off.size:
            signed[off], unit[off] = _fixed_point(rows.take(off))
        magnitudes = np.abs(signed)
        magnitudes.sort(axis=1)
        n, total = values.shape[1] - np.argmax(magnitudes > 0, axis=1), magnitudes.sum(axis=1)
        if off.size:
            atom[off] = largest_atoms(rows.take(off).rescaled, n[off], eps)
            band[off] = np.ceil(BAND * eps * total[off])
        return cls(magnitudes, n, total, signed.sum(axis=1), band, lattice, atom, unit)

    @functools.cached_property
    def repeats(self) -> Rows:
        """Whether many values of a row are equal, so that the characteristic function keeps coming back."""
        magnitudes = self.magnitudes
        slack = np.ceil(ROUNDING * magnitudes[:, -1:]).astype(np.int64) * ~self.lattice[:, None]
        parted = magnitudes[:, 1:] - magnitudes[:, :-1] > slack
        n_distinct = np.add.reduce(parted, axis=1) + (magnitudes[:, 0] > 0)
        return np.asarray(n_distinct < MOSTLY_DISTINCT * self.n)

    @functools.cached_property
    def spread(self) -> Floats:
        """The standard deviation of each sum under fair signs, shape (rows,)."""
        magnitudes = self.magnitudes.astype(np.float64)
        return np.asarray(np.sqrt(row_sums(magnitudes * magnitudes)))

    def take(self, places: Counts) -> SignedRows:
        """Return some of the rows."""
        if np.array_equal(places, np.arange(len(self.n))):
            return self
        return SignedRows(
            self.magnitudes[places],
            self.n[places],
            self.total[places],
            self.observed[places],
            self.band[places],
            self.lattice[places],
            self.atom[places],
            self.unit[places],
        )


def by_width(values: Floats) -> Iterator[tuple[Counts, Floats]]:
    """Yield rows that take the same width without their zeros, as their places and packed (rows, width).

    The widths are few, so that many rows are computed at once, and that of a row depends on the row alone.
    Rows of zeros are left out.
    """
    n = np.add.reduce(values != 0.0, axis=1)
    width = _padded_widths(values.shape[1])[n]
    for common in sorted({*width.tolist()} - {0}):
        places = np.flatnonzero(width == common)
        own = values if len(places) == len(values) else values[places]
        yield places, _packed(own, n[places], common)


def padded_width(n: Counts) -> Counts:
    """Round up to 4, 5, 6 or 7 times a power of two; up to 4 to 4.

    Examples
    --------
    >>> padded_width(np.array([1, 9, 53, 7000])).tolist()
    [4, 10, 56, 7168]
    """
    power = np.maximum(np.frexp(np.maximum(n - 1, 1).astype(np.float64))[1] - 3, 0)
    return np.asarray(np.maximum(-(-n >> power), 4) << power)


@functools.lru_cache(maxsize=64)
def _padded_widths(most: int) -> Counts:
    """Return the width of every number of differences up to `most`; 0 for none."""
    widths = padded_width(np.arange(most + 1))
    widths[0] = 0
    return widths


def _packed(values: Floats, n: Counts, width: int) -> Floats:
    fewest = int(n.min())
    if values.shape[1] == width == fewest:
        return values
    packed = np.zeros((len(values), width))
    if fewest == values.shape[1]:
        packed[:, :fewest] = values
        return packed
    packed[np.arange(width) < n[:, None]] = values[values != 0.0]
    return packed


def _fixed_point(rows: DifferenceRows) -> tuple[Counts, Floats]:
    """Round to the 61st binary digit of Σ|d|, and return what brings the largest into [512, 1024) again."""
    coarse = times_power_of_two(rows.magnitudes, rows.doublings + _COARSE_BITS)
    # A sum of integers is the same in any order.
    total = np.rint(coarse).astype(np.int64).sum(axis=1)
    bits = _FIXED_POINT_BITS + _COARSE_BITS - np.frexp(total.astype(np.float64))[1]
    return np.rint(times_power_of_two(rows.rescaled, bits)).astype(np.int64), np.ldexp(1.0, -bits)
