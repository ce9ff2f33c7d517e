"""Resampled intervals against the textbook's formulas, in plain Python on the same draws."""

from __future__ import annotations

import math
from statistics import NormalDist, mean, stdev

import numpy as np
import pytest

from ranklens.arrays import Purpose, words
from ranklens.stats import paired_bootstrap

NORMAL = NormalDist()
M = 400
SAMPLES = {
    "skewed": np.random.default_rng(0).exponential(1.0, 31) - 0.7,
    "tenths": np.random.default_rng(1).integers(-4, 6, 45) / 10,
    "three": np.array([0.1, -0.4, 0.35]),
}


def drawn(n, seed):
    """Return the places that each resample draws, from the documented stream of words."""
    by_column = words(seed, 0, M, -(-n // 2), Purpose.RESAMPLES).tolist()
    for i in range(M):
        halves = [half for row in by_column for half in (row[i] % 2**32, row[i] >> 32)]
        yield [half * n >> 32 for half in halves[:n]]


def quantile(ordered, share):
    place = share * (len(ordered) - 1)
    near = math.floor(place)
    far = min(near + 1, len(ordered) - 1)
    if math.isinf(ordered[near]) or math.isinf(ordered[far]):
        return ordered[near]
    return ordered[near] + (ordered[far] - ordered[near]) * (place - near)


def ratio_and_error(values, weights):
    n, total = len(values), math.fsum(weights)
    ratio = math.fsum(v * w for v, w in zip(values, weights, strict=True)) / total
    squares = math.fsum((w * (v - ratio)) ** 2 for v, w in zip(values, weights, strict=True))
    return ratio, math.sqrt(squares * n / (n - 1)) / total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["skewed", "tenths"])
def test_studentized_is_the_bootstrap_t_of_its_resamples(kind, weighted):
    values = SAMPLES[kind].tolist()
    weights = [1.0 + i % 5 for i in range(len(values))] if weighted else [1.0] * len(values)
    ratio, error = ratio_and_error(values, weights)
    if not weighted:
        assert (ratio, error) == pytest.approx((mean(values), stdev(values) / math.sqrt(len(values))))
    t = []
    for places in drawn(len(values), 7):
        own, spread = ratio_and_error([values[k] for k in places], [weights[k] for k in places])
        t.append((own - ratio) / spread)
    t.sort()
    expected = ratio - quantile(t, 0.975) * error, ratio - quantile(t, 0.025) * error
    asked = {"weights": weights} if weighted else {}
    found = paired_bootstrap(values, interval="studentized", n_resamples=M, seed=7, **asked)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", SAMPLES)
def test_bca_is_efrons_formula_on_its_resamples(kind, weighted):
    values = SAMPLES[kind].tolist()
    n = len(values)
    weights = [1.0 + i % 5 for i in range(n)] if weighted else [1.0] * n

    def ratio(places):
        return math.fsum(values[k] * weights[k] for k in places) / math.fsum(weights[k] for k in places)

    estimate, resampled = ratio(range(n)), sorted(ratio(places) for places in drawn(n, 3))
    below = sum(r < estimate - 1e-12 for r in resampled)
    equal = sum(abs(r - estimate) <= 1e-12 for r in resampled)
    bias = NORMAL.inv_cdf((below + equal / 2) / M)
    without = [ratio([k for k in range(n) if k != i]) for i in range(n)]
    pulls = [mean(without) - one for one in without]
    pull = sum(p**3 for p in pulls) / (6 * sum(p**2 for p in pulls) ** 1.5)

    def level(share):
        z = bias + NORMAL.inv_cdf(share)
        return NORMAL.cdf(bias + z / (1 - pull * z))

    expected = [quantile(resampled, level(share)) for share in (0.025, 0.975)]
    asked = {"weights": weights} if weighted else {}
    found = paired_bootstrap(values, interval="bca", n_resamples=M, seed=3, **asked)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-8, abs=1e-10)
