"""The prediction-powered estimator and its variance, stratum by stratum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.moments import ROUNDING, mean, spread

Values = NDArray[np.float64]


class Sample(NamedTuple):
    """One stratum: gold and proxy values on its n gold queries, proxy values on its N other queries.

    Shapes are (n,) for the first four, (N,) for the last two.
    """

    gold_a: Values
    gold_b: Values
    proxy_a: Values
    proxy_b: Values
    only_a: Values
    only_b: Values

    @property
    def n_gold(self) -> int:
        """The number of gold queries."""
        return len(self.gold_a)

    @property
    def size(self) -> int:
        """The number of queries."""
        return len(self.gold_a) + len(self.only_a)

    @property
    def largest(self) -> float:
        """The largest value in size: what rounding is measured against."""
        return max((float(abs(values).max()) for values in self if len(values)), default=0.0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated difference, its standard error and what it was made with."""

    delta: float
    mean_a: float
    se: float
    df: float
    lam: float
    lam_by_sample: tuple[float, ...]
    n_effective: float | None


class _Part(NamedTuple):
    delta: float
    mean_a: float
    lam: float
    variance: float
    variance_ddof_1: float
    variance_gold_only: float
    df: int


def estimate(samples: Sequence[Sample], lam: float | None, *, ddof_for_lam: bool) -> Estimate:
    """Combine the strata, each weighted by its share of the queries.

    `ddof_for_lam` charges the estimation of a weight one more degree of freedom on the gold queries.
    """
    total = sum(sample.size for sample in samples)
    weights = [sample.size / total for sample in samples]
    parts = [_part(sample, lam, ddof_for_lam) for sample in samples]
    pairs = list(zip(weights, parts, strict=True))
    variance = math.fsum(w * w * part.variance for w, part in pairs)
    delta = math.fsum(w * part.delta for w, part in pairs)
    if variance == 0.0 and abs(delta) <= ROUNDING * max(sample.largest for sample in samples):
        delta = 0.0
    return Estimate(
        delta=delta,
        mean_a=math.fsum(w * part.mean_a for w, part in pairs),
        se=math.sqrt(variance),
        df=_satterthwaite([(w * w * part.variance, part.df) for w, part in pairs]),
        lam=math.fsum(w * part.lam for w, part in pairs),
        lam_by_sample=tuple(part.lam for part in parts),
        n_effective=_n_effective(pairs, sum(sample.n_gold for sample in samples)),
    )


def correlation(samples: Sequence[Sample]) -> float | None:
    """Return the correlation of gold and proxy differences over all gold queries; None without spread."""
    gold = np.concatenate([sample.gold_b - sample.gold_a for sample in samples])
    proxy = np.concatenate([sample.proxy_b - sample.proxy_a for sample in samples])
    largest = max(sample.largest for sample in samples)
    spreads = spread(gold, size=largest) * spread(proxy, size=largest)
    if spreads == 0.0:
        return None
    return max(-1.0, min(1.0, _covariance(gold, proxy) / spreads))


def _part(sample: Sample, lam: float | None, ddof_for_lam: bool) -> _Part:
    gold, proxy = sample.gold_b - sample.gold_a, sample.proxy_b - sample.proxy_a
    only = sample.only_b - sample.only_a
    weight, fitted = _weight(gold, proxy, only, lam, sample.largest)
    n, n_only = len(gold), len(only)
    residual = gold - weight * proxy
    size = sample.largest * max(1.0, abs(weight))
    ddof = 2 if fitted and ddof_for_lam else 1
    of_only = weight**2 * spread(only, size=size) ** 2 / n_only if weight else 0.0
    of_residual = spread(residual, size=size) ** 2 / n
    return _Part(
        delta=(weight * mean(only) if weight else 0.0) + mean(residual),
        mean_a=(weight * mean(sample.only_a) if weight else 0.0)
        + mean(sample.gold_a - weight * sample.proxy_a),
        lam=weight,
        variance=of_only + of_residual * (n - 1) / (n - ddof),
        variance_ddof_1=of_only + of_residual,
        variance_gold_only=spread(gold, size=size) ** 2 / n,
        df=n - ddof,
    )


def _weight(
    gold: Values, proxy: Values, only: Values, lam: float | None, largest: float
) -> tuple[float, bool]:
    # Returns the weight of the proxy and whether it was estimated from the gold queries.
    if len(only) < 2:
        return 0.0, False
    if lam is not None:
        return float(lam), False
    variance = spread(np.concatenate([proxy, only]), size=largest) ** 2
    if variance == 0.0:
        return 0.0, False
    return _covariance(gold, proxy) / ((1.0 + len(gold) / len(only)) * variance), True


def _covariance(x: Values, y: Values) -> float:
    return math.fsum(((x - mean(x)) * (y - mean(y))).tolist()) / (len(x) - 1)


def _satterthwaite(parts: Sequence[tuple[float, int]]) -> float:
    if len(parts) == 1:
        return float(parts[0][1])
    total = math.fsum(variance for variance, _ in parts)
    if total == 0.0:
        return float(sum(df for _, df in parts))
    return 1.0 / math.fsum((variance / total) ** 2 / df for variance, df in parts)


def _n_effective(pairs: Sequence[tuple[float, _Part]], n_gold: int) -> float | None:
    reached = math.fsum(w * w * part.variance_ddof_1 for w, part in pairs)
    gold_only = math.fsum(w * w * part.variance_gold_only for w, part in pairs)
    return n_gold * gold_only / reached if reached > 0.0 else None
