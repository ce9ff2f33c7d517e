"""Sums and products whose bits depend on the terms alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.arrays import Backend, to_host
from ranklens.kernels.measures_sums import at_ranks, paired_sum, powers, running_product

terms = st.lists(st.floats(0, 10), min_size=1, max_size=40)


@given(terms, st.integers(0, 50))
def test_padding_with_zeros_leaves_every_bit_of_a_sum(values: list[float], n_zeros: int) -> None:
    padded = np.array(values + [0.0] * n_zeros)
    assert paired_sum(padded) == paired_sum(np.array(values))


@given(terms)
def test_a_sum_is_as_exact_as_pairwise_addition_promises(values: list[float]) -> None:
    exact = math.fsum(values)
    levels = max(1, len(values) - 1).bit_length()
    assert abs(float(paired_sum(np.array(values))) - exact) <= levels * 2.0**-52 * exact


@given(terms, st.integers(1, 50))
def test_longer_products_start_with_the_bits_of_shorter_ones(values: list[float], n_more: int) -> None:
    short = running_product(np.array(values))
    long = running_product(np.array(values + [0.5] * n_more))
    np.testing.assert_array_equal(long[: len(values)], short)
    np.testing.assert_allclose(short, np.cumprod(values), rtol=1e-14, atol=1e-300)


def test_sums_and_products_have_the_same_bits_on_every_backend(backend: Backend) -> None:
    values = np.random.default_rng(5).random((3, 4, 37))
    here = [backend.asarray(values)]
    on_device = to_host(
        paired_sum(here[0]), running_product(here[0]), powers(0.8, backend.asarray(values[0, 0]))
    )
    for found, expected in zip(
        on_device, (paired_sum(values), running_product(values), powers(0.8, values[0, 0])), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_powers_start_at_one(backend: Backend) -> None:
    (found,) = to_host(powers(0.5, backend.asarray(np.arange(1.0, 9.0))))
    np.testing.assert_array_equal(found, 0.5 ** np.arange(8))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 2, 3)])
def test_ranks_look_up_their_entry_and_padding_the_last(backend: Backend, shape: tuple[int, ...]) -> None:
    ranks = np.broadcast_to(np.array([1.0, 3.0, np.inf]), shape)
    (found,) = to_host(at_ranks(backend.asarray(ranks), backend.asarray(np.array([10.0, 20.0, 30.0, 40.0]))))
    np.testing.assert_array_equal(found, np.broadcast_to([10.0, 30.0, 40.0], shape))
