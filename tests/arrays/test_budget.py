"""The memory budget bounds what kernels hold, measured at a million differences."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from backends import open_variant

from ranklens.arrays import budget_bytes, cut, memory_budget, rows_within
from ranklens.kernels.flip_counts import flip_counts
from ranklens.kernels.resample_sums import resample_sums
from ranklens.kernels.ties import Comparable
from ranklens.stats import paired_bootstrap, permutation_test

MIB = 2**20


def peak_bytes(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_budget_is_a_setter_and_a_block():
    before = budget_bytes()
    with memory_budget(64 * MIB):
        assert budget_bytes() == 64 * MIB
        with memory_budget(2 * MIB):
            assert budget_bytes() == 2 * MIB
        assert budget_bytes() == 64 * MIB
    assert budget_bytes() == before
    with pytest.raises(ValueError, match="n_bytes must be at least 1048576"):
        memory_budget(10)


def test_cuts_cover_the_range_and_rows_fit():
    parts = list(cut(range(3, 30), 7))
    assert [i for part in parts for i in part] == list(range(3, 30))
    with memory_budget(MIB):
        assert rows_within(1000, 10_000) * 1000 <= MIB
        assert rows_within(10 * MIB, 5) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda deltas: permutation_test(deltas, n_permutations=40), id="flips"),
        pytest.param(lambda deltas: paired_bootstrap(deltas, n_resamples=40), id="resamples"),
        pytest.param(lambda deltas: permutation_test(np.round(deltas, 3), n_permutations=9), id="lattice"),
    ],
)
def test_a_million_differences_within_64_megabytes(call):
    deltas = np.random.default_rng(0).normal(size=1_000_000)
    with memory_budget(64 * MIB):
        assert peak_bytes(lambda: call(deltas)) <= 64 * MIB


@pytest.mark.parametrize("n_comparisons", [1, 40])
def test_batches_keep_within_the_budget(n_comparisons):
    values = np.random.default_rng(0).normal(size=(n_comparisons, 3000))
    sample = Comparable(values, np.ones(n_comparisons), np.zeros(n_comparisons))
    with memory_budget(8 * MIB):
        kept = {"seed": 0, "resamples": range(2000)}
        assert peak_bytes(lambda: flip_counts(sample, alternative="two-sided", **kept)) <= 8 * MIB
        result = 8 * n_comparisons * 2000
        assert (
            peak_bytes(lambda: resample_sums(values, values.shape[-1], seed=0, resamples=range(300)))
            <= 8 * MIB + result
        )


@pytest.mark.parametrize("n", [700, 3000])
def test_a_batch_holds_as_much_for_any_number_of_flips(n):
    """Of 10,000 comparisons of 7000 queries with 10,000 flips a slice; more of any of them are more turns."""
    values = np.random.default_rng(0).normal(size=(1100, n))
    sample = Comparable(values, np.ones(len(values)), np.zeros(len(values)))
    peaks = []
    with memory_budget(16 * MIB):
        for n_flips in (600, 1200):
            kept = {"seed": 0, "resamples": range(n_flips), "alternative": "two-sided"}
            peaks.append(peak_bytes(lambda kept=kept: flip_counts(sample, **kept)))
    assert max(peaks) <= 16 * MIB
    assert peaks[1] - peaks[0] <= MIB / 4


def test_array_api_bodies_keep_within_the_budget():
    strict = open_variant("strict")
    deltas = np.random.default_rng(0).normal(size=40_000)
    with memory_budget(8 * MIB):
        array = strict.asarray(deltas)
        inputs = 2 * deltas.nbytes
        for call in (
            lambda: permutation_test(array, n_permutations=300),
            lambda: paired_bootstrap(array, n_resamples=300),
        ):
            assert peak_bytes(call) <= 8 * MIB + inputs
