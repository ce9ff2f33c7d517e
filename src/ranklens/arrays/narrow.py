"""Rows in float32, whose products take half the time, and what their rounding can do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays.budget import cut, rows_within

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

MOST_NARROW = 1024
"""With more queries the rounding of float32 leaves too many sums to make again."""

NARROW_EPS = 2.0**-23
"""Twice the relative size of a rounding to float32."""

_ROUNDED_BYTES = 9
_WIDEST = 1000


class Narrow(NamedTuple):
    """Rows (rows, n) times 2^-exponent in float32, the largest of each at most 1 in size.

    `reach` (rows,) bounds the size of sums of n values of a row of whole numbers; infinite of other rows.
    """

    values: NDArray[np.float32]
    exponent: Counts
    reach: Floats

    @classmethod
    def of(cls, values: Floats) -> Narrow:
        """Scale and round the rows."""
        exponent = np.clip(np.frexp(_largest(values))[1], -_WIDEST, _WIDEST).astype(np.int64)
        # A product with a power of two is exact, and faster than shifting exponents.
        narrow = values * np.ldexp(1.0, -exponent)[:, None]
        return cls(narrow.astype(np.float32), exponent, reach_of(values))


def reach_of(values: Floats) -> Floats:
    """Return n times the largest value in size of each row of whole numbers, infinity of other rows."""
    rows, n = values.shape
    whole = np.empty(rows, dtype=bool)
    for part in cut(range(rows), rows_within(_ROUNDED_BYTES * n, rows, share=0.125)):
        some = values[part.start : part.stop]
        whole[part.start : part.stop] = np.all(np.rint(some) == some, axis=1)
    return np.where(whole, _largest(values) * n, np.inf)


def _largest(values: Floats) -> Floats:
    return np.asarray(np.maximum(values.max(axis=1), -values.min(axis=1)))
