"""Order statistics found by counting are those of the sorted rows, whatever the rows look like."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from backends import open_variant

from ranklens.arrays import memory_budget, to_host
from ranklens.arrays.jax_ends import ends_of_parts, ends_of_rows
from ranklens.arrays.parts import part_length
from ranklens.kernels.resample_sums import counted_sums, resample_sums
from ranklens.kernels.resampled_ends import resampled_ends

M = 1201
RANKS = (29, 30, M - 31, M - 30)
rng = np.random.default_rng(0)
ROWS = {
    "normal": rng.normal(size=M),
    "far from zero": 1e9 + rng.normal(size=M),
    "skewed": rng.gamma(0.3, size=M),
    "heavy tails": rng.standard_cauchy(M) ** 3,
    "one far value in front": np.r_[1e6, rng.normal(size=M - 1)],
    "integers": np.round(rng.normal(size=M) * 5.0),
    "large integers": np.round(rng.normal(size=M) * 2.0**45),
    "few values": rng.choice([0.1, 0.2, 0.7], M),
    "nearly equal": np.nextafter(0.3, rng.integers(0, 2, M).astype(np.float64)),
    "one value": np.full(M, 0.3),
    "zeros": np.zeros(M),
    "two clusters": np.where(rng.random(M) < 0.02, -1e5, 1e5) + rng.normal(size=M),
}


@pytest.mark.parametrize("one_by_one", [True, False])
@pytest.mark.parametrize("ranks", [RANKS, (0, 0, M - 1, M - 1), (0, 1, 599, 600), (600, 600, 600, 600)])
def test_ends_are_elements_of_the_sorted_row(ranks, one_by_one):
    backend = open_variant("jax")
    jax = importlib.import_module("jax")
    rows = np.stack(list(ROWS.values()))
    with backend.precise():
        found = jax.jit(lambda sums: ends_of_rows(sums, ranks, one_by_one))(backend.asarray(rows))
        np.testing.assert_array_equal(to_host(found)[0], np.sort(rows, axis=1)[:, ranks])


@pytest.mark.parametrize("m", [1, 2, 3, 511, 513])
def test_ends_of_few_resamples(m):
    backend = open_variant("jax")
    jax = importlib.import_module("jax")
    rows, ranks = rng.normal(size=(4, m)), (0, min(1, m - 1), max(0, m - 2), m - 1)
    with backend.precise():
        found = jax.jit(lambda sums: ends_of_rows(sums, ranks, True))(backend.asarray(rows))
        np.testing.assert_array_equal(to_host(found)[0], np.sort(rows, axis=1)[:, ranks])


@pytest.mark.parametrize("one_by_one", [True, False])
def test_what_fills_the_last_part_is_not_looked_at(one_by_one):
    backend = open_variant("jax")
    jax = importlib.import_module("jax")
    rows = rng.normal(size=(5, 60))
    with backend.precise():
        parts = [backend.asarray(np.moveaxis(rows.reshape(5, 3, 20), 0, 1)[some]) for some in ([0, 1], [2])]
        found = jax.jit(lambda cut: ends_of_parts(cut, 47, (1, 2, 44, 45), one_by_one))(parts)
    np.testing.assert_array_equal(to_host(found)[0], np.sort(rows[:, :47], axis=1)[:, [1, 2, 44, 45]])


@pytest.mark.parametrize(("n", "n_resamples"), [(51, 1201), (64, 513), (7, 40)])
def test_parts_hold_the_sums_of_the_host(n, n_resamples):
    backend = open_variant("jax")
    values = np.round(rng.normal(size=(5, n)) * 100.0)
    resamples, ranks = range(3, 3 + n_resamples), (1, 2, n_resamples - 3, n_resamples - 2)
    expected = resample_sums(values, n, seed=4, resamples=resamples)
    ends = resampled_ends(values, n, seed=4, n_resamples=n_resamples, ranks=ranks)
    for budget in (2**20, 2**28):
        with memory_budget(budget), backend.precise():
            padded = backend.asarray(np.pad(values, ((0, 0), (0, 64 - n))))
            found = counted_sums(padded, n, seed=4, resamples=resamples)
            own = resampled_ends(padded, n, seed=4, n_resamples=n_resamples, ranks=ranks)
        np.testing.assert_array_equal(to_host(found)[0], expected)
        np.testing.assert_array_equal(to_host(own)[0], ends)


def test_parts_leave_little_rest():
    backend = open_variant("jax")
    for m in (1, 40, 511, 512, 513, 9999, 10_000):
        length = part_length(m, 512, backend)
        assert length <= 512
        assert 0 <= -(-m // length) * length - m < -(-m // 512)
