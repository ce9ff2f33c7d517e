"""Pairs of which more than a thousand features differ."""

from __future__ import annotations

import numpy as np
import pytest

from ranklens.explain import CallableAdapter, pairwise
from ranklens.explain.leverage import CoalitionSample, allocation, drawn_coalitions, sample_coalitions
from ranklens.kernels.coalition_regression import estimates, in_the_way, interaction_coefficients

K = 1100


@pytest.mark.parametrize("k", [1023, 1024, K, 3000])
def test_sizes_share_the_coalitions_however_many_there_are(k: int) -> None:
    given = allocation(k, 3 * k)
    assert abs(sum(given.values()) - 3 * k) <= 1
    assert max(given.values()) - min(given.values()) <= 4


def test_coalitions_of_many_players_are_different_and_of_the_sizes_that_were_shared() -> None:
    members = drawn_coalitions(K, 2000, seed=0)
    sizes = np.bincount(members.sum(axis=1), minlength=K // 2 + 1)
    assert len(np.unique(members, axis=0)) == len(members)
    assert {size: n for size, n in enumerate(sizes.tolist()) if n} == allocation(K, 2000)


@pytest.mark.slow
def test_a_regression_explains_more_than_a_thousand_features() -> None:
    model = CallableAdapter(lambda x: x.sum(axis=1) + x[:, 0] * x[:, 1], [f"x{i}" for i in range(K)])
    found = pairwise(model, np.zeros(K), np.ones(K), max_rows=6 * K)
    assert found.method == "regression"
    right = np.ones(K)
    right[:2] = 1.5
    contributions = np.asarray([*found.contributions.values()])
    assert sum(contributions) == pytest.approx(K + 1.0, abs=1e-9)
    assert np.max(np.abs(contributions - right)) < 0.3


def test_what_exact_would_take_is_said_in_few_characters() -> None:
    model = CallableAdapter(lambda x: x.sum(axis=1), [f"x{i}" for i in range(K)])
    with pytest.raises(ValueError, match=r"takes 2\^1100 model rows, and max_rows") as caught:
        pairwise(model, np.zeros(K), np.ones(K), method="exact")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(("k", "n"), [(14, 1500), (60, 2046), (90, 3000)])
def test_equations_that_are_not_seen_err_by_what_the_others_leave_of_them(k: int, n: int) -> None:
    sample = sample_coalitions(k, n, 0)
    fit, n_parts = sample.fit, sample.n_parts
    n_seen = len(fit.left_out)
    assert n_seen < n
    target = np.random.default_rng(k).normal(size=(3, n))
    found, error = estimates(target, fit, n_parts=n_parts, k=k)
    signs = 1.0 - 2.0 * sample.members
    design = sample.members - sample.members.mean(axis=1, keepdims=True)
    deleted = target[:, :n_seen] @ fit.left_out
    # What the interactions are estimated to be, in units of the seen equations.
    weight = interactions_of(sample, target)
    left = target - found @ design.T - weight @ in_the_way(signs[:n_seen], signs)
    left[:, :n_seen] = deleted
    parts = [
        np.concatenate([np.arange(p, n_seen, n_parts), np.arange(n_seen + p, n, n_parts)])
        for p in range(n_parts)
    ]
    by_part = np.stack([left[:, part] @ fit.scaled[part] for part in parts])
    expected = np.sqrt(((by_part - by_part.mean(axis=0)) ** 2).sum(axis=0) * n_parts / (n_parts - 1))
    np.testing.assert_allclose(error, expected, rtol=1e-9)


def interactions_of(sample: CoalitionSample, target: np.ndarray) -> np.ndarray:
    n_seen = len(sample.fit.left_out)
    design = sample.members - sample.members.mean(axis=1, keepdims=True)
    size = sample.members.sum(axis=1)
    weights = np.where(2 * size == sample.members.shape[1], 0.5, 1.0)
    weights /= np.bincount(size)[size] * size * (sample.members.shape[1] - size)
    weights /= weights.mean()
    signs = 1.0 - 2.0 * sample.members
    return target[:, :n_seen] @ interaction_coefficients(design[:n_seen], signs[:n_seen], weights[:n_seen])


def test_a_fit_of_many_players_is_no_larger_than_its_equations() -> None:
    k = 300
    fit = sample_coalitions(k, 1924, 0).fit
    n, n_seen = len(fit.gain), len(fit.left_out)
    assert n_seen < n
    assert sum(array.size for array in fit) <= n * (3 * k + n_seen)
