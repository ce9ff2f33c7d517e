"""Calls from several threads at once do not disturb each other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ranklens.arrays import Purpose, memory_budget, words
from ranklens.arrays.threads import for_each, n_cores
from ranklens.stats import paired_bootstrap, permutation_test


def test_words_of_two_threads_do_not_mix():
    def draw(seed):
        return words(seed, 0, 9000, 3, Purpose.SHUFFLES)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(draw, range(12)))
    for seed, drawn in enumerate(found):
        np.testing.assert_array_equal(drawn, draw(seed))


def test_two_calls_at_once_give_what_they_give_alone():
    samples = [np.random.default_rng(seed).normal(0.05, 1, size=3000) for seed in range(4)]

    def both(deltas):
        with memory_budget(2**21):
            return permutation_test(deltas, n_permutations=1000), paired_bootstrap(deltas, n_resamples=500)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(both, samples))
    assert found == [both(deltas) for deltas in samples]


def test_every_item_is_done_and_the_first_error_is_raised():
    done = []
    for_each(done.append, range(20), n_threads=3)
    assert sorted(done) == list(range(20))

    def fail(item):
        raise RuntimeError(f"item {item}")

    with pytest.raises(RuntimeError, match="item 0"):
        for_each(fail, range(4), n_threads=2)
    assert n_cores() >= 1
