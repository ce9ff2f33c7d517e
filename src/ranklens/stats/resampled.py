"""Intervals from the resampled ratios of totals to sizes, on the host."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.interval_levels import Tails, bca_tails, bias_of, expanded_tail, jackknife_acceleration
from ranklens.stats.moments import ROUNDING

Floats = NDArray[np.float64]

_NO_SPREAD = 1e-12
"""Squares whose sum is this share of what cancels in it are rounding alone."""

_NEAR, _LITTLE_SPREAD = 1e-9, 1e-6


@dataclass(frozen=True, slots=True)
class Resampled:
    """A sample of units, and sums over resamples of it.

    Attributes
    ----------
    totals, sizes : numpy.ndarray of float64, shape (n,)
        Of each unit.
    sums : numpy.ndarray of float64, shape (1, 2 or 5, n_resamples)
        Of the rows of `ranklens.kernels.resample_moments`; of the totals alone where all sizes are 1.
    """

    totals: Floats
    sizes: Floats
    sums: Floats

    @property
    def ratio(self) -> float:
        """The estimate, by exactly rounded sums."""
        return math.fsum(self.totals.tolist()) / math.fsum(self.sizes.tolist())

    def interval(self, kind: str, tail: float) -> tuple[float, float]:
        """Return both ends, `tail` beyond each of them."""
        constant = common_ratio(self.totals, self.sizes)
        if constant is not None:
            return constant, constant
        if kind == "studentized":
            return self._studentized(tail)
        ratios = self.sums[0] / (self.sums[1] if len(self.sums) > 1 else len(self.totals))
        low, high = _ends(np.sort(ratios), self.tails(kind, tail, ratios))
        each = self.totals / self.sizes
        low, high = max(low, float(each.min())), min(high, float(each.max()))
        # Near the median both ends are one, up to rounding.
        return low, max(low, high) if tail <= 0.5 else high

    def tails(self, kind: str, tail: float, ratios: Floats) -> Tails:
        """Return the shares of the resampled ratios beyond each end, `tail` being what is wanted."""
        if kind == "expanded":
            tail = expanded_tail(tail, len(self.totals))
        if kind != "bca":
            return Tails(tail, tail)
        band = ROUNDING * float(np.abs(self.totals).sum() / self.sizes.sum())
        away = ratios - self.ratio
        below = np.count_nonzero(away < -band) + 0.5 * np.count_nonzero(np.abs(away) <= band)
        bias = bias_of(float(below) / len(ratios), len(ratios))
        return bca_tails(tail, bias, jackknife_acceleration(self.totals, self.sizes))

    def _studentized(self, tail: float) -> tuple[float, float]:
        """Return r - t(1 - tail) se and r - t(tail) se, with quantiles of the resampled t."""
        low, high = _ends(np.sort(self.t_statistics()), Tails(tail, tail))
        return self.ratio - high * self._error, self.ratio - low * self._error

    @property
    def _error(self) -> float:
        """The standard error of the estimate."""
        n = len(self.totals)
        centred = self.totals - self.ratio * self.sizes
        return math.sqrt(math.fsum((centred * centred).tolist()) * n / (n - 1)) / math.fsum(
            self.sizes.tolist()
        )

    def t_statistics(self) -> Floats:
        """Return the t = (r* - r) / se* of every resample, shape (n_resamples,).

        A resample without any spread has an infinite t, or 0 where it is where the sample is.
        """
        n = len(self.totals)
        shift, sizes, residual = self._moments()
        error = np.sqrt(residual * (n / (n - 1))) / sizes
        shift = np.where(np.abs(shift) <= _NO_SPREAD * self._error, 0.0, shift)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(shift == 0.0, 0.0, shift / error))

    def deciding(self, tail: float) -> NDArray[np.bool_]:
        """Whether each resample can decide about the ends of a studentized interval by its last digits.

        So do those near an end, those where the sample is, and those with hardly any spread.
        """
        t = self.t_statistics()
        last = len(t) - 1
        near, far = math.floor(tail * last), min(math.floor(tail * last) + 1, last)
        ends = np.partition(t, sorted({near, far, last - far, last - near}))
        slack = _NEAR * (1.0 + np.abs(t))
        with np.errstate(invalid="ignore"):
            low = (t >= ends[near] - slack) & (t <= ends[far] + slack)
            high = (t >= ends[last - far] - slack) & (t <= ends[last - near] + slack)
        squares = self.sums[1] if len(self.sums) == 2 else self.sums[2]
        little = self._moments()[2] <= _LITTLE_SPREAD * squares
        found: NDArray[np.bool_] = low | high | (np.abs(t) <= _NEAR) | little
        return found

    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """Return how far each resample's ratio lies from the sample's, its size, and its sum of squares."""
        if len(self.sums) == 2:
            n = len(self.totals)
            away, squares = self.sums
            sizes, products, size_squares = np.full_like(away, n), away, np.full_like(away, n)
        else:
            away, sizes, squares, products, size_squares = self.sums
        shift = away / sizes
        residual = squares - 2.0 * shift * products + shift * shift * size_squares
        return shift, sizes, np.where(residual <= _NO_SPREAD * squares, 0.0, residual)


def common_ratio(totals: Floats, sizes: Floats) -> float | None:
    """Return the ratio that every unit has, up to rounding; None where they differ."""
    ratios = totals / sizes
    lowest, highest = float(ratios.min()), float(ratios.max())
    if highest - lowest > ROUNDING * max(-lowest, highest):
        return None
    return lowest / 2 + highest / 2 + 0.0


def _ends(ordered: Floats, tails: Tails) -> tuple[float, float]:
    # Both ends are interpolated from outside, so that swapping the runs negates the interval.
    return _from_below(ordered, tails.below), -_from_below(-ordered[::-1], tails.above)


def _from_below(ordered: Floats, tail: float) -> float:
    last = len(ordered) - 1
    place = tail * last
    near = math.floor(place)
    share = place - near
    first, second = float(ordered[near]), float(ordered[min(near + 1, last)])
    if math.isinf(first) or math.isinf(second):
        return first
    return first + (second - first) * share
