"""A batch of comparisons: each row is what it is alone, whatever shares the batch with it."""

from __future__ import annotations

import json
import math
import tracemalloc
import warnings

import numpy as np
import pytest
from fake_device import fake_array

import ranklens as rl
from ranklens.arrays import memory_budget, threads, to_host, use_backend
from ranklens.arrays.host_batch import flipped_parts
from ranklens.core import CoarsePValueWarning
from ranklens.stats.exact.p_value import exact_is_cheap, exact_p_value
from ranklens.stats.exact.plan import MOST_COUNTED
from ranklens.stats.ideal.percentile import exact_interval
from ranklens.stats.rows.exact import cheap_rows

N = 53
QUIET = {"method": "monte-carlo", "correction": None}
COLUMNS = ("delta", "ci_low", "ci_high", "p_value", "effect", "wins", "ties", "losses", "p_error")


def batch(n=N, seed=0):
    """Real-valued, lattice, constant, zero, mostly zero and tiny rows."""
    rng = np.random.default_rng(seed)
    rows = [
        rng.normal(0.05, 0.3, n),
        np.round(rng.normal(0.05, 0.3, n), 1),
        np.full(n, 0.3),
        np.zeros(n),
        np.where(np.arange(n) % 10 == 3, rng.normal(0.2, 1, n), 0.0),
        1e-300 * rng.normal(0.3, 1, n),
        rng.standard_exponential(n) - 1.0,
    ]
    return np.stack(rows)


def assert_same(one, other, tolerance=0.0):
    for name in COLUMNS:
        a, b = getattr(one, name), getattr(other, name)
        if tolerance and name in ("delta", "ci_low", "ci_high", "effect"):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * 1e-300, err_msg=name)
        else:
            np.testing.assert_array_equal(a, b, err_msg=name)


@pytest.mark.parametrize("n", [N, 130])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_row_is_the_single_call_number_for_number(n, alternative):
    deltas = batch(n)
    table = rl.compare_deltas(deltas, seed=3, alternative=alternative, n_resamples=3000, **QUIET)
    for i, row in enumerate(deltas):
        interval = rl.paired_bootstrap(row, seed=3, alternative=alternative, n_resamples=3000)
        assert (table.delta[i], table.ci_low[i], table.ci_high[i]) == (
            interval.delta, interval.low, interval.high,
        )  # fmt: skip
        assert table.p_value[i] == rl.permutation_test(row, seed=3, alternative=alternative)


@pytest.mark.parametrize(("alpha", "n_resamples"), [(0.9, 3000), (0.55, 41), (0.5, 999), (0.5, 7)])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_levels_from_one_half_on_are_those_of_the_single_call(alternative, alpha, n_resamples):
    options = {"alternative": alternative, "alpha": alpha, "n_resamples": n_resamples, "seed": 3}
    deltas = batch(20)
    table = rl.compare_deltas(deltas, **options, **QUIET)
    for i, row in enumerate(deltas):
        interval = rl.paired_bootstrap(row, **options)
        assert (table.ci_low[i], table.ci_high[i]) == (interval.low, interval.high)


def test_ties_among_resamples_keep_the_single_calls_last_bits():
    rng = np.random.default_rng(1)
    few = np.zeros((6, 60))
    few[:, :3] = rng.normal(0.5, 1.0, (6, 3))
    thirds = rng.integers(-2, 3, (6, 60)) / 7.0
    deltas = np.concatenate([few, thirds])
    table = rl.compare_deltas(deltas, seed=1, **QUIET)
    for i, row in enumerate(deltas):
        interval = rl.paired_bootstrap(row, seed=1)
        assert (table.ci_low[i], table.ci_high[i]) == (interval.low, interval.high)


def test_every_backend_draws_the_same(user_backend):
    deltas = batch()
    expected = rl.compare_deltas(deltas, seed=5, n_resamples=500, n_permutations=500, **QUIET)
    with user_backend.precise():
        array = user_backend.asarray(deltas)
    found = rl.compare_deltas(array, seed=5, n_resamples=500, n_permutations=500, **QUIET)
    assert_same(found, expected, tolerance=1e-9)


def test_every_backend_masks_alike(user_backend):
    deltas = batch()
    mask = np.random.default_rng(2).random(deltas.shape) < 0.8
    kept = {"seed": 5, "n_resamples": 300, "n_permutations": 300}
    expected = rl.compare_deltas(deltas, mask=mask, **kept, **QUIET)
    with user_backend.precise():
        array = user_backend.asarray(np.where(mask, deltas, np.nan))
        assert_same(rl.compare_deltas(array, mask=mask, **kept, **QUIET), expected, tolerance=1e-9)
        on_device = user_backend.asarray(mask)
    assert_same(rl.compare_deltas(array, mask=on_device, **kept, **QUIET), expected, tolerance=1e-9)


def test_lists_go_to_the_current_backend():
    with use_backend("array_api_strict"):
        table = rl.compare_deltas(batch().tolist(), n_resamples=200, n_permutations=200, **QUIET)
    assert_same(
        table, rl.compare_deltas(batch(), n_resamples=200, n_permutations=200, **QUIET), tolerance=1e-9
    )


@pytest.mark.parametrize("n_bytes", [2**20, 2**23])
def test_no_budget_changes_a_number(n_bytes):
    deltas = np.concatenate([batch(400, seed) for seed in range(8)])
    whole = rl.compare_deltas(deltas, n_resamples=1000, n_permutations=1000, **QUIET)
    with memory_budget(n_bytes):
        assert_same(rl.compare_deltas(deltas, n_resamples=1000, n_permutations=1000, **QUIET), whole)


@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_no_number_of_threads_changes_a_number(n_threads, monkeypatch):
    deltas = np.concatenate([batch(100, seed) for seed in range(8)])
    whole = rl.compare_deltas(deltas, n_resamples=1000, n_permutations=1000, **QUIET)
    monkeypatch.setattr(threads, "n_cores", lambda: n_threads)
    monkeypatch.setattr("ranklens.arrays.host_ends.n_cores", lambda: n_threads)
    assert_same(rl.compare_deltas(deltas, n_resamples=1000, n_permutations=1000, **QUIET), whole)


def test_a_masked_row_is_flipped_with_zeros_and_resampled_without_them():
    deltas = batch()
    mask = np.random.default_rng(3).random(deltas.shape) < 0.7
    table = rl.compare_deltas(np.where(mask, deltas, np.nan), mask=mask, seed=2, **QUIET)
    for i, row in enumerate(deltas):
        interval = rl.paired_bootstrap(row[mask[i]], seed=2)
        assert table.n_queries[i] == interval.n_queries
        assert (table.delta[i], table.ci_low[i], table.ci_high[i]) == (
            interval.delta, interval.low, interval.high,
        )  # fmt: skip
        assert table.p_value[i] == rl.permutation_test(np.where(mask[i], row, 0.0), seed=2)


def test_a_mask_of_one_row_serves_all():
    deltas, mask = batch(), np.arange(N) % 3 > 0
    one = rl.compare_deltas(deltas, mask=mask, **QUIET)
    assert_same(one, rl.compare_deltas(deltas, mask=np.broadcast_to(mask, deltas.shape), **QUIET))


@pytest.mark.parametrize("n", [12, 30, N, 120, 600])
def test_exact_rows_are_single_exact_calls_up_to_their_bounds(n):
    rng = np.random.default_rng(n)
    smooth = rng.normal(0.05, 0.3, (8, n)) * rng.uniform(0.5, 2.0, (8, 1))
    rounded, skewed = np.round(smooth, 1), rng.standard_exponential((4, n)) - 0.7
    far = rng.normal(0.4, 0.3, (4, n))
    deltas = np.concatenate([smooth, rounded, skewed, far, np.zeros((1, n))])
    table = rl.compare_deltas(deltas, method="exact", correction=None, min_queries=2)
    for i, row in enumerate(deltas):
        alone = exact_p_value(row)
        assert (table.p_value[i], table.p_error[i]) == (alone.p_value, alone.p_error)
        low, high = exact_interval(row)
        error = 2e-3 * np.std(row) / math.sqrt(n)
        assert table.ci_low[i] == pytest.approx(low, abs=error)
        assert table.ci_high[i] == pytest.approx(high, abs=error)


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_one_sided_exact_rows(alternative):
    deltas = batch()
    table = rl.compare_deltas(deltas, method="exact", correction=None, alternative=alternative)
    for i, row in enumerate(deltas):
        alone = exact_p_value(row, alternative)
        assert (table.p_value[i], table.p_error[i]) == (alone.p_value, alone.p_error)


def test_auto_computes_where_that_is_cheap():
    deltas = np.random.default_rng(0).normal(0.1, 1.0, (3, 43))
    deltas[1] = np.round(deltas[1], 1)
    table = rl.compare_deltas(deltas, method="auto", correction=None)
    expected = [rl.compare_deltas(row[None], method="auto", correction=None).method[0] for row in deltas]
    assert table.method.tolist() == expected
    assert "lattice convolution" in expected


@pytest.mark.parametrize("interval", ["percentile", "expanded", "bca", "studentized"])
def test_every_kind_of_interval_is_that_of_the_single_call(interval):
    deltas = batch()[[0, 1, 6]]
    table = rl.compare_deltas(deltas, interval=interval, seed=4, n_resamples=800, **QUIET)
    for i, row in enumerate(deltas):
        alone = rl.paired_bootstrap(row, interval=interval, seed=4, n_resamples=800)
        assert (table.ci_low[i], table.ci_high[i]) == (alone.low, alone.high)


@pytest.mark.parametrize("n", [12, 39, 300, MOST_COUNTED, MOST_COUNTED + 1, 2500])
def test_rows_are_exact_where_they_would_be_alone(n):
    rng = np.random.default_rng(n)
    fine = rng.integers(-20_000, 20_000, (2, n)) / 20_000
    rows = np.concatenate([batch(n), fine, np.where(np.arange(n) < 39, batch(n), 0.0)])
    assert cheap_rows(rows, 2.0**-52).tolist() == [exact_is_cheap(row) for row in rows]


@pytest.mark.parametrize(
    "deltas",
    [np.zeros((0, 5)), np.zeros((0, 0)), np.zeros((3, 0)), np.ones((1, 1)), [[1.0]], np.zeros((4, 30))],
    ids=["no rows", "nothing", "no queries", "one query", "one value", "zeros"],
)
@pytest.mark.parametrize("method", ["monte-carlo", "exact", "auto"])
def test_hostile_shapes(deltas, method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = rl.compare_deltas(deltas, method=method, n_permutations=999, n_resamples=99)
    rows, n = np.asarray(deltas).shape
    assert len(table) == rows
    assert np.isnan(table.p_value).all() == (n < 20 or rows == 0)
    if n >= 20:
        assert table.p_value.tolist() == [1.0] * rows
        assert table.ci_low.tolist() == table.ci_high.tolist() == [0.0] * rows
    json.dumps(table.to_dict())


def test_rows_below_the_minimum_have_no_test_and_no_part_in_the_correction():
    deltas = batch()
    mask = np.ones(deltas.shape, dtype=bool)
    mask[0, 10:] = False
    mask[1] = False
    table = rl.compare_deltas(deltas, mask=mask, method="monte-carlo")
    for column in (table.ci_low, table.ci_high, table.p_value, table.q_value, table.effect):
        assert np.isnan(column[:2]).all()
    assert table.n_queries.tolist()[:3] == [10, 0, N]
    assert table.delta[0] == pytest.approx(deltas[0, :10].mean())
    assert math.isnan(table.delta[1])
    tested = table.p_value[2:].tolist()
    assert tuple(table.q_value[2:].tolist()) == rl.benjamini_hochberg(tested)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, np.bool_, np.uint8])
def test_narrow_types_are_widened(dtype):
    deltas = np.random.default_rng(0).integers(0, 2, (5, 40)).astype(dtype)
    assert_same(
        rl.compare_deltas(deltas, n_resamples=200, n_permutations=200, **QUIET),
        rl.compare_deltas(deltas.astype(np.float64), n_resamples=200, n_permutations=200, **QUIET),
    )


def test_float32_ties_like_the_single_call():
    deltas = np.round(np.random.default_rng(1).normal(0.02, 0.2, (6, 50)), 1).astype(np.float32)
    table = rl.compare_deltas(deltas, **QUIET)
    for i, row in enumerate(deltas):
        assert table.p_value[i] == rl.permutation_test(row)


@pytest.mark.parametrize(("mask", "syncs"), [(None, 1), (np.arange(40) % 5 > 0, 1)])
def test_monte_carlo_takes_one_transfer(mask, syncs):
    deltas, counter = fake_array(np.random.default_rng(0).normal(size=(3, 40)))
    rl.compare_deltas(deltas, mask=mask, n_resamples=50, n_permutations=50, **QUIET)
    assert counter.count == syncs


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_named(bad, user_backend):
    deltas = batch()
    deltas[2, 7] = bad
    with user_backend.precise():
        array = user_backend.asarray(deltas)
    with pytest.raises(ValueError, match=r"1 of 371 values that are not finite \(at comparison 2 query 7\)"):
        rl.compare_deltas(array, n_resamples=20, n_permutations=20, **QUIET)
    mask = np.ones(deltas.shape, dtype=bool)
    mask[2, 7] = False
    rl.compare_deltas(array, mask=mask, n_resamples=20, n_permutations=20, **QUIET)


@pytest.mark.parametrize(
    ("deltas", "options", "message"),
    [
        (np.zeros(5), {}, r"deltas must have shape \(comparisons, queries\), got \(5,\)"),
        ([[1.0], [1.0, 2.0]], {}, "deltas must be rows of numbers"),
        (np.array([["a"]]), {}, "deltas must be real numbers"),
        (np.zeros((2, 3)), {"mask": np.ones((2, 4), dtype=bool)}, r"shape of deltas, \(2, 3\)"),
        (np.zeros((2, 3)), {"mask": np.ones((2, 3))}, "mask must hold booleans"),
        (np.zeros((2, 3)), {"family": ["a"]}, "a label for each of the 2 comparisons, got 1"),
        (np.zeros((2, 3)), {"correction": "tukey"}, "correction must be one of bh, by, holm, maxt"),
        (np.zeros((2, 3)), {"method": "guess"}, "method must be one of"),
    ],
)
def test_bad_input_is_named(deltas, options, message):
    with pytest.raises(ValueError, match=message):
        rl.compare_deltas(deltas, **options)


def test_ten_thousand_comparisons_need_more_flips_than_ten_thousand():
    deltas = np.zeros((10_000, 20))
    deltas[0] = 1.0
    with pytest.warns(CoarsePValueWarning, match=r"10000 comparisons .* at least 200000"):
        rl.compare_deltas(deltas, method="monte-carlo", n_permutations=9999, n_resamples=10)


def test_families_are_corrected_apart():
    deltas = batch()
    family = ["a", "b", "a", "b", "a", "b", "a"]
    table = rl.compare_deltas(deltas, family=family, method="monte-carlo")
    for label in "ab":
        rows = [i for i, own in enumerate(family) if own == label]
        assert tuple(table.q_value[rows].tolist()) == rl.benjamini_hochberg(table.p_value[rows].tolist())


def test_differences_are_shares_of_the_means_that_are_given():
    deltas = batch()
    means = np.array([0.5, 0.25, 0.0, 1.0, 2.0, 1.0, -1.0])
    table = rl.compare_deltas(deltas, mean_a=means, n_resamples=50, n_permutations=50, **QUIET)
    assert math.isnan(table.relative_delta[2])
    kept = means != 0.0
    # A share of the mean's size: an increase is positive beside a negative mean, too.
    np.testing.assert_array_equal(table.relative_delta[kept], table.delta[kept] / np.abs(means[kept]))
    assert table.to_dict()["relative_delta"][2] is None
    with pytest.raises(ValueError, match=r"mean_a must have shape \(7,\), a mean for each row, got \(2,\)"):
        rl.compare_deltas(deltas, mean_a=[1.0, 2.0], n_resamples=50, n_permutations=50, **QUIET)


def test_the_table_shows_itself():
    table = rl.compare_deltas(batch(), n_resamples=100, n_permutations=500, method="monte-carlo")
    assert repr(table) == "<DeltaTable: 7 comparisons, seed 0>"
    assert str(table).count("\n") == 7
    assert table.to_frame("polars").shape == (7, 12)
    assert table._repr_html_().startswith("<table>")
    json.dumps(table.to_dict())


def test_the_null_distribution_of_a_large_batch_is_never_kept():
    """A slice of 10,000 x 7,000 x 10,000: what the buffers of one chunk take, for any number of chunks."""
    values = np.broadcast_to(np.random.default_rng(0).normal(size=7000), (10_000, 7000))

    def no_words(some):
        return np.zeros((110, len(some)), dtype=np.uint64)

    rows, some, sums = next(flipped_parts(values, no_words, range(10_000)))
    assert (rows, some) == (slice(0, 1024), range(512))
    assert sums.base.nbytes + 512 * 7000 * 8 <= 64 * 2**20


@pytest.mark.slow
@pytest.mark.parametrize("method", ["monte-carlo", "exact"])
def test_peak_memory_stays_within_the_budget(method):
    deltas = np.random.default_rng(0).normal(0.02, 1.0, size=(300, 7000))
    budget = 64 * 2**20
    with memory_budget(budget):
        tracemalloc.start()
        rl.compare_deltas(deltas, n_resamples=2000, n_permutations=500, method=method, correction=None)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak <= budget


def test_slabs_of_exact_rows_change_nothing():
    deltas = np.concatenate([batch(400, seed) for seed in range(12)])
    whole = rl.compare_deltas(deltas, method="exact", correction=None)
    with memory_budget(2**20):
        part = rl.compare_deltas(deltas, method="exact", correction=None)
    np.testing.assert_allclose(part.p_value, whole.p_value, rtol=1e-9)
    np.testing.assert_allclose(part.ci_low, whole.ci_low, rtol=1e-9)


def test_results_are_on_the_host(backend):
    table = rl.compare_deltas(backend.asarray(batch()), n_resamples=50, n_permutations=50, **QUIET)
    assert all(isinstance(getattr(table, name), np.ndarray) for name in COLUMNS)
    assert to_host(table.p_value)[0] is not None


def test_every_backend_computes_the_same(user_backend):
    deltas = np.concatenate([batch(), np.random.default_rng(9).normal(0.25, 0.3, (6, N))])
    expected = rl.compare_deltas(deltas, method="exact", correction=None)
    with user_backend.precise():
        array = user_backend.asarray(deltas)
    found = rl.compare_deltas(array, method="exact", correction=None)
    assert found.method.tolist() == expected.method.tolist()
    np.testing.assert_allclose(found.p_value, expected.p_value, rtol=1e-6)
    np.testing.assert_allclose(found.ci_low, expected.ci_low, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.ci_high, expected.ci_high, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", ["exact", "auto"])
def test_exact_methods_take_two_transfers(method):
    rng = np.random.default_rng(0)
    deltas, counter = fake_array(np.concatenate([rng.normal(size=(6, 60)), rng.normal(0.5, 0.4, (6, 60))]))
    rl.compare_deltas(deltas, method=method, correction=None)
    assert counter.count == 2


def test_exact_rows_leave_out_what_is_not_measured():
    rng = np.random.default_rng(3)
    deltas = rng.normal(0.1, 0.3, (5, 60))
    mask = rng.random(deltas.shape) < 0.9
    table = rl.compare_deltas(np.where(mask, deltas, np.nan), mask=mask, method="exact", correction=None)
    for i, row in enumerate(deltas):
        alone = rl.compare_deltas(row[None, mask[i]], method="exact", correction=None)
        assert table.p_value[i] == pytest.approx(alone.p_value[0], rel=1e-6)
        assert (table.delta[i], table.effect[i]) == (alone.delta[0], alone.effect[0])
        assert table.ci_low[i] == pytest.approx(alone.ci_low[0], abs=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e300, 2.0**-1060])
def test_no_scale_changes_an_exact_p_value(scale):
    deltas = np.random.default_rng(4).normal(0.1, 0.3, (4, 60))
    deltas[3] = 0.25 + deltas[3]
    kept = {"method": "exact", "correction": None}
    if scale > 2.0**-1000:
        found = rl.compare_deltas(deltas * scale, **kept).p_value
        np.testing.assert_allclose(found, rl.compare_deltas(deltas, **kept).p_value, rtol=1e-9)
    else:
        assert np.isfinite(rl.compare_deltas(deltas * scale, **kept).p_value).all()
