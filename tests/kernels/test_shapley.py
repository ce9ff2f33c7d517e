"""From scores of coalitions to Shapley values, on every backend."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from ranklens.arrays import Backend, Purpose, compiled, draw_words, to_host
from ranklens.explain.leverage import (
    CoalitionSample,
    draw_size,
    every_coalition,
    pairs_of_size,
    sample_coalitions,
)
from ranklens.kernels.coalition_regression import Fit, regression_values
from ranklens.kernels.coalitions import listed_points, numbered_points
from ranklens.kernels.orders import (
    allowance,
    interior_coalitions,
    mean_and_error,
    order_estimates,
    order_ranks,
    walks,
)
from ranklens.kernels.shapley import coalition_weights, folded, product, shapley_values, size_weights


def members_of_all(k: int) -> np.ndarray:
    return (np.arange(2**k)[:, None] >> np.arange(k)) & 1 == 1


def values_of(backend: Backend, values: np.ndarray, k: int) -> Any:
    return compiled(shapley_values, backend, static=("k",))(backend.asarray(values), k=k)


def product_of_sizes(values: Any, sizes: Any, *, k: int) -> Any:
    return product(values, coalition_weights(sizes, k))


def textbook(values: np.ndarray, k: int) -> np.ndarray:
    """The defining sum over the coalitions without each player."""
    found = np.zeros((len(values), k))
    for i in range(k):
        for without in range(2**k):
            if not without >> i & 1:
                size = without.bit_count()
                weight = math.factorial(size) * math.factorial(k - size - 1) / math.factorial(k)
                found[:, i] += weight * (values[:, without | 1 << i] - values[:, without])
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_the_product_is_the_defining_sum(backend: Backend, k: int) -> None:
    values = np.random.default_rng(k).normal(size=(3, 2**k))
    (found,) = to_host(values_of(backend, values, k))
    np.testing.assert_allclose(found, textbook(values, k), rtol=0, atol=1e-14)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_folding_the_halves_is_the_product(backend: Backend, k: int) -> None:
    values = np.random.default_rng(k).normal(size=(2, 2**k))
    there = backend.asarray(values)
    sizes = size_weights(there, k)
    (weights,) = to_host(sizes)
    weighted = (values - values[:, ::-1]) * weights[members_of_all(k).sum(axis=1)]
    by_folding, by_product = to_host(
        compiled(folded, backend, static=("k",))(backend.asarray(weighted), k=k),
        compiled(product_of_sizes, backend, static=("k",))(there, sizes, k=k),
    )
    np.testing.assert_allclose(by_folding, by_product, rtol=0, atol=1e-14)


@pytest.mark.parametrize("k", [12, 13])
def test_large_games_sum_to_the_difference_whatever_the_offset(backend: Backend, k: int) -> None:
    values = np.random.default_rng(k).normal(size=(2, 2**k))
    near, far = to_host(values_of(backend, values, k), values_of(backend, values + 2.0**30, k))
    np.testing.assert_allclose(near.sum(axis=1), values[:, -1] - values[:, 0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(far, near, rtol=0, atol=1e-7)


def test_numbered_points_take_the_members_of_the_coalition_from_b(backend: Backend) -> None:
    a, b = np.zeros((2, 4)), np.asarray([[1.0, 2, 3, 4], [5, 6, 7, 8]])
    slot = np.asarray([[0, 2, 1, 2], [1, 0, 2, 2]], dtype=np.int32)
    (found,) = to_host(numbered_points(backend.asarray(a), backend.asarray(b), backend.asarray(slot), 1, n=2))
    assert found.tolist() == [[1, 0, 0, 0], [0, 0, 3, 0], [0, 6, 0, 0], [5, 0, 0, 0]]


def test_listed_points_are_the_numbered_ones(backend: Backend) -> None:
    rng = np.random.default_rng(0)
    a, b = (backend.asarray(rng.normal(size=(3, 5))) for _ in range(2))
    slot = backend.asarray(np.asarray([[0, 1, 2, 3, 3], [3, 0, 0, 1, 2], [2, 3, 1, 0, 3]], dtype=np.int32))
    listed = np.concatenate([members_of_all(3), np.zeros((8, 1), dtype=np.bool_)], axis=1)
    one, other = to_host(
        listed_points(a, b, slot, backend.asarray(listed)), numbered_points(a, b, slot, 0, n=8)
    )
    np.testing.assert_array_equal(one, other)


def test_orders_are_orders_and_their_reverses(backend: Backend) -> None:
    words = draw_words(backend, 3, 0, 50, range(6), Purpose.ORDERS)
    ranks, interior = walks(words, reverse=True)
    host, inside = to_host(ranks, interior)
    assert np.all(np.sort(host, axis=1) == np.arange(6))
    assert np.all(host[0::2] + host[1::2] == 5)
    assert np.all(inside.reshape(100, 5, 6).sum(axis=2) == np.arange(1, 6))


def test_more_orders_extend_the_sequence(backend: Backend) -> None:
    few = draw_words(backend, 3, 0, 10, range(6), Purpose.ORDERS)
    many = draw_words(backend, 3, 0, 30, range(6), Purpose.ORDERS)
    one, other = to_host(order_ranks(few), order_ranks(many))
    np.testing.assert_array_equal(one, other[:10])


def test_all_orders_of_four_give_the_shapley_values(backend: Backend) -> None:
    k = 4
    values = np.random.default_rng(1).normal(size=(2, 2**k))
    ranks = np.asarray(list(itertools.permutations(range(k))))
    (interior,) = to_host(interior_coalitions(backend.asarray(ranks)))
    between = values[:, interior @ 2 ** np.arange(k)]
    mean, error = to_host(
        *order_estimates(
            backend.asarray(between),
            backend.asarray(ranks),
            backend.asarray(values[:, 0]),
            backend.asarray(values[:, -1]),
            together=1,
        )
    )
    np.testing.assert_allclose(mean, textbook(values, k), rtol=0, atol=1e-14)
    assert np.all(error > 0)


@pytest.mark.parametrize("unit", [1.0, 1e-120, 1e120])
def test_a_player_whose_samples_agree_takes_the_usual_scatter(backend: Backend, unit: float) -> None:
    n = 6
    samples = np.random.default_rng(0).normal(size=(1, n, 4))
    samples[:, :, 0] = 0.5
    _, error = to_host(*mean_and_error(backend.asarray(unit * samples), together=1))
    usual = samples.var(axis=1, ddof=1).mean()
    assert error[0, 0] == pytest.approx(unit * math.sqrt(allowance(n).one_more * usual / n), rel=1e-12)
    # Others have at least the error that their own scatter says.
    assert np.all(error[0, 1:] >= unit * samples.std(axis=1, ddof=1)[0, 1:] / math.sqrt(n))


def test_errors_of_normal_samples_are_those_of_student_as_the_samples_grow(backend: Backend) -> None:
    n = 2000
    samples = np.random.default_rng(1).normal(size=(1, n, 30)) * np.linspace(0.1, 3.0, 30)
    _, error = to_host(*mean_and_error(backend.asarray(samples), together=1))
    np.testing.assert_allclose(error, samples.std(axis=1, ddof=1) / math.sqrt(n), rtol=0.01)


def regression(backend: Backend, sample: CoalitionSample, *scores: np.ndarray) -> list[np.ndarray]:
    smaller, larger, delta = map(backend.asarray, scores)
    size = backend.asarray(sample.members.sum(axis=1).astype(np.float64))
    solve = compiled(regression_values, backend, static=("n_parts",))
    fit = Fit(*map(backend.asarray, sample.fit))
    return to_host(*solve(smaller, larger, size, delta, fit, n_parts=sample.n_parts))


@pytest.mark.parametrize("k", [2, 5, 6])
def test_regression_over_all_coalitions_gives_the_shapley_values(backend: Backend, k: int) -> None:
    values = np.random.default_rng(k).normal(size=(2, 2**k))
    sample = sample_coalitions(k, 10**6, 0)
    assert len(sample.members) == 2 ** (k - 1) - 1
    number = sample.members @ 2 ** np.arange(k)
    smaller, larger = values[:, number], values[:, 2**k - 1 - number]
    found, error = regression(backend, sample, smaller, larger, values[:, -1] - values[:, 0])
    np.testing.assert_allclose(found, textbook(values, k), rtol=0, atol=1e-13)
    assert np.all(error < 1e-13)


@pytest.mark.parametrize(("k", "n_pairs"), [(5, 9), (8, 40), (13, 500), (40, 300), (301, 700)])
def test_coalitions_are_different_and_spread_over_the_sizes(k: int, n_pairs: int) -> None:
    sample = sample_coalitions(k, n_pairs, 1)
    both = np.concatenate([sample.members, ~sample.members])
    assert len(np.unique(both, axis=0)) == len(both) == 2 * n_pairs
    sizes = np.bincount(sample.members.sum(axis=1), minlength=k // 2 + 1)
    room = [s for s in range(1, k // 2 + 1) if sizes[s] < pairs_of_size(k, s) and 2 * s != k]
    if room:
        assert sizes[room].max() - sizes[room].min() <= 1


@pytest.mark.parametrize(("k", "size"), [(7, 2), (8, 4)])
def test_every_coalition_of_a_size_is_equally_likely(k: int, size: int) -> None:
    listed = every_coalition(k, size)
    n_drawn, n_seeds = 3, 3000
    counts = np.zeros(2**k)
    for seed in range(n_seeds):
        np.add.at(counts, draw_size(k, size, n_drawn, seed) @ 2 ** np.arange(k), 1)
    drawn = counts[listed @ 2 ** np.arange(k)]
    assert drawn.sum() == n_drawn * n_seeds
    expected = n_drawn * n_seeds / len(listed)
    # Six standard deviations.
    assert np.all(np.abs(drawn - expected) < 6 * math.sqrt(expected))


def test_coalitions_of_a_seed_never_change() -> None:
    sample = sample_coalitions(10, 8, 0)
    assert (sample.members @ 2 ** np.arange(10)).tolist() == [128, 16, 513, 10, 324, 548, 105, 866]
