"""Resamples: which differences they draw, their sums, and order statistics."""

from __future__ import annotations

import numpy as np
import pytest

from ranklens.arrays import Purpose, memory_budget, to_host, words
from ranklens.kernels import resample_sums as module
from ranklens.kernels.resample_sums import resample_sums
from ranklens.kernels.resamples import WIDE_FROM, drawn_indices, n_word_columns, order_statistics


def documented_draws(seed: int, resample: int, n: int) -> list[int]:
    """Return the draws of one resample by the documented layout, in Python integers."""
    columns = n if n > 2**16 else -(-n // 2)
    drawn = [int(word) for word in words(seed, resample, resample + 1, columns, Purpose.RESAMPLES)[:, 0]]
    if n > 2**16:
        return [word * n >> 64 for word in drawn]
    halves = [half for word in drawn for half in (word % 2**32, word >> 32)]
    return [half * n >> 32 for half in halves[:n]]


@pytest.mark.parametrize("n", [1, 2, 7, 100, 6980, 2**16])
def test_draws_follow_the_documented_layout(backend, n):
    drawn = words(8, 5, 8, n_word_columns(n), Purpose.RESAMPLES)
    (found,) = to_host(drawn_indices(backend.asarray(drawn.view(np.int64)), n, n >= WIDE_FROM))
    assert found[:n, 1].tolist() == documented_draws(8, 6, n)


@pytest.mark.parametrize("n", [2**16 + 1, 1_000_003, 2**31 - 1])
def test_large_samples_take_a_whole_word(backend, n):
    drawn = words(8, 0, 3, 400, Purpose.RESAMPLES)
    (found,) = to_host(drawn_indices(backend.asarray(drawn.view(np.int64)), n, n >= WIDE_FROM))
    assert found.tolist() == [[int(word) * n >> 64 for word in row] for row in drawn.tolist()]


@pytest.mark.parametrize("n", [1, 2, 9, 333])
def test_sums_are_those_of_the_draws(backend, n):
    values = np.random.default_rng(n).normal(size=n)
    expected = [values[documented_draws(3, i, n)].sum() for i in range(20)]
    for shaped in (values, np.stack([values, -values])):
        (found,) = to_host(resample_sums(backend.asarray(shaped), n, seed=3, resamples=range(20)))
        first = found if shaped.ndim == 1 else found[0]
        np.testing.assert_allclose(first, expected, rtol=0, atol=1e-15 * np.abs(values).sum())
        assert shaped.ndim == 1 or (found[1] == -found[0]).all()


@pytest.mark.parametrize("n", [2, 301])
def test_rows_of_a_batch_have_the_sums_they_have_alone(backend, n):
    rows = np.random.default_rng(n).integers(-9, 9, size=(6, n)).astype(float)
    (found,) = to_host(resample_sums(backend.asarray(rows), n, seed=7, resamples=range(3, 900)))
    for row, sums in zip(rows, found, strict=True):
        np.testing.assert_array_equal(sums, resample_sums(row, n, seed=7, resamples=range(3, 900)))


def test_rows_of_a_large_batch_have_the_sums_they_have_alone():
    rows = np.random.default_rng(0).integers(-9, 9, size=(5, WIDE_FROM)).astype(float)
    found = resample_sums(rows, WIDE_FROM, seed=7, resamples=range(3, 20))
    for row, sums in zip(rows, found, strict=True):
        np.testing.assert_array_equal(sums, resample_sums(row, WIDE_FROM, seed=7, resamples=range(3, 20)))


def test_sums_of_a_large_sample_are_those_of_the_draws():
    n = WIDE_FROM + 10
    values = np.arange(n) % 1000 - 500.0
    found = resample_sums(values, values.shape[-1], seed=1, resamples=range(2, 4))
    assert found.tolist() == [values[documented_draws(1, i, n)].sum() for i in (2, 3)]


def test_integers_sum_alike_on_every_backend_and_in_every_cut(backend):
    values = np.random.default_rng(0).integers(-9, 9, size=501).astype(float)
    expected = resample_sums(values, values.shape[-1], seed=2, resamples=range(4500))
    found = resample_sums(backend.asarray(values), values.shape[-1], seed=2, resamples=range(4500))
    np.testing.assert_array_equal(to_host(found)[0], expected)
    part = resample_sums(backend.asarray(values), values.shape[-1], seed=2, resamples=range(4000, 4200))
    np.testing.assert_array_equal(to_host(part)[0], expected[4000:4200])
    with memory_budget(2**20):
        found = resample_sums(backend.asarray(values), values.shape[-1], seed=2, resamples=range(4500))
    np.testing.assert_array_equal(to_host(found)[0], expected)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_threads_change_no_bit(monkeypatch, n_threads):
    values = np.random.default_rng(0).normal(size=1501)
    whole = resample_sums(values, values.shape[-1], seed=2, resamples=range(9000))
    monkeypatch.setattr(module, "_DRAWS_WORTH_THREADS", 1)
    monkeypatch.setattr(module, "n_cores", lambda: n_threads)
    np.testing.assert_array_equal(
        resample_sums(values, values.shape[-1], seed=2, resamples=range(9000)), whole
    )
    np.testing.assert_array_equal(
        resample_sums(values, values.shape[-1], seed=2, resamples=range(100, 5000)), whole[100:5000]
    )


def test_draws_are_uniform():
    n = 24
    drawn = words(0, 0, 20_000, n_word_columns(n), Purpose.RESAMPLES)
    counts = np.bincount(drawn_indices(drawn.view(np.int64), n, False).ravel(), minlength=n)
    expected = 20_000.0
    chi2 = ((counts - expected) ** 2 / expected).sum()
    assert chi2 < 23 + 4 * np.sqrt(2 * 23)


def test_order_statistics(backend):
    sums = backend.asarray(np.array([[3.0, 1.0, 2.0, 9.0], [0.0, -1.0, 5.0, 4.0]]))
    (found,) = to_host(order_statistics(sums, (0, 2, 3)))
    assert found.tolist() == [[1.0, 3.0, 9.0], [-1.0, 4.0, 5.0]]
