"""Sums under random signs: against their definition, and the single path against the batch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ranklens.arrays import Purpose, memory_budget, to_host, words
from ranklens.kernels.flip_counts import flip_counts
from ranklens.kernels.flips import byte_tables, count_extreme, sign_matrix, signed_sums, table_sums
from ranklens.kernels.ties import Comparable, comparable

EPS = 2.0**-52
ALTERNATIVES = ("two-sided", "greater", "less")


def signs(seed: int, n_resamples: int, n: int) -> np.ndarray:
    """Return the documented signs, bit by bit: query q is bit q mod 64 of word(i, q div 64)."""
    drawn = words(seed, 0, n_resamples, -(-n // 64), Purpose.FLIPS)
    query = np.arange(n)
    bits = (drawn[query // 64].T >> (query % 64).astype(np.uint64)) & np.uint64(1)
    return 1.0 - 2.0 * bits


def expected_count(deltas: np.ndarray, seed: int, n_resamples: int, alternative: str) -> int:
    sums = signs(seed, n_resamples, deltas.shape[0]) @ deltas
    band = 8 * EPS * np.abs(deltas).sum()
    observed = deltas.sum()
    extreme = {
        "two-sided": np.abs(sums) >= abs(observed) - band,
        "greater": sums >= observed - band,
        "less": sums <= observed + band,
    }
    return int(extreme[alternative].sum())


def test_signed_sums_are_all_of_them(backend):
    group = np.array([[1.0, 10.0, 100.0, 1000.0], [1.0, -2.0, 4.0, 0.0]])
    (found,) = to_host(signed_sums(backend.asarray(group)))
    for row, members in zip(found, group, strict=True):
        for flips in itertools.product((0, 1), repeat=4):
            index = sum(bit << place for place, bit in enumerate(flips))
            assert row[index] == sum(
                value if not bit else -value for value, bit in zip(members, flips, strict=True)
            )


@pytest.mark.parametrize("n", [1, 8, 53, 64, 65, 200])
def test_table_sums_and_sign_products_follow_the_documented_bits(backend, n):
    deltas = np.random.default_rng(n).normal(size=n)
    drawn = backend.asarray(words(3, 0, 50, -(-n // 64), Purpose.FLIPS).view(np.int64))
    values = backend.asarray(deltas)
    expected = signs(3, 50, n) @ deltas
    by_table = table_sums(byte_tables(values), drawn)
    by_product = sign_matrix(drawn, n, backend.float_dtype) @ values
    for found in to_host(by_table, by_product):
        np.testing.assert_allclose(found, expected, atol=8 * EPS * np.abs(deltas).sum())


@pytest.mark.parametrize("n", [150, 1030])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_single_counts_follow_their_definition(backend, alternative, n):
    deltas = np.random.default_rng(0).normal(0.1, 1.0, size=n)
    sample = comparable(backend.asarray(deltas), EPS)
    count = flip_counts(sample, seed=9, resamples=range(5000), alternative=alternative)
    assert int(to_host(count)[0]) == expected_count(deltas, 9, 5000, alternative)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_a_row_of_a_batch_counts_as_it_does_alone(backend, alternative):
    rng = np.random.default_rng(1)
    rows = np.stack([rng.normal(0.1, 1, 130), np.round(rng.normal(size=130), 1), np.zeros(130)])
    batch = comparable(backend.asarray(rows), EPS)
    (counts,) = to_host(flip_counts(batch, seed=2, resamples=range(3000), alternative=alternative))
    assert counts.shape == (3,)
    for row, count in zip(rows, counts.tolist(), strict=True):
        alone = comparable(backend.asarray(row), EPS)
        assert count == to_host(flip_counts(alone, seed=2, resamples=range(3000), alternative=alternative))[0]


@pytest.mark.parametrize("shape", [(700,), (5, 700)])
def test_no_cut_changes_a_count(backend, shape):
    values = backend.asarray(np.random.default_rng(3).normal(0.02, 1, size=shape))
    sample = comparable(values, EPS)

    def count(start, stop):
        kept = {"seed": 4, "alternative": "two-sided"}
        return to_host(flip_counts(sample, resamples=range(start, stop), **kept))[0]

    whole = count(0, 9000)
    np.testing.assert_array_equal(count(0, 5001) + count(5001, 9000), whole)
    with memory_budget(2**20):
        np.testing.assert_array_equal(count(0, 9000), whole)


def test_a_query_without_a_measurement_is_a_zero(backend):
    deltas = np.random.default_rng(5).normal(0.2, 1, size=100)
    masked = np.where(np.arange(100) % 3 == 0, 0.0, deltas)
    batch = comparable(backend.asarray(np.stack([deltas, masked])), EPS)
    kept = {"seed": 6, "resamples": range(2000), "alternative": "two-sided"}
    (counts,) = to_host(flip_counts(batch, **kept))
    alone = flip_counts(comparable(backend.asarray(masked), EPS), **kept)
    assert counts[1] == to_host(alone)[0]


def test_a_band_counts_sums_that_rounding_parted(backend):
    sums = backend.asarray(np.array([0.6, 0.6 - 1e-16, 0.6 - 1e-9, -0.6]))
    observed, band = backend.asarray(np.array([0.6]))[0], 1e-12
    found = [count_extreme(sums, observed, band, alternative) for alternative in ALTERNATIVES]
    assert [int(value) for value in to_host(*found)] == [3, 2, 4]


def test_counts_stay_on_the_device(backend):
    sample = Comparable(backend.asarray(np.ones(3)), 1.0, 0.5)
    count = flip_counts(sample, seed=0, resamples=range(10), alternative="greater")
    assert backend.device is None or count.device == backend.device
