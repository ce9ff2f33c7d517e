"""Intervals of hostile samples: never NaN, never upside down, never beyond the sample."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ranklens.stats import compare_deltas, paired_bootstrap
from ranklens.stats.ideal.grids import grid_ends
from ranklens.stats.ideal.levels import Levels
from ranklens.stats.ideal.listed import multisets
from ranklens.stats.ideal.ratio import UncertainLawError
from ranklens.stats.interval_levels import expanded_tail

RNG = np.random.default_rng(0)
EXACT_KINDS = ("percentile", "expanded", "bca")
ALPHAS = (1e-300, 1e-12, 1e-4, 0.05, 0.5, 1 - 1e-12, 1 - 2.0**-53)


def hostile(n):
    places = np.arange(n)
    return {
        "normal": RNG.normal(size=n),
        "all equal": np.full(n, 0.3),
        "an outlier": np.where(places == n - 1, 1e300, RNG.normal(size=n)),
        "the largest numbers": np.where(places % 2, 1.7e308, -1.7e308),
        "the smallest numbers": 5e-324 * places,
        "float32": RNG.normal(size=n).astype(np.float32),
        "integers": RNG.integers(-3, 4, n),
        "bytes": RNG.integers(-100, 100, n).astype(np.int8),
        "booleans": RNG.random(n) < 0.5,
        "heavy ties": RNG.choice([0.0, 0.0, 0.0, 1 / 3], n),
        "one hit": (places == 0) * 1.0,
        "equal but for rounding": 1.0 + 1e-15 * RNG.integers(0, 9, n),
        "almost equal": 0.1 + 1e-13 * RNG.normal(size=n),
    }


def check(low, high, values, case):
    assert low <= high, case
    slack = 1e-12 * float(np.abs(values).max() / 2)
    assert float(values.min()) - slack <= low, case
    assert high <= float(values.max()) + slack, case


@pytest.mark.parametrize(
    ("kind", "n"), [("percentile", 1), *itertools.product(EXACT_KINDS, [2, 3, 9, 30, 200])]
)
def test_exact_intervals_of_any_confidence(kind, n):
    for name, values in hostile(n).items():
        former = -math.inf, math.inf
        for alpha in ALPHAS:
            found = paired_bootstrap(values, method="exact", interval=kind, alpha=alpha)
            check(found.low, found.high, values, (name, alpha))
            slack = 1e-9 * (np.ptp(values.astype(float) / 2) if values.dtype != bool else 1.0)
            assert former[0] <= found.low + slack, (name, alpha)
            assert found.high <= former[1] + slack, (name, alpha)
            former = found.low, found.high


@pytest.mark.parametrize("n", [2, 9, 30])
@pytest.mark.parametrize("kind", [*EXACT_KINDS, "studentized"])
def test_resampled_intervals_with_and_without_weights(kind, n):
    for name, values in hostile(n).items():
        for weights in (None, 1.0 + np.arange(n) % 4, 10.0 ** (-2 * (np.arange(n) % 9))):
            for alpha in ALPHAS:
                found = paired_bootstrap(values, interval=kind, alpha=alpha, weights=weights, n_resamples=40)
                if kind == "studentized":
                    assert found.low <= found.high, (name, alpha)
                else:
                    check(found.low, found.high, values, (name, alpha))


@pytest.mark.parametrize("n", [2, 9, 30])
def test_exact_intervals_with_weights(n):
    computed = 0
    for name, values in hostile(n).items():
        for weights in (np.full(n, 2.5), 1.0 + np.arange(n) % 4, 10.0 ** (-2 * (np.arange(n) % 9))):
            try:
                found = paired_bootstrap(values, method="exact", weights=weights)
            except UncertainLawError:
                continue
            check(found.low, found.high, values, name)
            computed += 1
    # Even weights leave no doubt about a law, so that none of these may be refused.
    assert computed >= len(hostile(n))


@pytest.mark.parametrize("alternative", ["greater", "less"])
@pytest.mark.parametrize("kind", EXACT_KINDS)
def test_one_sided_rows_have_one_infinite_end(kind, alternative):
    rows = np.stack([values.astype(np.float64) for values in hostile(30).values()])
    for alpha in ALPHAS:
        table = compare_deltas(
            rows, method="exact", interval=kind, alternative=alternative, alpha=alpha, correction=None
        )
        closed, open_end = table.ci_low, table.ci_high
        if alternative == "less":
            closed, open_end = -table.ci_high, -table.ci_low
        assert np.isfinite(closed).all()
        assert (open_end == math.inf).all()


@pytest.mark.parametrize("n", [2, 3, 9, 30, 7000])
@pytest.mark.parametrize("tail", [5e-301, 1e-100, 1e-12, 0.025, 0.4999, 0.5, 0.9])
def test_an_expanded_tail_lies_further_out(tail, n):
    found = expanded_tail(tail, n)
    assert found <= tail if tail <= 0.5 else found >= tail


@pytest.mark.parametrize("scale", [1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("seed", range(3))
def test_beside_an_outlier_small_values_still_have_a_law_of_their_own(scale, seed):
    values = np.random.default_rng(seed).exponential(scale, 9)
    values[-1] = 3.0
    counts, masses = multisets.__wrapped__(9)
    sums, total = counts @ values, math.fsum(values)
    band = 1e-14 * total
    truth = masses[sums < total - band].sum() / 2 + masses[sums < total + band].sum() / 2
    shares = []

    class Asked(Levels):
        def tails(self, values, share_at_mean):
            shares.extend(share_at_mean().tolist())
            return super().tails(values, share_at_mean)

    grid_ends(values[None, :], Asked("bca", 0.25))
    assert shares[0] == pytest.approx(truth, abs=2e-4)


def test_a_bca_end_beside_an_outlier_is_that_of_all_resamples():
    small = [1.67967638, 11.0422906, 3.94105498, 5.32285679, 20.5656417, -4.85949238, 5.83304112, 3.94976601]
    found = paired_bootstrap([*(1e-3 * np.array(small)), 3.0], method="exact", interval="bca", alpha=0.5)
    assert found.low == pytest.approx(0.33325, abs=2e-4)
