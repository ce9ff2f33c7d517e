"""Intervals of the ideal bootstrap, with infinitely many resamples: computed and not drawn."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.stats.ideal.means import mean_intervals
from ranklens.stats.ideal.ratio import UncertainLawError
from ranklens.stats.ideal.ratios import ratio_intervals
from ranklens.stats.rows.jobs import together

Floats = NDArray[np.float64]


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
    (low,), (high,) = ratio_intervals(totals[None, :], sizes, kind, tail, eps, backend)
    if math.isnan(low):
        raise UncertainLawError
    return float(low), float(high)
