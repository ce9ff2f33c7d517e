"""JAX functions as models, and the program that explains many pairs on the device."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from jax_networks import network, pairs_with, parameters
from jax_networks import user_precision as user_precision

from ranklens.core import ModelError
from ranklens.explain import CallableAdapter, adapt, pairwise, pairwise_many
from ranklens.explain.models import JaxModel
from ranklens.explain.models.jax_program import LARGE_TILE, SMALL_TILE

jax = pytest.importorskip("jax")
jnp = jax.numpy

K = 12
NAMES = [f"x{i}" for i in range(K)]


both_precisions = pytest.mark.parametrize("user_precision", [False, True], ids=["x32", "x64"], indirect=True)


def by_calls(model: JaxModel, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Explain in calls of a fixed size, which the program does not take part in."""
    return pairwise_many(model, a, b, batch_rows=4096).contributions


@pytest.mark.slow
@both_precisions
def test_the_program_agrees_with_calls_for_every_number_of_features(user_precision: bool) -> None:
    model = JaxModel(network, NAMES, parameters(K))
    a, b = pairs_with([0, 1, 2, 5, 9, 12, 12, 5, 0], K)
    found = pairwise_many(model, a, b)
    np.testing.assert_allclose(found.contributions, by_calls(model, a, b), rtol=0, atol=1e-6)
    reach = np.maximum(np.abs(found.score_a), np.abs(found.score_b)) + 10.0
    assert np.all(np.abs(found.contributions.sum(axis=1) - found.delta) <= 1e-12 * reach)
    assert np.all(found.contributions[a == b] == 0.0)
    assert found.n_model_rows.tolist() == [2 ** int(k) for k in (a != b).sum(axis=1)]
    assert jax.config.jax_enable_x64 == user_precision


def test_other_numbers_of_features_and_pairs_compile_nothing_new(caplog: pytest.LogCaptureFixture) -> None:
    model = JaxModel(network, NAMES, parameters(K))
    compiled = []
    for sizes in ([2] * 10 + [3] * 5, [4] * 7 + [5] * 11 + [6] * 13, [1] * 16 + [7] * 6):
        caplog.clear()
        with jax.log_compiles(), caplog.at_level("WARNING", logger="jax"):
            pairwise_many(model, *pairs_with(sizes, K))
        compiled.append(sum(record.message.startswith("Compiling") for record in caplog.records))
    assert compiled[0] > 0
    assert compiled[1:] == [0, 0]


def test_scores_are_those_of_the_function() -> None:
    params = parameters(K)
    a, b = pairs_with([12, 5], K)
    found = pairwise_many(JaxModel(network, NAMES, params), a, b)
    np.testing.assert_allclose(found.score_a, network(params, jnp.asarray(a)), rtol=1e-5)
    np.testing.assert_allclose(found.score_b, network(params, jnp.asarray(b)), rtol=1e-5)


def test_another_number_of_features_compiles_nothing() -> None:
    traced = []

    def counted(params: Any, x: Any) -> Any:
        traced.append(x.shape)
        return network(params, x)

    model = adapt(counted, NAMES, params=parameters(K))
    a, b = pairs_with([12, 1, 2, 5, 7, 11], K)
    pairwise(model, a[0], b[0])
    before = len(traced)
    for i in range(1, len(a)):
        pairwise(model, a[i], b[i])
    assert len(traced) == before
    assert traced[-1] == (SMALL_TILE, K)


def test_many_pairs_are_cut_into_large_tiles() -> None:
    model = JaxModel(network, NAMES, parameters(K))
    a, b = pairs_with([12] * 70, K)
    assert len(a) * 2**12 > 4 * LARGE_TILE
    some = [0, 33, 69]
    found = pairwise_many(model, a, b)
    np.testing.assert_allclose(
        found.contributions[some], by_calls(model, a[some], b[some]), rtol=0, atol=1e-6
    )


def test_swapping_turns_the_signs() -> None:
    model = JaxModel(network, NAMES, parameters(K))
    a, b = pairs_with([12, 7], K)
    there, back = pairwise_many(model, a, b), pairwise_many(model, b, a)
    np.testing.assert_allclose(there.contributions, -back.contributions, rtol=0, atol=2e-6)


def test_more_features_than_the_program_takes_are_sampled_on_the_device() -> None:
    k = 20
    weights = jnp.arange(1.0, k + 1)
    model = adapt(lambda w, x: x @ w, [f"x{i}" for i in range(k)], params=weights)
    for method in ("antithetic", "regression"):
        found = pairwise(model, np.zeros(k), np.ones(k), method=method, max_rows=200)
        assert list(found.contributions.values()) == pytest.approx(list(range(1, k + 1)), abs=1e-4)


@both_precisions
def test_functions_without_parameters_are_recognised() -> None:
    weights = np.linspace(-1, 1, K)

    def plain(x: Any) -> Any:
        return jnp.tanh(x @ jnp.asarray(weights))

    @jax.jit
    def jitted(x: Any) -> Any:
        return x[:, 0] * x[:, 1]

    for fn in (plain, jitted, functools.partial(lambda scale, x: scale * jnp.sin(x[:, 0]), 2.0)):
        model = adapt(fn, NAMES)
        assert isinstance(model, JaxModel)
        assert model.dtype == jnp.float64
    found = pairwise(adapt(jitted, NAMES), [2.0] * K, [3.0, 5.0, *[2.0] * 10])
    assert list(found.contributions.values())[:3] == [3.5, 7.5, 0.0]


def test_a_function_that_uses_jax_inside_gets_numpy() -> None:
    def score(x: Any) -> Any:
        return np.asarray(jnp.sum(jnp.asarray(x), axis=1), dtype=np.float64)

    model = adapt(score, ["x", "y"])
    assert isinstance(model, CallableAdapter)
    assert pairwise(model, (0, 0), (1, 2)).contributions == {"x": 1.0, "y": 2.0}


def test_a_function_of_one_row_is_mapped_over_the_rows() -> None:
    model = adapt(lambda w, x: jnp.dot(w, x) + x[0] * x[1], ["x", "y"], params=jnp.asarray([1.0, -0.5]))
    assert pairwise(model, (1, 2), (3, 5)).contributions == pytest.approx({"x": 9.0, "y": 4.5})


def test_functions_that_take_single_precision_only_get_it() -> None:
    def fussy(x: Any) -> Any:
        return jax.lax.mul(x[:, 0], jnp.ones(x.shape[0], dtype=jnp.float32)) + x[:, 1]

    model = adapt(fussy, ["x", "y"])
    assert model.dtype == jnp.float32
    assert pairwise(model, (1, 2), (3, 5)).contributions == {"x": 2.0, "y": 3.0}


def test_an_equinox_module_is_a_model() -> None:
    equinox = pytest.importorskip("equinox", reason="equinox is not installed")
    module = equinox.nn.MLP(3, "scalar", 8, 2, key=jax.random.key(0))
    model = adapt(module, ["x", "y", "z"])
    found = pairwise(model, (0.0, 1.0, 2.0), (1.0, 0.0, 2.0))
    assert found.score_a == pytest.approx(
        float(module(jnp.asarray([0.0, 1.0, 2.0], dtype=jnp.float32))), rel=1e-5
    )
    assert found.contributions["z"] == 0.0


def test_an_equinox_module_is_asked_without_dropout() -> None:
    nn = pytest.importorskip("equinox", reason="equinox is not installed").nn
    linear = nn.Linear(2, "scalar", key=jax.random.key(0))
    module = nn.Sequential([linear, nn.Dropout(0.5)])
    found = pairwise(adapt(module, ["x", "y"]), (0.0, 0.0), (1.0, 1.0))
    assert list(found.contributions.values()) == pytest.approx(linear.weight[0].tolist(), rel=1e-6)
    assert not module.layers[1].inference


def test_a_flax_module_is_a_model_with_its_parameters() -> None:
    linen = pytest.importorskip("flax.linen", reason="flax is not installed")
    module = linen.Dense(1)
    params = module.init(jax.random.key(0), jnp.zeros((1, 2), dtype=jnp.float32))
    model = adapt(module, ["x", "y"], params=params)
    kernel = np.asarray(params["params"]["kernel"])[:, 0]
    found = pairwise(model, (0.0, 0.0), (1.0, 1.0))
    assert list(found.contributions.values()) == pytest.approx(kernel.tolist(), rel=1e-6)


def test_a_module_of_flax_nnx_is_asked_without_dropout() -> None:
    nnx = pytest.importorskip("flax.nnx", reason="flax is not installed")
    rngs = nnx.Rngs(0)
    dropout = nnx.Dropout(0.5, rngs=rngs)
    linear = nnx.Linear(2, 1, rngs=rngs)
    found = pairwise(adapt(nnx.Sequential(linear, dropout), ["x", "y"]), (0.0, 0.0), (1.0, 1.0))
    kernel = np.asarray(linear.kernel[...])[:, 0]
    assert list(found.contributions.values()) == pytest.approx(kernel.tolist(), rel=1e-6)
    assert not dropout.deterministic


@pytest.mark.parametrize(
    ("fn", "said"),
    [
        (lambda x: jnp.sum(x), r"shape \(\) for"),
        (lambda x: jnp.stack([x[:, 0], x[:, 1]], axis=1), r"2 columns as if one a class"),
        (lambda x: x @ jnp.ones(7, dtype=x.dtype), "raised TypeError on"),
        (lambda x: None, "returned a NoneType"),
    ],
)
def test_bad_functions_are_told_what_came_back(fn: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        JaxModel(fn, ["x", "y"])


def test_scores_that_are_not_finite_are_named() -> None:
    model = adapt(lambda x: jnp.where(x[:, 1] > 0.5, jnp.nan, x[:, 0]), ["x", "y"])
    with pytest.raises(ModelError, match=r"not finite, 2 of 4: nan for the row x=1\.0, y=5\.0"):
        pairwise(model, (1, 0), (3, 5))


def test_points_are_as_for_a_plain_function() -> None:
    params = parameters(K)
    host = {name: np.asarray(value, dtype=np.float64) for name, value in params.items()}
    plain = CallableAdapter(lambda x: np.tanh(x @ host["inner"]) @ host["outer"], NAMES)
    a, b = pairs_with([12, 4], K)
    found = pairwise_many(JaxModel(network, NAMES, params), a, b)
    right = pairwise_many(plain, a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(found.contributions, right.contributions, rtol=0, atol=1e-5)


def numpy_weights() -> tuple[Any, Any, Any]:
    generator = np.random.default_rng(5)
    return generator.normal(size=(3, 4)), generator.normal(size=4), generator.normal(size=(2, 3))


@pytest.mark.parametrize("kind", ["plain", "jitted", "row by row", "through another function"])
@pytest.mark.parametrize("called_before", [False, True])
def test_weights_of_numpy_keep_their_digits_and_the_function_still_works(
    kind: str, called_before: bool
) -> None:
    first, second, (a, b) = numpy_weights()

    def hidden(x: Any) -> Any:
        return jnp.tanh(x @ first)

    def score(x: Any) -> Any:
        return jnp.tanh(x @ first) @ second

    fns = {
        "plain": score,
        "jitted": jax.jit(score),
        "row by row": lambda x: jnp.dot(jnp.tanh(first.T @ x), second),
        "through another function": lambda x: jnp.asarray(hidden(x)) @ second,
    }
    fn, points = fns[kind], a if kind == "row by row" else np.stack([a, b])
    if called_before:
        fn(points)
    model = adapt(fn, ["x", "y", "z"])
    assert isinstance(model, JaxModel)
    found = pairwise(model, a, b)
    digits = 1e-6 if called_before and kind == "through another function" else 1e-14
    assert found.delta == pytest.approx((np.tanh(b @ first) - np.tanh(a @ first)) @ second, abs=digits)
    fn(points)
    for again in (score, hidden, jax.jit(score)):
        again(np.stack([a, b]))
    assert (jnp.ones((2, 4)) @ second).shape == (2,)


def test_a_function_that_gives_numpy_is_asked_and_still_works() -> None:
    first, second, (a, b) = numpy_weights()

    def score(x: Any) -> Any:
        return np.asarray(jnp.tanh(x @ first) @ second)

    model = adapt(score, ["x", "y", "z"])
    assert isinstance(model, CallableAdapter)
    delta = score(b[None])[0] - score(a[None])[0]
    assert pairwise(model, a, b).delta == pytest.approx(delta, abs=1e-6)
