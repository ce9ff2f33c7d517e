"""Intervals of the ideal bootstrap, with infinitely many resamples: computed and not drawn."""

from __future__ import annotations

import math
import sys
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.stats.ideal.law import lattice_ratio_law, listed_law
from ranklens.stats.ideal.listed import LISTED
from ranklens.stats.ideal.means import mean_intervals
from ranklens.stats.ideal.ratio import RatioLaw
from ranklens.stats.interval_levels import Tails, bca_tails, bias_of, expanded_tail, jackknife_acceleration
from ranklens.stats.resampled import common_ratio
from ranklens.stats.rows.jobs import together

Floats = NDArray[np.float64]


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

    Raises
    ------
    UncertainLawError
        Where sizes are so uneven that the law of the ratio cannot be computed to a small part of its spread.
    """
    size = float(sizes[0])
    if size == sizes.min() == sizes.max():
        ((low, high),) = together([mean_intervals(totals[None, :], kind, tail, eps, backend)])
        return float(low[0]) / size + 0.0, float(high[0]) / size + 0.0
    constant = common_ratio(totals, sizes)
    if constant is not None:
        return constant, constant
    law = _law_of_ratio(totals, sizes, eps, backend)
    low, high = _ends(law, totals, sizes, kind, tail)
    if isinstance(law, RatioLaw):
        law.check(high - low)
    return low + 0.0, high + 0.0


def _law_of_ratio(totals: Floats, sizes: Floats, eps: float, backend: Backend) -> Law:
    if len(totals) <= LISTED:
        return listed_law(totals, sizes)
    return lattice_ratio_law(totals, sizes, eps, backend) or RatioLaw(totals, sizes)


def _ends(law: Law, totals: Floats, sizes: Floats, kind: str, tail: float) -> tuple[float, float]:
    tails = Tails(tail, tail)
    if kind == "expanded":
        tails = Tails(*[expanded_tail(tail, len(totals))] * 2)
    elif kind == "bca":
        ratio = math.fsum(totals.tolist()) / math.fsum(sizes.tolist())
        bias = bias_of(law.share_below(ratio), round(1.0 / sys.float_info.epsilon))
        tails = bca_tails(tail, bias, jackknife_acceleration(totals, sizes))
    return law.lower(tails.below), law.upper(tails.above)
