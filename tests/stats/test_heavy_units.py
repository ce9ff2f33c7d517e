"""The law of a resampled ratio whose weights span many sizes, against every resample and many drawn ones."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklens import paired_bootstrap
from ranklens.stats.ideal.heavy import HeavyUnits, ways_to_draw
from ranklens.stats.ideal.listed import multisets
from ranklens.stats.ideal.ratio import RatioLaw


def every_ratio(totals, sizes):
    """Return the ratios of all n^n resamples, ascending."""
    n = len(totals)
    drawn = np.array(list(itertools.product(range(n), repeat=n)))
    return np.sort(totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))


def quantile(ordered, level):
    return float(ordered[math.ceil(level * len(ordered) - 1e-9) - 1])


@settings(max_examples=25, deadline=None)
@given(
    exponents=st.lists(st.floats(-4.0, 4.0), min_size=4, max_size=6),
    seed=st.integers(0, 2**20),
    tail=st.sampled_from([0.025, 0.1, 0.25]),
)
def test_both_ends_are_those_of_all_resamples(exponents, seed, tail):
    sizes = 10.0 ** np.array(exponents)
    totals = sizes * np.random.default_rng(seed).normal(0.0, 1.0, len(sizes))
    law, ordered = RatioLaw(totals, sizes), every_ratio(totals, sizes)
    # An end may fall on either side of a step of the law that rounding cannot place.
    for level, found in ((tail, law.lower(tail)), (1.0 - tail, law.upper(tail))):
        slack = 0.005 * float(np.ptp(ordered))
        assert quantile(ordered, level - 2e-3) - slack <= found <= quantile(ordered, level + 2e-3) + slack


@pytest.mark.parametrize("factor", [2.0, 10.0, 1000.0])
@pytest.mark.parametrize("n", [9, 10])
@pytest.mark.parametrize("alpha", [0.05, 0.5])
def test_weights_that_grow_by_a_factor_have_the_interval_of_all_resamples(n, factor, alpha):
    deltas, weights = np.random.default_rng(n).normal(0.02, 0.2, n), factor ** np.arange(n)
    counts, masses = multisets.__wrapped__(n)
    ratios = (counts @ (weights * deltas)) / (counts @ weights)
    order = np.argsort(ratios)
    upto = np.cumsum(masses[order])
    low, high = (ratios[order[np.searchsorted(upto, level)]] for level in (alpha / 2, 1.0 - alpha / 2))
    exact = paired_bootstrap(deltas, weights=weights, method="exact", alpha=alpha)
    assert (exact.low, exact.high) == pytest.approx((low, high), abs=0.002 * (high - low))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [12, 20, 60])
def test_heavy_lognormal_weights_are_computed_and_agree_with_resamples(n, seed):
    rng = np.random.default_rng([n, seed])
    weights, deltas = rng.lognormal(0.0, 3.0, n), rng.normal(0.02, 0.2, n)
    asked = {"weights": weights, "alpha": 0.2}
    exact = paired_bootstrap(deltas, method="exact", **asked)
    # Where the law is nearly flat an end is known by its level only.
    for end, of in (("low", (0.19, 0.21)), ("high", (0.21, 0.19))):
        below, above = (
            getattr(paired_bootstrap(deltas, n_resamples=60_000, weights=weights, alpha=alpha), end)
            for alpha in of
        )
        slack = 0.003 * (exact.high - exact.low)
        assert below - slack <= getattr(exact, end) <= above + slack


def test_turning_the_differences_round_turns_the_interval_round():
    rng = np.random.default_rng(5)
    weights, deltas = rng.lognormal(0.0, 3.0, 20), rng.normal(0.02, 0.2, 20)
    there = paired_bootstrap(deltas, weights=weights, method="exact")
    back = paired_bootstrap(-deltas, weights=weights, method="exact")
    slack = 0.01 * (there.high - there.low)
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low), abs=slack)


@pytest.mark.parametrize("exponent", [-600, 600])
def test_a_common_factor_of_the_weights_changes_nothing(exponent):
    rng = np.random.default_rng(6)
    weights, deltas = rng.lognormal(0.0, 3.0, 20), rng.normal(0.02, 0.2, 20)
    one = paired_bootstrap(deltas, weights=weights, method="exact")
    other = paired_bootstrap(deltas, weights=np.ldexp(weights, exponent), method="exact")
    assert (one.low, one.high) == (other.low, other.high)


@pytest.mark.parametrize(("n", "m"), [(2, 1), (4, 2), (5, 4), (6, 3)])
def test_the_ways_to_draw_have_their_multinomial_probabilities(n, m):
    ways = ways_to_draw(n, m)
    drawn = np.array(list(itertools.product(range(n), repeat=n)))
    counted = np.stack([np.count_nonzero(drawn == unit, axis=1) for unit in range(m)], axis=1)
    kinds, times = np.unique(counted, axis=0, return_counts=True)
    wanted = dict(zip(map(tuple, kinds.tolist()), (times / n**n).tolist(), strict=True))
    found = dict(zip(map(tuple, ways.counts.tolist()), ways.masses.tolist(), strict=True))
    assert found == pytest.approx(wanted, rel=1e-12)
    for total, some in ways.drawn:
        assert (ways.counts[some].sum(axis=1) == total).all()


@pytest.mark.parametrize(("n", "most"), [(50, 40), (7000, 100)])
def test_many_heavy_units_are_listed_as_far_as_that_is_quick(n, most):
    ways = ways_to_draw(n, most)
    assert 0 < ways.counts.shape[1] < most
    assert len(ways.counts) < 10_000
    assert math.fsum(ways.masses.tolist()) == pytest.approx(1.0, abs=1e-12)
    assert float(ways.masses @ ways.counts[:, 0]) == pytest.approx(1.0, abs=1e-6)


def test_even_sizes_have_no_heavy_units():
    assert HeavyUnits.of(np.ones(20)) is None
    found = HeavyUnits.of(np.array([1.0, 1.0, 50.0, 1.0, 1.0, 1.0]))
    assert found is not None
    assert (found.heavy.tolist(), found.others.tolist()) == ([2], [0, 1, 3, 4, 5])
