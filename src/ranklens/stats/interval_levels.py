"""Which quantiles of the resampled means are the ends of an interval."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.reference import Reference

Floats = NDArray[np.float64]
_NORMAL = NormalDist()


class Tails(NamedTuple):
    """The share of resampled means below the lower end, and the share above the upper one."""

    below: float
    above: float


def expanded_tail(tail: float, n: int) -> float:
    """Return Hesterberg's Φ(√(n / (n - 1)) · t(tail, n - 1)): normal samples then get Student's interval.

    Resampling n values sees a spread that is too small by √((n - 1) / n), and uses the normal's tails
    (Hesterberg 2015, "What teachers should know about the bootstrap", The American Statistician 69).

    Examples
    --------
    >>> round(expanded_tail(0.025, 20), 5), round(expanded_tail(0.025, 100_000), 5)
    (0.01588, 0.025)
    """
    expanded = _normal_cdf(math.sqrt(n / (n - 1)) * Reference(n - 1).quantile(tail))
    # It lies further out than `tail`, wherever the quantile of an extreme one is lost in rounding.
    return min(expanded, tail) if tail < 0.5 else max(expanded, tail)


def bca_tails(tail: float, bias: float, acceleration: float) -> Tails:
    """Return the tails of the bias-corrected and accelerated interval.

    With z0 the `bias` and a the `acceleration`, the lower end is the quantile at
    Φ(z0 + (z0 + z) / (1 - a(z0 + z))) with z = Φ⁻¹(`tail`) (Efron 1987, "Better bootstrap confidence
    intervals", J. Am. Statist. Assoc. 82).

    Examples
    --------
    >>> bca_tails(0.025, 0.0, 0.0)
    Tails(below=0.025, above=0.025)
    """
    return Tails(_adjusted(tail, bias, acceleration), _adjusted(tail, -bias, -acceleration))


def bias_of(share_below: float, n_resamples: int) -> float:
    """Return z0, the normal quantile of the share of resampled means below the estimate (ties count half).

    The share is kept half a resample away from 0 and 1.
    """
    margin = 0.5 / max(n_resamples, 1)
    return _NORMAL.inv_cdf(min(max(share_below, margin), 1.0 - margin))


def jackknife_acceleration(totals: Floats, sizes: Floats) -> float:
    """Return a, a sixth of the skewness of the estimates without one unit each; 0 where they do not differ.

    Examples
    --------
    >>> round(jackknife_acceleration(np.array([0.0, 0.0, 3.0]), np.ones(3)), 6)
    0.068041
    """
    without = _sums_without_each(totals, sizes) / _sums_without_each(sizes, sizes)
    pulls = math.fsum(without.tolist()) / len(without) - without
    largest = float(np.abs(pulls).max())
    if largest == 0.0:
        return 0.0
    pulls = pulls / largest
    cubes, squares = math.fsum((pulls**3).tolist()), math.fsum((pulls**2).tolist())
    return float(cubes / (6.0 * squares**1.5))


def _sums_without_each(values: Floats, sizes: Floats) -> Floats:
    """Return the sum without each value in turn; without the largest unit, summed anew for its digits."""
    sums = np.asarray(math.fsum(values.tolist()) - values)
    largest = int(np.argmax(sizes))
    sums[largest] = math.fsum(np.delete(values, largest).tolist())
    return sums


def _adjusted(tail: float, bias: float, acceleration: float) -> float:
    if bias == 0.0 and acceleration == 0.0:
        return tail
    z = bias + _NORMAL.inv_cdf(tail)
    # |a| is below 1/6: the denominator vanishes only past 6 standard errors.
    return _normal_cdf(bias + z / max(1.0 - acceleration * z, 1e-9))


def _normal_cdf(z: float) -> float:
    # Unlike NormalDist's, this keeps its digits far below.
    return 0.5 * math.erfc(-z / math.sqrt(2.0))
