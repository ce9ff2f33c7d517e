"""The exponential tilts of many rows: their rates, and how wide the tilted laws are."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.kernels.exact_folds import folded_sum

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_REACH, _FADED = (8.5, 7.0), (35.0, 26.0)
"""Of short rows, and of long ones, whose nodes stop earlier."""

_LEAST_TILT, MOST_TILT = 0.5, 350.0
_MOST_STEPS, _NEAR_ENOUGH = 40, 2e-2


class Tilts(NamedTuple):
    """The rate of each row's tilt and the standard deviation of the tilted law, shape (rows,).

    Any tilt gives the right tail; one near the saddlepoint gives it with the fewest nodes.
    """

    rate: Floats
    spread: Floats

    @classmethod
    def of(cls, values: Floats, threshold: Floats, times: float = 1.0) -> Tilts:
        """Solve Σ a tanh(t a) = threshold for every row, by Newton's method inside a bracket.

        Parameters
        ----------
        values : numpy.ndarray of float64, shape (k, rows)
            a, ascending.
        threshold : numpy.ndarray of float64, shape (rows,)
        times : float
            How many values each of them stands for.
        """
        squares = times * values * values
        start = threshold
        if times > 1.0:
            # K'(t) = t - t³ Σa⁴/3 + ….
            start = threshold + threshold**3 * folded_sum(squares * values * values) / 3.0
        low, high = np.zeros(values.shape[1]), MOST_TILT / values[-1]
        rate = np.minimum(start, 0.5 * high)
        done = np.zeros(values.shape[1], dtype=bool)
        repeated, terms = times * values, np.empty((len(values), 2, values.shape[1]))
        for _ in range(_MOST_STEPS):
            tanhs = np.tanh(rate * values)
            terms[:, 0], terms[:, 1] = repeated * tanhs, squares * (1.0 - tanhs * tanhs)
            mean, slope = folded_sum(terms)
            excess = mean - threshold
            low, high = np.where(excess < 0.0, rate, low), np.where(excess < 0.0, high, rate)
            moved = rate - excess / np.maximum(slope, 1e-300)
            moved = np.where((moved > low) & (moved < high), moved, 0.5 * (low + high))
            # A row that has arrived stays, however long the others take.
            former, rate = rate, np.where(done, rate, moved)
            done |= np.abs(moved - former) <= _NEAR_ENOUGH * moved
            if done.all():
                break
        rate = np.maximum(rate, _LEAST_TILT)
        tanhs = np.tanh(rate * values)
        return cls(rate, np.sqrt(folded_sum(squares * (1.0 - tanhs * tanhs))))

    def take(self, places: Counts) -> Tilts:
        """Return some of the rows."""
        return Tilts(self.rate[places], self.spread[places])

    def step(self, is_long: bool) -> Floats:
        """Return a distance of nodes at which neither the law nor its fading tail overlaps with itself."""
        return np.asarray(2.0 * math.pi / (_REACH[is_long] * self.spread + _FADED[is_long] / self.rate))
