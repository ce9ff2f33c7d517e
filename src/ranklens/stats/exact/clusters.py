"""How much chance a sum may have that nearly equal values give in many ways."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_MOST_TIMES = 4096
_LOG_FACTORIALS = np.array([math.lgamma(times + 1.0) for times in range(_MOST_TIMES)])
_TIMES = np.arange(_MOST_TIMES)
_LOG_PEAKS = (
    _LOG_FACTORIALS
    - _LOG_FACTORIALS[_TIMES // 2]
    - _LOG_FACTORIALS[_TIMES - _TIMES // 2]
    - _TIMES * math.log(2.0)
)


def clustered_atoms(magnitudes: Counts, n: Counts, tolerance: Floats) -> Floats:
    """Estimate the chance of the most frequent sum of each row, as if values within a tolerance were equal.

    Parameters
    ----------
    magnitudes : numpy.ndarray of int64, shape (rows, width)
        Ascending; zeros before the `n` of each row.
    n : numpy.ndarray of int64, shape (rows,)
    tolerance : numpy.ndarray of float64, shape (rows,)
        In the unit of the magnitudes: what an inversion tells apart.

    Returns
    -------
    numpy.ndarray of float64, shape (rows,)
    """
    rows, width = magnitudes.shape
    begins = np.diff(magnitudes, axis=1, prepend=np.int64(-1)) > tolerance[:, None]
    begins[:, 0] = True
    first = width - n
    begins[np.arange(rows), np.minimum(first, width - 1)] = True
    places = np.flatnonzero(begins)
    times = np.minimum(np.diff(places, append=rows * width), _MOST_TIMES - 1)
    row, column = np.divmod(places, width)
    counted = column >= first[row]
    logs = np.bincount(row[counted], weights=_LOG_PEAKS[times[counted]], minlength=rows)
    return np.asarray(np.exp(logs))
