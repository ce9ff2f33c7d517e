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

_SHIFTS = (0.0, 0.5)


def clustered_atoms(magnitudes: Counts, n: Counts, tolerance: Floats) -> Floats:
    """Estimate the chance of the most frequent sum of each row, as if values within a tolerance were equal.

    Values of one cell, twice the tolerance wide, count as equal; of two grids, half a cell apart, that counts
    which gives the larger chance, so that no edge of a cell hides a cluster.

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
    places = magnitudes / (2.0 * tolerance[:, None])
    grids = (_log_chances(np.floor(places + shift), n) for shift in _SHIFTS)
    return np.asarray(np.exp(np.maximum(*grids)))


def clustered_chance(steps: Floats, noise: Floats, tolerance: float) -> float:
    """Estimate the chance of the most frequent noise of signed values, given what their steps add up to.

    Parameters
    ----------
    steps, noise : numpy.ndarray of float64, shape (n,)
        Values of one step whose noise lies within the tolerance count as equal.
    tolerance : float
    """
    logs = []
    for shift in _SHIFTS:
        cells = np.floor(noise / (2.0 * tolerance) + shift)
        _, times = np.unique(np.stack([steps, cells]), axis=1, return_counts=True)
        logs.append(float(np.sum(_LOG_PEAKS[np.minimum(times, _MOST_TIMES - 1)])))
    return math.exp(max(logs))


def _log_chances(cells: Floats, n: Counts) -> Floats:
    """Return the logarithm of the chance of the most frequent sum, of rows whose values are their cells."""
    rows, width = cells.shape
    begins = np.diff(cells, axis=1, prepend=-1.0) != 0.0
    begins[:, 0] = True
    first = width - n
    begins[np.arange(rows), np.minimum(first, width - 1)] = True
    places = np.flatnonzero(begins)
    times = np.minimum(np.diff(places, append=rows * width), _MOST_TIMES - 1)
    row, column = np.divmod(places, width)
    counted = column >= first[row]
    return np.asarray(
        np.bincount(row[counted], weights=_LOG_PEAKS[times[counted]], minlength=rows), dtype=np.float64
    )
