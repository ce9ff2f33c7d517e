"""Sampled explanations of JAX models are one program on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jax_networks import network, pairs_with, parameters
from jax_networks import user_precision as user_precision

from ranklens.core import ModelError
from ranklens.explain import adapt, pairwise, pairwise_many
from ranklens.explain.models import JaxModel

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = jax.numpy

N = 40
NAMES = [f"x{i}" for i in range(N)]
METHODS = ("antithetic", "orders", "regression")


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("max_rows", [200, 5000])
def test_the_program_agrees_with_calls(method: str, max_rows: int) -> None:
    model = JaxModel(network, NAMES, parameters(N))
    a, b = pairs_with([13, 40, 40, 1, 0, 29, 40, 17, 13], N)
    found = pairwise_many(model, a, b, method=method, max_rows=max_rows)
    # In calls of a fixed size, the program does not take part.
    called = pairwise_many(model, a, b, method=method, max_rows=max_rows, batch_rows=4096)
    np.testing.assert_allclose(found.contributions, called.contributions, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.standard_errors, called.standard_errors, rtol=0, atol=1e-6)
    assert found.n_model_rows.tolist() == called.n_model_rows.tolist()
    reach = np.maximum(np.abs(found.score_a), np.abs(found.score_b)) + 10.0
    assert np.all(np.abs(found.contributions.sum(axis=1) - found.delta) <= 1e-12 * reach)
    assert np.all(found.contributions[a == b] == 0.0)


@pytest.mark.parametrize("user_precision", [False, True], ids=["x32", "x64"], indirect=True)
def test_the_users_precision_is_left_alone(user_precision: bool) -> None:
    a, b = pairs_with([15], N)
    found = pairwise(JaxModel(network, NAMES, parameters(N)), a[0], b[0])
    assert abs(sum(found.contributions.values()) - found.delta) < 1e-11
    assert jax.config.jax_enable_x64 == user_precision


@pytest.mark.parametrize("method", METHODS)
def test_another_number_of_features_compiles_nothing(method: str) -> None:
    traced = []

    def counted(params: Any, x: Any) -> Any:
        traced.append(x.shape)
        return network(params, x)

    model = adapt(counted, NAMES, params=parameters(N))
    a, b = pairs_with([40, 33, 36, 39, 34], N)
    pairwise(model, a[0], b[0], method=method)
    before = len(traced)
    compiled = model._sampled._run._cache_size()
    for i in range(1, len(a)):
        pairwise(model, a[i], b[i], method=method)
    assert len(traced) == before
    assert model._sampled._run._cache_size() == compiled == 1


def test_the_model_is_asked_inside_the_program_alone() -> None:
    a, b = pairs_with([40] * 6, N)
    model = JaxModel(network, NAMES, parameters(N))

    def refused(points: Any) -> Any:
        raise AssertionError("asked outside")

    model.predict = refused  # type: ignore[method-assign]
    assert pairwise_many(model, a, b, max_rows=500).methods == ["regression"] * 6


@pytest.mark.parametrize("method", METHODS)
def test_swapping_turns_the_signs(method: str) -> None:
    model = JaxModel(network, NAMES, parameters(N))
    a, b = pairs_with([20, 20], N)
    there = pairwise_many(model, a, b, method=method, max_rows=300)
    back = pairwise_many(model, b, a, method=method, max_rows=300)
    assert np.array_equal(there.contributions, -back.contributions)


def test_single_orders_have_no_errors() -> None:
    a, b = pairs_with([20], N)
    found = pairwise(JaxModel(network, NAMES, parameters(N)), a[0], b[0], method="orders", n_permutations=1)
    assert found.standard_errors is None
    assert found.n_model_rows == 3 + 19


def test_scores_that_are_not_finite_are_named() -> None:
    model = adapt(lambda x: jnp.where(x[:, 1] > 0.5, jnp.nan, x[:, 0]), NAMES)
    with pytest.raises(ModelError, match=r"not finite"):
        pairwise(model, np.zeros(N), np.ones(N), max_rows=300)
