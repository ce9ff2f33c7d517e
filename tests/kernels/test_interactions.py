"""Interactions of three players, and the coalitions that keep them apart from contributions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.arrays import Backend, to_host
from ranklens.explain.dealing import dealt_coalitions, random_orders
from ranklens.explain.leverage import allocation, draw_size, drawn_coalitions, sample_coalitions
from ranklens.explain.spreading import spread_evenly
from ranklens.kernels.interactions import among_themselves, beyond_contributions, same_size

Floats = np.ndarray


def random_signs(n: int, k: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).choice([-1.0, 1.0], size=(n, k))


def products(signs: Floats) -> Floats:
    """The games of all triples, one a column."""
    chosen = np.asarray(list(itertools.combinations(range(signs.shape[1]), 3)))
    return signs[:, chosen].prod(axis=2)


@pytest.mark.parametrize("k", [3, 5, 9])
def test_the_kernel_is_the_sum_over_all_triples(backend: Backend, k: int) -> None:
    signs = random_signs(7, k)
    (found,) = to_host(among_themselves(backend.asarray(signs)))
    np.testing.assert_allclose(found, products(signs) @ products(signs).T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("k", [3, 5, 9])
def test_contributions_are_taken_out_of_each_triple(backend: Backend, k: int) -> None:
    one, other = random_signs(6, k), random_signs(8, k, 1)
    (found,) = to_host(beyond_contributions(backend.asarray(one), backend.asarray(other)))
    members = (1 - other) / 2
    right = np.zeros((6, 8))
    for chosen in itertools.combinations(range(k), 3):
        # A triple's game falls from 1 to -1, in three equal steps.
        steps = 2 / 3 * (members[:, chosen] - members.mean(axis=1)[:, None]).sum(axis=1)
        even = (members.mean(axis=1) * 2 - 1) + steps
        right += np.outer(one[:, chosen].prod(axis=1), other[:, chosen].prod(axis=1) + even)
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-12)


def test_coalitions_of_a_size_share_its_effect_but_halves_have_none(backend: Backend) -> None:
    one, other = random_signs(9, 6), random_signs(7, 6, 1)
    (found,) = to_host(same_size(backend.asarray(one), backend.asarray(other)))
    mine, theirs = ((1 - signs).sum(axis=1) / 2 for signs in (one, other))
    np.testing.assert_array_equal(found, (mine[:, None] == theirs) & (mine[:, None] != 3))
    assert 0 < found.sum() < found.size


def test_what_all_others_say_of_an_equation_does_not_depend_on_it() -> None:
    sample = sample_coalitions(9, 60, 0)
    left_out = sample.fit.left_out
    np.testing.assert_allclose(np.diag(left_out), 1.0, rtol=0, atol=1e-6)
    # Contributions alone leave nothing for it to differ in.
    design = sample.members - sample.members.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(left_out.T @ design, 0.0, rtol=0, atol=1e-9)


@given(st.integers(4, 20), st.integers(0, 2**32))
def test_dealt_coalitions_have_their_sizes_and_use_all_players_alike(k: int, seed: int) -> None:
    sizes = np.random.default_rng(seed).integers(1, k // 2 + 1, size=30)
    found = dealt_coalitions(sizes, random_orders(k, 30, seed))
    assert found.sum(axis=1).tolist() == sizes.tolist()
    times = found.sum(axis=0)
    assert times.max() - times.min() <= 1


def test_spreading_keeps_sizes_and_makes_pairs_of_players_more_alike() -> None:
    k, n = 30, 120
    members = np.concatenate([draw_size(k, size, m, 3) for size, m in allocation(k, n).items()])
    found = spread_evenly(members, members.sum(axis=1) > 1)

    def unevenness(members: Floats) -> float:
        size = members.sum(axis=1)
        signs = (1 - 2.0 * members) / np.sqrt(size * (k - size))[:, None]
        together = (signs.T @ signs)[~np.eye(k, dtype=bool)]
        return float(together.std())

    assert found.sum(axis=1).tolist() == members.sum(axis=1).tolist()
    assert len(np.unique(found, axis=0)) == n
    assert unevenness(found) < 0.6 * unevenness(members)


def test_every_coalition_of_a_size_is_as_likely_after_spreading() -> None:
    k, n, n_seeds = 7, 14, 1500
    counts = np.zeros(2**k)
    for seed in range(n_seeds):
        np.add.at(counts, drawn_coalitions(k, n, seed) @ 2 ** np.arange(k), 1)
    sizes = (np.arange(2**k)[:, None] >> np.arange(k) & 1).sum(axis=1)
    for size in (2, 3):
        drawn = counts[sizes == size]
        expected = drawn.mean()
        assert expected > 50
        assert np.all(np.abs(drawn - expected) < 6 * np.sqrt(expected))


def test_more_coalitions_bring_contributions_to_the_truth() -> None:
    k, errors = 14, []
    truth = np.asarray([-2 / 3] * 3 + [0.4] * 5 + [0.0] * (k - 8))
    for n in (60, 600, 6000):
        sample = sample_coalitions(k, n, 0)
        signs = 1 - 2.0 * sample.members
        # x1 x2 x3 of signs has -2/3 for each of the three; -x4 x5 x6 x7 x8 has 2/5 for each of the five.
        value = signs[:, :3].prod(axis=1) - signs[:, 3:8].prod(axis=1)
        found = value @ sample.fit.gain
        errors.append(float(np.abs(found - truth).max()))
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[0] / 10
