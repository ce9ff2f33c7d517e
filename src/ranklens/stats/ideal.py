"""Intervals of the ideal bootstrap, with infinitely many resamples: computed and not drawn."""

from __future__ import annotations

import math
import sys
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.stats.ideal_law import LISTED, grid_law, lattice_ratio_law, law_of_mean, listed_law
from ranklens.stats.interval_levels import Tails, bca_tails, bias_of, expanded_tail, jackknife_acceleration
from ranklens.stats.resampled import common_ratio

Floats = NDArray[np.float64]

_NORMAL = NormalDist()
_CLOSE = 1e-6
_MOST_STEPS = 25
_LEAST_SHARE = 1e-15


class Law(Protocol):
    """A distribution of resampled means."""

    def lower(self, tail: float) -> float:
        """Return the smallest mean at or below which a share `tail` lies."""

    def upper(self, tail: float) -> float:
        """Return the largest mean at or above which a share `tail` lies."""

    def share_below(self, mean: float) -> float:
        """Return the probability of a smaller mean, and half that of an equal one."""


def ideal_interval(
    totals: Floats, sizes: Floats, kind: str, tail: float, eps: float, backend: Backend
) -> tuple[float, float]:
    """Return both ends of an interval of Σ totals / Σ sizes.

    Parameters
    ----------
    totals, sizes : numpy.ndarray of float64, shape (n,)
        Of each unit; where all sizes are equal the ratio is a mean, and its law that of a sum.
    kind : {"percentile", "expanded", "bca"}
    tail : float
        The probability beyond each end.
    eps : float
        The rounding unit of the type in which the differences were computed.
    backend : Backend
        What transforms the law.
    """
    constant = common_ratio(totals, sizes)
    if constant is not None:
        return constant, constant
    if sizes.min() != sizes.max():
        return _ends(_law_of_ratio(totals, sizes, eps, backend), totals, sizes, kind, tail)
    ordered = np.sort(totals)
    mirrored = -ordered[::-1]
    turned = _precedes(mirrored, ordered)
    # One orientation for a sample and its negative, so that their intervals mirror each other bit for bit.
    sample = mirrored if turned else ordered
    low, high = _ends(law_of_mean(sample, eps, backend), sample, np.ones_like(sample), kind, tail)
    size = float(sizes[0])
    return ((0.0 - high) / size, (0.0 - low) / size) if turned else (low / size + 0.0, high / size + 0.0)


def _law_of_ratio(totals: Floats, sizes: Floats, eps: float, backend: Backend) -> Law:
    if len(totals) <= LISTED:
        return listed_law(totals, sizes)
    return lattice_ratio_law(totals, sizes, eps, backend) or RatioLaw(totals, sizes, backend)


def _ends(law: Law, totals: Floats, sizes: Floats, kind: str, tail: float) -> tuple[float, float]:
    tails = Tails(tail, tail)
    if kind == "expanded":
        tails = Tails(*[expanded_tail(tail, len(totals))] * 2)
    elif kind == "bca":
        ratio = math.fsum(totals.tolist()) / math.fsum(sizes.tolist())
        bias = bias_of(law.share_below(ratio), round(1.0 / sys.float_info.epsilon))
        tails = bca_tails(tail, bias, jackknife_acceleration(totals, sizes))
    return law.lower(tails.below), law.upper(tails.above)


class RatioLaw:
    """The law of a resampled ratio X / Y of sums of `totals` and positive `sizes`, both of shape (n,).

    X / Y lies at or below t exactly where the sum of draws from ``totals - t · sizes`` is not positive, whose
    law is that of a mean.
    """

    def __init__(self, totals: Floats, sizes: Floats, backend: Backend) -> None:
        self._totals, self._sizes, self._backend = totals, sizes, backend
        n, total_size = len(totals), math.fsum(sizes.tolist())
        self._ratio = math.fsum(totals.tolist()) / total_size
        self._error = math.sqrt(float(np.sum((totals - self._ratio * sizes) ** 2)) * n / (n - 1)) / total_size
        each = totals / sizes
        self._lowest, self._highest = float(each.min()), float(each.max())

    def share_below(self, ratio: float) -> float:
        """Return the probability of a smaller ratio."""
        return grid_law(self._totals - ratio * self._sizes, self._backend).share_below(0.0)

    def lower(self, tail: float) -> float:
        """Return the ratio at or below which a share `tail` lies."""
        return self._quantile(tail)

    def upper(self, tail: float) -> float:
        """Return the ratio above which a share `tail` lies."""
        return self._quantile(1.0 - tail)

    def _quantile(self, level: float) -> float:
        """Search by the secant method."""
        wanted = _NORMAL.inv_cdf(level)
        at, step = self._ratio, wanted * self._error
        missed = self._score(at) - wanted
        for _ in range(_MOST_STEPS):
            before, missed_before = at, missed
            at = min(max(at + step, self._lowest), self._highest)
            missed = self._score(at) - wanted
            slope = (missed - missed_before) / (at - before) if at != before else 0.0
            step = -missed / slope if slope > 0.0 else -missed * self._error
            if abs(step) <= _CLOSE * self._error or at == before:
                break
        return min(max(at + step, self._lowest), self._highest)

    def _score(self, ratio: float) -> float:
        share = self.share_below(ratio)
        return _NORMAL.inv_cdf(min(max(share, _LEAST_SHARE), 1.0 - _LEAST_SHARE))


def _precedes(first: Floats, second: Floats) -> bool:
    differ = np.flatnonzero(first != second)
    return bool(differ.size) and bool(first[differ[0]] < second[differ[0]])
