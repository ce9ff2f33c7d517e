"""Calls from several threads at once do not disturb each other."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ranklens.arrays import Purpose, host_ends, memory_budget, words
from ranklens.arrays.threads import for_each, n_cores
from ranklens.kernels import resample_sums
from ranklens.stats import compare_deltas, paired_bootstrap, permutation_test


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


def test_the_number_of_threads_changes_no_number(monkeypatch):
    single = np.random.default_rng(0).normal(0.05, 1, size=6000)
    rows = np.random.default_rng(1).normal(0.05, 1, size=(40, 90))

    def found():
        interval = paired_bootstrap(single, n_resamples=1000)
        table = compare_deltas(rows, method="monte-carlo", correction=None, n_resamples=1000)
        return [interval.low, interval.high, *table.p_value, *table.ci_low, *table.ci_high]

    by_threads = []
    for n_threads in (1, 2, 3, 8):
        for module in (resample_sums, host_ends):
            monkeypatch.setattr(module, "n_cores", lambda n_threads=n_threads: n_threads)
        by_threads.append(found())
    assert all(numbers == by_threads[0] for numbers in by_threads)


MATRIX_PRODUCTS = """
import numpy as np
from ranklens import compare_deltas
rows = np.random.default_rng(1).normal(0.05, 1, size=(300, 700))
options = {"method": "monte-carlo", "n_permutations": 600, "n_resamples": 600, "correction": "maxt"}
table = compare_deltas(rows, **options)
print(table.p_value.tolist(), table.q_value.tolist(), table.ci_low.tolist(), table.ci_high.tolist())
"""


def test_the_threads_of_matrix_products_change_no_number():
    found = set()
    for n_threads in ("1", "2", "4", "8"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": n_threads, "MKL_NUM_THREADS": n_threads}
        done = subprocess.run(
            [sys.executable, "-c", MATRIX_PRODUCTS],
            capture_output=True, text=True, check=True, env=environment,
        )  # fmt: skip
        found.add(done.stdout)
    assert len(found) == 1
