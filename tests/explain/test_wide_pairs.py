"""Pairs of which more than a thousand features differ."""

from __future__ import annotations

import numpy as np
import pytest

from ranklens.explain import CallableAdapter, pairwise
from ranklens.explain.leverage import allocation, drawn_coalitions

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
