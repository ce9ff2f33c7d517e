"""Intervals of ratios by characteristic functions: against grids and resamples, in batches and alone."""

import numpy as np
import pytest

from ranklens import compare_deltas, paired_bootstrap
from ranklens.stats.ideal.law import grid_share
from ranklens.stats.ideal.ratio import RatioLaw
from ranklens.stats.ideal.smooth_ratio import smooth_ratio_ends


def even_levels(tail):
    return lambda totals, shares: (np.full(len(totals), tail),) * 2


def sample(n, spread, rows=6):
    rng = np.random.default_rng([n, rows])
    sizes = rng.lognormal(0.0, spread, n)
    return sizes * rng.normal(0.02, 0.2, (rows, n)), sizes


@pytest.mark.parametrize("spread", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("n", [40, 230, 900])
@pytest.mark.parametrize("tail", [0.002, 0.025, 0.3])
def test_both_ends_have_the_shares_that_a_fine_grid_counts(n, spread, tail):
    totals, sizes = sample(n, spread)
    low, high = smooth_ratio_ends(totals, sizes, even_levels(tail))
    certain = np.flatnonzero(~np.isnan(low + high))
    assert certain.size >= 4
    for i in certain.tolist():
        shares = [grid_share(totals[i] - end * sizes, 0.0, 1 << 17) for end in (low[i], high[i])]
        assert shares == pytest.approx([tail, 1.0 - tail], rel=0.003 / tail**0.5, abs=1e-5)


@pytest.mark.parametrize("n", [40, 230])
def test_the_ends_are_those_of_the_law_on_grids(n):
    totals, sizes = sample(n, 0.7)
    low, high = smooth_ratio_ends(totals, sizes, even_levels(0.025))
    for i, row in enumerate(totals):
        law = RatioLaw(row, sizes)
        width = float(high[i] - low[i])
        assert (low[i], high[i]) == pytest.approx((law.lower(0.025), law.upper(0.025)), abs=1e-3 * width)


@pytest.mark.parametrize("spread", [0.7, 2.0])
@pytest.mark.parametrize("n", [30, 300])
def test_a_row_has_the_ends_it_has_alone_to_the_last_bit(n, spread):
    totals, sizes = sample(n, spread, rows=40)
    together = np.stack(smooth_ratio_ends(totals, sizes, even_levels(0.025)))
    for i in (0, 7, 39):
        alone = np.stack(smooth_ratio_ends(totals[i : i + 1], sizes, even_levels(0.025)))
        np.testing.assert_array_equal(alone[:, 0], together[:, i])


def test_laws_with_visible_steps_are_left_to_other_methods():
    totals, sizes = sample(12, 1.0)
    assert np.isnan(smooth_ratio_ends(totals, sizes, even_levels(0.025))).all()
    few = np.where(np.arange(60) < 2, 1.0, 0.0)[None, :] * np.linspace(1.0, 2.0, 60)
    low, _ = smooth_ratio_ends(few, np.linspace(1.0, 2.0, 60), even_levels(0.025))
    assert np.isnan(low).all()


@pytest.mark.parametrize("interval", ["percentile", "expanded", "bca"])
def test_rows_of_a_batch_have_the_interval_of_a_single_call_and_of_many_resamples(interval):
    totals, sizes = sample(120, 1.0, rows=3)
    deltas = totals / sizes
    table = compare_deltas(deltas, weights=sizes, method="exact", interval=interval, alpha=0.2)
    for i, row in enumerate(deltas):
        single = paired_bootstrap(row, weights=sizes, method="exact", interval=interval, alpha=0.2)
        assert (table.ci_low[i], table.ci_high[i]) == (single.low, single.high)
        drawn = paired_bootstrap(row, weights=sizes, n_resamples=100_000, interval=interval, alpha=0.2)
        slack = 0.02 * (drawn.high - drawn.low)
        assert (single.low, single.high) == pytest.approx((drawn.low, drawn.high), abs=slack)


def test_an_interval_turns_round_with_the_differences():
    totals, sizes = sample(100, 1.0)
    low, high = smooth_ratio_ends(totals, sizes, even_levels(0.05))
    back_low, back_high = smooth_ratio_ends(-totals, sizes, even_levels(0.05))
    np.testing.assert_allclose(back_low, -high, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(back_high, -low, rtol=1e-9, atol=1e-12)
