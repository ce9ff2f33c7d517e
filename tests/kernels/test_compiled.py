"""Kernels under JAX: jitted or not the same, and compiled once for many query counts."""

from __future__ import annotations

import functools
import importlib
import logging
import re

import numpy as np
import pytest
from backends import open_variant

from ranklens.arrays import Purpose, to_host, use_backend, words
from ranklens.arrays.compile import steady_length
from ranklens.kernels.flips import count_extreme, flipped_sums, sign_matrix
from ranklens.kernels.resamples import extremes_and_sum, order_statistics, picked_sums
from ranklens.kernels.ties import comparable
from ranklens.stats import compare_deltas, paired_bootstrap, permutation_test

EPS = 2.0**-52
SHIPPING = {"_identity_fn", "_pad", "convert_element_type"}
"""What each length of a sample compiles anew: bringing it to the device and appending zeros."""
COMPILING = re.compile(r"Compiling (?:jit\()?(\w+)")
VALUES = np.random.default_rng(0).normal(size=70)
FLIP_WORDS = words(0, 0, 40, 2, Purpose.FLIPS).view(np.int64)
DRAW_WORDS = words(0, 0, 40, 35, Purpose.RESAMPLES).view(np.int64)

ROWS = np.stack([VALUES, np.round(VALUES, 1), np.round(VALUES * 8) / 2520, 0.0 * VALUES, np.round(VALUES)])

KERNELS = {
    "comparable": (functools.partial(comparable, eps=EPS), (VALUES,)),
    "comparable rows": (functools.partial(comparable, eps=EPS), (ROWS,)),
    "comparable rows on no lattice": (functools.partial(comparable, eps=EPS), (ROWS[:1],)),
    "flipped sums": (flipped_sums, (VALUES, FLIP_WORDS)),
    "sign matrix": (lambda drawn: sign_matrix(drawn, 70, "float64"), (FLIP_WORDS,)),
    "extreme sums": (functools.partial(count_extreme, observed=0.5, band=0.1, alternative="less"), (VALUES,)),
    "picked sums": (functools.partial(picked_sums, n=70, first_draw=0, wide=False), (VALUES, DRAW_WORDS)),
    "extremes": (functools.partial(extremes_and_sum, n=60), (VALUES,)),
    "order statistics": (functools.partial(order_statistics, ranks=(0, 3, 69)), (VALUES,)),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("x64", [False, True])
def test_a_jitted_kernel_gives_what_it_gives_on_numpy(name, x64):
    kernel, inputs = KERNELS[name]
    backend = open_variant("jax")
    jax = importlib.import_module("jax")
    expected = kernel(*inputs)
    with jax.enable_x64(x64), backend.precise():
        found = jax.jit(kernel)(*[backend.asarray(value) for value in inputs])
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for one, other in pairs:
            np.testing.assert_allclose(to_host(one)[0], other, atol=1e-13)


def test_programs_serve_many_query_counts(caplog):
    open_variant("jax")
    jax = importlib.import_module("jax")
    deltas = np.random.default_rng(0).normal(size=64)
    with use_backend("jax"):
        for n in (64, 63):
            permutation_test(deltas[:n].tolist(), n_permutations=50)
            paired_bootstrap(deltas[:n].tolist(), n_resamples=50)
        with jax.log_compiles(), caplog.at_level(logging.WARNING):
            for n in range(40, 60, 5):
                permutation_test(deltas[:n].tolist(), n_permutations=50)
                paired_bootstrap(deltas[:n].tolist(), n_resamples=50)
    compiled = {found[1] for record in caplog.records if (found := COMPILING.match(record.getMessage()))}
    assert compiled <= SHIPPING


def test_programs_serve_rows_of_many_different_missing_queries(caplog):
    backend = open_variant("jax")
    jax = importlib.import_module("jax")
    deltas = np.random.default_rng(0).normal(size=(6, 120))

    def compare(n_missing):
        mask = np.arange(120) >= np.array(n_missing)[:, None]
        kept = {"method": "monte-carlo", "n_permutations": 50, "n_resamples": 50, "correction": None}
        with backend.precise():
            array = backend.asarray(deltas)
        return compare_deltas(array, mask=mask, **kept)

    compare([0, 1, 2, 3, 4, 5])
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        found = compare([6, 7, 8, 9, 11, 15])
    compiled = {found[1] for record in caplog.records if (found := COMPILING.match(record.getMessage()))}
    assert compiled <= SHIPPING
    assert found.n_queries.tolist() == [114, 113, 112, 111, 109, 105]


@pytest.mark.parametrize(
    ("mean", "step", "sizes"),
    [
        (0.05, "characteristic function", [(7, 60), (8, 59), (7, 49)]),
        (0.9, "tilted characteristic function", [(7, 60), (8, 59), (7, 49)]),
        (0.02, "characteristic function", [(7, 1000), (8, 990), (7, 900)]),
        (0.25, "tilted characteristic function", [(7, 1000), (8, 990), (7, 900)]),
    ],
    ids=["near", "far", "long and near", "long and far"],
)
def test_programs_of_exact_batches_serve_other_numbers_of_rows_and_queries(caplog, mean, step, sizes):
    open_variant("jax")
    jax = importlib.import_module("jax")
    # Rows that are much alike take the same steps.
    like = np.random.default_rng(1).normal(mean, 1.0, 1000)
    batches = [
        like[:n] * np.random.default_rng(rows).uniform(1.0, 1.001, (rows, n)) + 0.001 * mean
        for rows, n in sizes
    ]
    plain = {"method": "exact", "correction": None}
    expected = [compare_deltas(deltas, **plain) for deltas in batches]
    with use_backend("jax"):
        ours = [compare_deltas(batches[0].tolist(), **plain)]
        with jax.log_compiles(), caplog.at_level(logging.WARNING):
            ours += [compare_deltas(deltas.tolist(), **plain) for deltas in batches[1:]]
    compiled = {found[1] for record in caplog.records if (found := COMPILING.match(record.getMessage()))}
    assert compiled <= SHIPPING
    for one, other in zip(ours, expected, strict=True):
        assert step in one.method
        np.testing.assert_allclose(one.p_value, other.p_value, rtol=1e-9)
        np.testing.assert_allclose(one.ci_low, other.ci_low, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [250, 330, 400, 700])
@pytest.mark.parametrize("mean", [0.02, 0.2])
def test_long_exact_rows_on_jax_have_the_p_values_of_the_host(mean, n):
    open_variant("jax")
    # So many rows need several numbers of nodes, in no order.
    deltas = np.random.default_rng(n).normal(mean, 1.0, (16, n))
    deltas[3::5] = np.random.default_rng(2).standard_t(3, (3, n))
    plain = {"method": "exact", "correction": None}
    expected = compare_deltas(deltas, **plain)
    with use_backend("jax"):
        found = compare_deltas(deltas.tolist(), **plain)
    np.testing.assert_array_equal(found.method, expected.method)
    np.testing.assert_allclose(found.p_value, expected.p_value, rtol=1e-9, atol=2e-11)


def test_lengths_grow_by_at_most_a_half():
    for n in (65, 97, 1000, 6980, 8193):
        assert n <= steady_length(n) <= 1.5 * n
        assert steady_length(n) % 2 == 0
