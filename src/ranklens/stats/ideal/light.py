"""Sums of any number of draws from the units that remain when a few heavy ones are set aside."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.kernels.exact_resampling import integer_power
from ranklens.stats.ideal.convolution import draw_masses
from ranklens.stats.ideal.levels import REACH

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_ROUNDINGS = 5.0
_FLAT, _LEAST = 1e-15, 1e-150


class LightSums:
    """The laws of sums of up to `most` draws from `values`, rounded to a grid; asked for in ascending order.

    Mean and spread of what was rounded are put right. `error` is by how much a sum can be wrong: half a step,
    and five standard deviations of what rounding adds up to.
    """

    def __init__(self, values: Floats, most: int, length: int) -> None:
        self._mean = float(np.mean(values))
        centred = values - self._mean
        spread = float(np.std(values))
        step = 2.0 * REACH * math.sqrt(most) * spread / length
        steps = np.rint(centred / step)
        self._steps_mean = float(np.mean(steps))
        self._step = spread / float(np.std(steps))
        lost = float(np.std(centred - (steps - self._steps_mean) * self._step))
        self.error = step / 2.0 + _ROUNDINGS * lost * math.sqrt(most)
        self._length = length
        self._one: Complexes = np.fft.rfft(draw_masses(steps[None, :], length)[0])
        self._power, self._draws = np.ones_like(self._one), 0

    @classmethod
    def of(cls, values: Floats, most: int, length: int) -> LightSums | None:
        """Return the laws; None where all values are one, or so close that their squares would vanish."""
        least = max(_LEAST, _FLAT * float(np.abs(values).max()))
        return cls(values, most, length) if np.ptp(values) > least else None

    def share_below(self, draws: int, sums: Floats) -> Floats:
        """Return the shares of `draws` below `sums`, which half of the mass of a grid point may lie at."""
        first = round(self._steps_mean * draws) - self._length // 2
        upto = np.cumsum(np.roll(self._law(draws), -(first % self._length)))
        place = (sums - draws * self._mean) / self._step + self._steps_mean * draws - first + 0.5
        place = np.minimum(np.maximum(place, 0.0), self._length - 1.0)
        point = place.astype(np.int64)
        before = np.where(point > 0, upto[point - 1], 0.0)
        return np.asarray((before + (place - point) * (upto[point] - before)) / upto[-1])

    def _law(self, draws: int) -> Floats:
        if draws > self._draws:
            self._power = self._power * integer_power(self._one, draws - self._draws)
            self._draws = draws
        return np.maximum(np.fft.irfft(self._power, n=self._length), 0.0)
