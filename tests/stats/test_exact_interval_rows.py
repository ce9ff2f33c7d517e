"""Exact intervals of many rows: each is what it is alone, number for number, whatever shares its batch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklens import MetricResult, compare, compare_deltas, compare_many, compare_segments, paired_bootstrap
from ranklens.arrays import memory_budget
from ranklens.stats.ideal.percentile import exact_interval

KINDS = ("percentile", "expanded", "bca")
EXACT = {"method": "exact", "correction": None, "min_queries": 2}

ROWS = {
    "smooth": lambda rng, n: rng.normal(0.1, 1.0, n),
    "skewed": lambda rng, n: rng.exponential(1.0, n) - 0.7,
    "tenths": lambda rng, n: rng.integers(-10, 11, n) / 10,
    "ten-thousandths": lambda rng, n: np.round(rng.normal(0.0, 0.3, n), 4),
    "reciprocal ranks": lambda rng, n: 1 / rng.integers(1, 101, n) - 1 / rng.integers(1, 7, n),
    "three values": lambda rng, n: rng.choice(rng.normal(size=3), n),
    "near a lattice": lambda rng, n: rng.integers(-2, 3, n) + 1e-5 * rng.normal(size=n),
    "mostly zero": lambda rng, n: np.where(rng.random(n) < 0.1, rng.normal(size=n), 0.0),
    "an outlier": lambda rng, n: np.where(np.arange(n) == n // 2, 1e300, rng.normal(size=n)),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "tiny": lambda rng, n: 1e-300 * rng.normal(size=n),
    "huge": lambda rng, n: 1e299 * rng.normal(size=n),
    "constant": lambda rng, n: np.full(n, rng.normal()),
    "zero": lambda rng, n: np.zeros(n),
}


def rows_of(kinds, n, seed):
    rng = np.random.default_rng(seed)
    return np.stack([ROWS[kind](rng, n) for kind in kinds])


def alone(row, **options):
    found = paired_bootstrap(row, method="exact", **options)
    return found.low, found.high


@settings(max_examples=60, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(sorted(ROWS)), min_size=1, max_size=40),
    n=st.sampled_from([2, 3, 7, 8, 9, 13, 20, 53, 64, 65, 140, 801]),
    seed=st.integers(0, 2**20),
    interval=st.sampled_from(KINDS),
    alternative=st.sampled_from(["two-sided", "greater", "less"]),
    alpha=st.sampled_from([0.05, 0.1, 0.9999, 1e-6]),
    masked=st.booleans(),
    n_bytes=st.sampled_from([2**20, 2**24, 2**28]),
)
def test_a_row_of_any_batch_is_the_single_call(kinds, n, seed, interval, alternative, alpha, masked, n_bytes):
    deltas = rows_of(kinds, n, seed)
    mask = np.random.default_rng(seed).random(deltas.shape) < (0.8 if masked else 1.0)
    mask[:, :2] = True
    asked = {"interval": interval, "alternative": alternative, "alpha": alpha}
    with memory_budget(n_bytes):
        table = compare_deltas(deltas, mask=mask, **asked, **EXACT)
    for row, kept, low, high in zip(deltas, mask, table.ci_low, table.ci_high, strict=True):
        assert (low, high) == alone(row[kept], **asked)
        assert low <= high


def test_float32_rows_are_the_single_calls():
    deltas = rows_of(["smooth", "tenths", "skewed"], 40, 1).astype(np.float32)
    table = compare_deltas(deltas, **EXACT)
    for row, low, high in zip(deltas, table.ci_low, table.ci_high, strict=True):
        assert (low, high) == alone(row)


@pytest.mark.parametrize("n_threads", [1, 8])
def test_no_number_of_threads_changes_an_interval(n_threads, monkeypatch):
    deltas = np.concatenate([rows_of(sorted(ROWS), 60, seed) for seed in range(4)])
    whole = compare_deltas(deltas, **EXACT)
    monkeypatch.setattr("ranklens.stats.ideal.convolution.n_cores", lambda: n_threads)
    found = compare_deltas(deltas, **EXACT)
    np.testing.assert_array_equal(found.ci_low, whole.ci_low)
    np.testing.assert_array_equal(found.ci_high, whole.ci_high)


def runs_of(deltas):
    queries = [f"q{i:03}" for i in range(deltas.shape[1])]
    runs = {
        f"run{i}": MetricResult("AP", dict(zip(queries, row, strict=True))) for i, row in enumerate(deltas)
    }
    return {"zero": MetricResult("AP", dict.fromkeys(queries, 0.0))} | runs


@pytest.mark.parametrize("interval", KINDS)
def test_a_row_of_a_table_is_the_single_comparison(interval):
    runs = runs_of(rows_of(["smooth", "skewed", "tenths", "reciprocal ranks", "three values", "zero"], 60, 2))
    groups = {query: "ab"[int(query[1:]) % 3 == 0] for query in runs["zero"].per_query}
    asked = {"method": "exact", "interval": interval}
    for row in compare_many(runs, correction=None, **asked):
        single = compare(runs[row.run_a], runs[row.run_b], **asked)
        assert (row.ci_low, row.ci_high) == (single.ci_low, single.ci_high)
    for row in compare_segments(runs["run0"], runs["run1"], groups, correction=None, **asked):
        if row.segment is not None:
            kept = [q for q, group in groups.items() if row.segment.endswith(group)]
            a, b = (MetricResult("AP", {q: runs[run].per_query[q] for q in kept}) for run in ("run0", "run1"))
            single = compare(a, b, **asked)
            assert (row.ci_low, row.ci_high) == (single.ci_low, single.ci_high)


@pytest.mark.parametrize("interval", KINDS)
def test_other_backends_agree(user_backend, interval):
    deltas = rows_of(["smooth", "skewed", "tenths", "reciprocal ranks", "three values"], 53, 3)
    expected = compare_deltas(deltas, interval=interval, **EXACT)
    with user_backend.precise():
        array = user_backend.asarray(deltas)
    found = compare_deltas(array, interval=interval, **EXACT)
    np.testing.assert_allclose(found.ci_low, expected.ci_low, atol=1e-10)
    np.testing.assert_allclose(found.ci_high, expected.ci_high, atol=1e-10)


@pytest.mark.parametrize("n", [12, 53, 200, 1000])
def test_ends_lie_where_a_much_finer_grid_has_them(n):
    kinds = [kind for kind in ROWS if kind not in ("constant", "zero", "an outlier", "huge", "tiny")]
    for kind, row in zip(kinds, rows_of(kinds, n, n), strict=True):
        slack = 0.005 * np.std(row) / math.sqrt(n)
        for end, level in zip(exact_interval(row), (0.025, 0.975), strict=True):
            # A law with gaps has no sharp quantiles: nearby levels are those of a million resamples.
            first, last = finely(row, [level - 2e-4, level + 2e-4])
            assert first - slack <= end <= last + slack, kind


def finely(row, levels, length=1 << 19, spread=20.0):
    """Return quantiles of the resampled mean from a grid of 2^19 points over 20 standard errors."""
    n = len(row)
    width = spread * np.std(row) * math.sqrt(n) / length
    steps = np.rint((row - np.mean(row)) / width).astype(np.int64)
    law = np.fft.irfft(np.fft.rfft(np.bincount(steps % length, minlength=length) / n) ** n, n=length)
    ends = np.interp(levels, np.cumsum(np.roll(law, length // 2)), np.arange(length) - length // 2 + 0.5)
    return np.mean(row) + (ends / n - np.mean(steps)) * (np.std(row) / np.std(steps))
