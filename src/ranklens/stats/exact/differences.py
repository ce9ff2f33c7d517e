"""Rows of differences, and what more than one look at them needs."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.rows.lattices import rounding_units

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_LARGEST_EXPONENT = 10
_SAFE_EXPONENT = 1000


@dataclass(frozen=True, eq=False)
class DifferenceRows:
    """Rows of differences, each with one that is not zero; what follows from them is computed once.

    Attributes
    ----------
    values : numpy.ndarray of float64, shape (rows, n)
    eps : float
        The rounding unit of the type in which they were computed.
    """

    values: Floats
    eps: float

    @functools.cached_property
    def magnitudes(self) -> Floats:
        """The absolute values, shape (rows, n)."""
        return np.abs(self.values)

    @functools.cached_property
    def largest(self) -> Floats:
        """The largest absolute value of each row, shape (rows,)."""
        return np.asarray(self.magnitudes.max(axis=1))

    @functools.cached_property
    def units(self) -> Floats:
        """The rounding unit of each row, shape (rows,)."""
        return rounding_units(self.values, self.eps)

    @functools.cached_property
    def doublings(self) -> Counts:
        """How often a row is doubled to bring its largest absolute value into [512, 1024), shape (rows,)."""
        return np.asarray(_LARGEST_EXPONENT - np.frexp(self.largest)[1])

    @functools.cached_property
    def rescaled(self) -> Floats:
        """The rows with the largest absolute value in [512, 1024), shape (rows, n)."""
        return times_power_of_two(self.values, self.doublings)

    def take(self, places: Counts) -> DifferenceRows:
        """Return some of the rows, in ascending order."""
        return self if len(places) == len(self.values) else DifferenceRows(self.values[places], self.eps)


def times_power_of_two(values: Floats, exponents: Counts) -> Floats:
    """Multiply each row (rows, n) by two to the power of its exponent: `ldexp`, but several times faster."""
    if np.abs(exponents).max(initial=0) > _SAFE_EXPONENT:
        return np.asarray(np.ldexp(values, exponents[:, None]))
    return np.asarray(values * np.ldexp(1.0, exponents)[:, None])
