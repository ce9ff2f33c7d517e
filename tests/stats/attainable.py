"""How often a sign-flip test rejects under the null: the oracle of the calibration tests.

Given the sizes |d|, the signs are fair coins under a symmetric null, so the law of the p-value is a finite
sum. It depends on the ties among the flipped sums only.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.stats import binom

FLIPS = 999
LARGEST_ENUMERATED = 16


@cache
def rejection_without_ties(n_nonzero: int, alpha: float, method: str) -> float:
    """No two sums but those of a sign vector and its opposite are equal in size."""
    if n_nonzero == 0:
        return 0.0
    n_values = 2 ** (n_nonzero - 1)
    if method == "exact":
        return math.floor(alpha * n_values + 1e-9) / n_values
    if n_nonzero > LARGEST_ENUMERATED:
        # Observed and flipped sums are exchangeable.
        return math.floor(alpha * (FLIPS + 1) + 1e-9) / (FLIPS + 1)
    p = np.arange(1, n_values + 1) / n_values
    return float(_rejects(p, alpha, method).mean())


def rejection_on_a_lattice(magnitudes: tuple[int, ...], alpha: float, method: str) -> float:
    """The differences are whole multiples of a step: the law of the sum is a convolution."""
    return _of_magnitudes(tuple(sorted(m for m in magnitudes if m)), alpha, method)


@cache
def _of_magnitudes(magnitudes: tuple[int, ...], alpha: float, method: str) -> float:
    total = sum(magnitudes)
    mass = np.zeros(2 * total + 1)
    mass[total] = 1.0
    for m in magnitudes:
        mass = (np.roll(mass, m) + np.roll(mass, -m)) / 2
    by_size = mass[total:] + np.concatenate([[0.0], mass[:total][::-1]])
    p = np.cumsum(by_size[::-1])[::-1]
    return float(by_size @ _rejects(p, alpha, method))


def _rejects(p: np.ndarray, alpha: float, method: str) -> np.ndarray:
    """The probability of p <= alpha where the p-value over all flips is `p`."""
    if method == "exact":
        return (p <= alpha * (1 + 1e-12)).astype(float)
    return binom.cdf(math.floor(alpha * (FLIPS + 1) + 1e-9) - 1, FLIPS, p)


def binomial_band(n: int, rate: float, coverage: float = 0.999) -> tuple[float, float]:
    """The central range of a binomial proportion."""
    tail = (1 - coverage) / 2
    return float(binom.ppf(tail, n, rate)) / n, float(binom.ppf(1 - tail, n, rate)) / n
