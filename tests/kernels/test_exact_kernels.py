"""The exact distributions, on every backend, against enumeration and closed forms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ranklens.arrays import Backend, namespace, to_host
from ranklens.kernels.exact_folds import folded_complex_product, folded_product, folded_sum, row_sums
from ranklens.kernels.exact_fourier import cosine_products, square_wave_tail, tilted_products, tilted_tail
from ranklens.kernels.exact_lattice import subset_counts
from ranklens.kernels.exact_recurrences import (
    Nodes,
    squared_moduli,
    stepped_cosine_products,
    stepped_tilted_products,
)
from ranklens.kernels.exact_resampling import integer_power, resampled_law
from ranklens.kernels.exact_subsets import count_pairs, count_weighted, subset_sums

VALUES = [3, 1, 4, 1, 5, 9, 2, 6]


def host(array: Any) -> np.ndarray:
    return to_host(array)[0]


def signed_sums(values: list[int]) -> np.ndarray:
    return np.array(
        [sum(s * v for s, v in zip(signs, values, strict=True)) for signs in signings(len(values))]
    )


def signings(n: int) -> Iterator[tuple[int, ...]]:
    return itertools.product((1, -1), repeat=n)


@pytest.mark.parametrize("values", [[], [7], VALUES])
def test_subset_sums_are_those_of_all_subsets(backend: Backend, values: list[int]) -> None:
    sums = subset_sums(backend.asarray(np.array(values, dtype=np.int64)))
    subsets = itertools.chain.from_iterable(
        itertools.combinations(values, size) for size in range(len(values) + 1)
    )
    assert_array_equal(np.sort(host(sums)), np.sort([sum(subset) for subset in subsets]))


def test_subset_sums_of_rows_are_those_of_each_row(backend: Backend) -> None:
    rows = np.array([VALUES, VALUES[::-1]], dtype=np.int64)
    together = host(subset_sums(backend.asarray(rows)))
    alone = [host(subset_sums(backend.asarray(row))) for row in rows]
    assert_array_equal(together, np.stack(alone))


def count(first: Any, second: Any, limit: int) -> int:
    most = namespace(first).asarray(limit, dtype=first.dtype, device=first.device)
    return int(host(count_pairs(subset_sums(first), subset_sums(second), most)))


@pytest.mark.parametrize("limit", [0, 7, 15, 31])
@pytest.mark.parametrize("split", [0, 3, 4, 8])
def test_both_halves_together_count_every_subset(backend: Backend, limit: int, split: int) -> None:
    first, second = (
        backend.asarray(np.array(part, dtype=np.int64)) for part in (VALUES[:split], VALUES[split:])
    )
    sums = (sum(VALUES) - signed_sums(VALUES)) // 2
    assert count(first, second, limit) == int(np.sum(sums <= limit))


def test_sums_near_two_to_the_62_are_exact(backend: Backend) -> None:
    values = np.array([2**60 + 1, 2**60 + 3], dtype=np.int64)
    first, second = backend.asarray(values[:1]), backend.asarray(values[1:])
    assert [count(first, second, 2**61 + 4 - i) for i in (0, 1)] == [4, 3]
    assert count(first, second, -1) == 0


def test_weights_count_repeated_sums(backend: Backend) -> None:
    # Three ones and two twos: C(3, i) · C(2, j) subsets with sum i + 2j.
    ones = (np.arange(4), np.array([1.0, 3.0, 3.0, 1.0]))
    twos = (np.arange(3) * 2, np.array([1.0, 2.0, 1.0]))
    arrays = [backend.asarray(array) for array in (*ones, *twos)]
    sums = (7 - signed_sums([1, 1, 1, 2, 2])) // 2
    for limit in range(8):
        assert host(count_weighted(*arrays, limit)) == np.sum(sums <= limit)


def test_counting_on_a_lattice_agrees_with_enumeration(backend: Backend) -> None:
    start = np.eye(1, sum(VALUES) + 1)[0]
    counts, exponent = subset_counts(backend.asarray(start), VALUES)
    sums = (sum(VALUES) - signed_sums(VALUES)) // 2
    assert exponent == 0
    assert_array_equal(host(counts), np.bincount(sums, minlength=start.shape[0]))


def test_counts_of_a_thousand_ones_are_binomial(backend: Backend) -> None:
    counts, exponent = subset_counts(backend.asarray(np.eye(1, 1101)[0]), [1] * 1100)
    middle = math.comb(1100, 550) / 2**exponent
    assert exponent == 1024
    assert host(counts)[550] == pytest.approx(middle, rel=1e-13)


def test_values_past_the_end_change_no_count(backend: Backend) -> None:
    counts, _ = subset_counts(backend.asarray(np.eye(1, 4)[0]), [1, 2, 9])
    assert_array_equal(host(counts), [1.0, 1.0, 1.0, 1.0])


def test_products_of_cosines_are_the_mean_of_signed_angles(backend: Backend) -> None:
    nodes = np.array([0.0, 0.3, 1.0, 2.5])
    products = cosine_products(backend.asarray(np.array(VALUES, dtype=float)), backend.asarray(nodes))
    expected = np.cos(np.outer(nodes, signed_sums(VALUES))).mean(axis=1)
    assert_allclose(host(products), expected, atol=1e-15)


def test_a_multiplicity_repeats_a_value(backend: Backend) -> None:
    ship = backend.asarray
    nodes = ship(np.array([0.2, 1.1, 2.0]))
    once, often = ship(np.array([1.0, 0.7])), ship(np.array([1.0, 0.7, 0.7, 0.7]))
    counts = ship(np.array([1.0, 3.0]))
    assert_allclose(
        host(cosine_products(once, nodes, counts)), host(cosine_products(often, nodes)), rtol=1e-14
    )
    tanhs = [ship(np.tanh(0.4 * host(values))) for values in (once, often)]
    counted = tilted_products(once, tanhs[0], nodes, counts)
    repeated = tilted_products(often, tanhs[1], nodes)
    assert_allclose(np.stack(to_host(*counted)), np.stack(to_host(*repeated)), rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 13])
def test_folding_is_adding_and_multiplying(backend: Backend, n: int) -> None:
    terms = np.random.default_rng(n).normal(size=(n, 3, 2))
    assert_allclose(host(folded_sum(backend.asarray(terms))), terms.sum(axis=0), rtol=1e-13, atol=1e-14)
    assert_allclose(host(folded_product(backend.asarray(terms)))[0], terms.prod(axis=0), rtol=1e-13)
    real, imaginary = folded_complex_product(*(backend.asarray(terms[..., i].copy()) for i in (0, 1)))
    expected = (terms[..., 0] + 1j * terms[..., 1]).prod(axis=0)
    product = np.concatenate(to_host(real, imaginary))
    assert_allclose(product, [expected.real, expected.imag], rtol=1e-12, atol=1e-14)


def test_folding_a_column_does_not_depend_on_the_others() -> None:
    terms = np.random.default_rng(0).normal(size=(53, 200))
    for fold in (folded_sum, folded_product):
        together = fold(terms)
        for first, count in ((0, 1), (7, 1), (11, 5), (100, 100)):
            assert_array_equal(
                fold(terms[:, first : first + count].copy()), together[..., first : first + count]
            )


@pytest.mark.parametrize("width", [5, 56, 1000, 8192, 9000, 20_480])
def test_adding_a_row_does_not_depend_on_the_others(width: int) -> None:
    terms = np.random.default_rng(width).normal(size=(23, width))
    together = row_sums(terms)
    for first, count in ((0, 1), (7, 1), (11, 5), (3, 20)):
        assert_array_equal(row_sums(terms[first : first + count].copy()), together[first : first + count])


@pytest.mark.parametrize("nodes", [Nodes(24, 1), Nodes(24, 8), Nodes(32, 16)])
def test_the_recurrences_are_the_products(backend: Backend, nodes: Nodes) -> None:
    values = np.linspace(0.01, 0.9, 80).reshape(2, 40)
    values[1, 20:] = 0.0
    steps, ship = np.array([0.55, 0.4]), backend.asarray
    tanhs = np.tanh(0.7 * values)
    at = (np.arange(nodes.n) + 0.5) * steps[:, None]
    direct = host(cosine_products(ship(values), ship(at)))
    turned = [ship(np.ascontiguousarray(x.T)) for x in (values, tanhs)]
    assert_allclose(host(stepped_cosine_products(turned[0], ship(steps), nodes)), direct.T, atol=1e-14)
    tilted = np.stack(to_host(*tilted_products(ship(values), ship(tanhs), ship(at))))
    stepped = np.stack(to_host(*stepped_tilted_products(*turned, ship(steps), nodes)))
    assert_allclose(stepped, tilted.transpose(0, 2, 1), atol=1e-13)
    squared = host(squared_moduli(*turned, ship(steps), nodes))
    assert_allclose(squared, (tilted**2).sum(axis=0).T, atol=1e-13)


@pytest.mark.parametrize("atom", [1, 5, 17, 31])
def test_a_full_period_gives_the_exact_tail_on_a_lattice(backend: Backend, atom: int) -> None:
    sums, ship = signed_sums(VALUES), backend.asarray
    half_period = 4 * (2 * sum(VALUES))
    nodes = (np.arange(half_period // 4) + 0.5) * 2 * math.pi / half_period
    products = cosine_products(ship(np.array(VALUES, dtype=float)), ship(nodes))
    weights = ship(4.0 / half_period / np.sin(nodes))
    tail = square_wave_tail(products, ship(nodes), weights, ship(np.asarray(atom - 1.0)))
    assert host(tail) == pytest.approx(np.mean(np.abs(sums) >= atom), abs=1e-14)


@pytest.mark.parametrize("atom", [5, 17, 31])
@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_any_tilt_gives_the_exact_tail_on_a_lattice(backend: Backend, atom: int, rate: float) -> None:
    values, ship = np.array(VALUES, dtype=float), backend.asarray
    steps = 2048
    nodes = (np.arange(steps // 2) + 0.5) * math.pi / steps
    products = tilted_products(ship(values), ship(np.tanh(rate * values)), ship(nodes))
    point, tilt = ship(np.asarray(float(atom))), ship(np.asarray(rate))
    tail = tilted_tail(products, ship(nodes), point, tilt, math.pi / steps, 1.0)
    scale = math.exp(np.sum(np.log(np.cosh(rate * values))) - rate * atom)
    assert scale * host(tail) == pytest.approx(np.mean(signed_sums(VALUES) >= atom), rel=1e-11)


def test_a_continuous_tail_of_many_values_is_nearly_normal(backend: Backend) -> None:
    values, ship = np.full(400, 0.05) + np.linspace(0, 1e-3, 400), backend.asarray
    nodes = (np.arange(128) + 0.5) * 0.1
    products = tilted_products(ship(values), ship(np.tanh(2.0 * values)), ship(nodes))
    spread = math.sqrt(np.sum(values * values))
    point, tilt = ship(np.asarray(2.0 * spread)), ship(np.asarray(2.0))
    tail = tilted_tail(products, ship(nodes), point, tilt, 0.1, 0.0)
    scale = math.exp(np.sum(np.log(np.cosh(2.0 * values))) - 2.0 * 2.0 * spread)
    assert scale * host(tail) == pytest.approx(0.5 * math.erfc(2.0 / math.sqrt(2.0)), rel=2e-3)


@pytest.mark.parametrize("n", [1, 2, 13, 50])
def test_the_sum_of_coin_tosses_is_binomial(backend: Backend, n: int) -> None:
    masses = np.zeros(64)
    masses[:2] = 0.75, 0.25
    law = host(resampled_law(backend.asarray(masses), n))
    expected = [math.comb(n, k) * 0.25**k * 0.75 ** (n - k) for k in range(n + 1)]
    assert_allclose(law[: n + 1], expected, atol=1e-15)
    assert_allclose(law[n + 1 :], 0.0, atol=1e-15)


@pytest.mark.parametrize("exponent", [1, 2, 7, 100])
def test_repeated_squaring_is_the_power(backend: Backend, exponent: int) -> None:
    base = backend.asarray(np.array([0.5, 0.99, -0.9]))
    assert_allclose(host(integer_power(base, exponent)), host(base) ** exponent, rtol=1e-13)
