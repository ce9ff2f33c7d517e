"""Pairwise explanations are the Shapley values of the step from A to B."""

from __future__ import annotations

import itertools
import math
import random
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.arrays import Backend, memory_budget, to_host
from ranklens.explain import CallableAdapter, PairwiseExplanation, pairwise, pairwise_many

METHODS = ("exact", "antithetic", "orders", "regression")


def names_for(k: int) -> list[str]:
    return [f"x{i + 1}" for i in range(k)]


def explain(
    backend: Backend, fn: Callable[[Any, Any], Any], a: Sequence[float], b: Sequence[float], **options: Any
) -> PairwiseExplanation:
    """Explain ``fn(xp, points)`` with the points on a backend."""
    model = CallableAdapter(lambda x: fn(backend.xp, x), names_for(len(a)), backend=backend)
    return pairwise(model, a, b, **options)


def values(found: PairwiseExplanation) -> list[float]:
    return list(found.contributions.values())


def product(xp: Any, x: Any) -> Any:
    return xp.prod(x, axis=1)


def by_all_orders(fn: Callable[[np.ndarray], np.ndarray], a: Any, b: Any) -> np.ndarray:
    """The definition: the mean over all orders of what each replacement changes."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    total = np.zeros(len(a))
    for order in itertools.permutations(range(len(a))):
        walk = np.tile(a, (len(a) + 1, 1))
        for step, player in enumerate(order):
            walk[step + 1 :, player] = b[player]
        total[list(order)] += np.diff(fn(walk))
    return total / math.factorial(len(a))


CLOSED_FORMS = {
    "exclusive or of both": (lambda xp, x: xp.abs(x[:, 0] - x[:, 1]), (0, 0), (1, 1), (0, 0)),
    "exclusive or, swapped": (lambda xp, x: xp.abs(x[:, 0] - x[:, 1]), (0, 1), (1, 0), (0, 0)),
    "product from zero": (product, (0,) * 5, (2, 3, 0.5, 1, 4), (2.4,) * 5),
    "product of two": (product, (1, 2), (3, 5), (7, 6)),
    "product of three": (product, (1, 1, 1), (2, 3, 4), (5.5, 8, 9.5)),
    "largest": (lambda xp, x: xp.max(x, axis=1), (0, 0, 0), (1, 2, 4), (1 / 3, 5 / 6, 17 / 6)),
    "smaller of a sum and a value": (
        lambda xp, x: xp.min(xp.stack([x[:, 0] + x[:, 1], x[:, 2]], axis=1), axis=1),
        (0, 0, 0),
        (1, 1, 1),
        (1 / 6, 1 / 6, 2 / 3),
    ),
    "stump": (
        lambda xp, x: xp.where(x[:, 2] <= 0.5, x[:, 2] * 0 + 2, x[:, 2] * 0 + 7),
        (1, 2, 0.2),
        (3, 4, 0.9),
        (0, 0, 5),
    ),
    "stump at its threshold": (
        lambda xp, x: xp.where(x[:, 2] <= 0.5, x[:, 2] * 0 + 2, x[:, 2] * 0 + 7),
        (1, 2, 0.2),
        (3, 4, 0.5),
        (0, 0, 0),
    ),
    "larger of two": (lambda xp, x: xp.max(x, axis=1), (0, 0), (3, 3), (1.5, 1.5)),
    "reads one feature": (lambda xp, x: x[:, 0], (0, 0), (3, 3), (3, 0)),
    "missing value": (
        lambda xp, x: xp.where(xp.isnan(x[:, 0]), x[:, 1] * 0 - 2, x[:, 0]),
        (math.nan, 4),
        (1, 4),
        (3, 0),
    ),
    "constant": (lambda xp, x: x[:, 0] * 0 + 5, (1, 2, 3), (4, 5, 6), (0, 0, 0)),
    "integers to fractions": (lambda xp, x: x[:, 0] + x[:, 1], (0, 0), (0.9, 1.7), (0.9, 1.7)),
    "effects that cancel": (
        lambda xp, x: xp.max(xp.stack([x[:, 0] - x[:, 1], x[:, 0] * 0], axis=1), axis=1),
        (0, 0),
        (1, 1),
        (0.5, -0.5),
    ),
}


@pytest.mark.parametrize("case", CLOSED_FORMS)
def test_closed_forms(user_backend: Backend, case: str) -> None:
    fn, a, b, right = CLOSED_FORMS[case]
    found = explain(user_backend, fn, a, b)
    largest = max(abs(found.score_a), abs(found.score_b), 1.0)
    assert values(found) == pytest.approx(right, abs=8e-16 * largest, rel=1e-14)
    assert found.exact
    assert found.standard_errors is None


def test_worked_example_prints_what_the_documentation_says() -> None:
    model = CallableAdapter(lambda x: x[:, 0] * x[:, 1] + 0.1 * x[:, 2], ["bm25", "freshness", "price"])
    found = pairwise(model, (2.0, 0.2, 1.0), (1.5, 0.9, 1.0))
    lines = [f"{name} {value:+.3f}" for name, value in found.ranked()]
    assert lines == ["freshness +1.225", "bm25 -0.275", "price +0.000"]
    assert str(found).splitlines()[1:] == lines
    assert (found.score_a, found.score_b) == pytest.approx((0.5, 1.45))
    # The four mixtures, and A and B once more.
    assert found.n_model_rows == 4 + 2


def test_equal_documents_take_one_row_and_give_zeros(user_backend: Backend) -> None:
    asked = []

    def fn(xp: Any, x: Any) -> Any:
        asked.append(x.shape)
        return x[:, 0] + x[:, 2]

    found = explain(user_backend, fn, (1.0, math.nan, 0.0), (1.0, math.nan, -0.0), method="auto")
    assert asked == [(1, 3)]
    assert values(found) == [0.0, 0.0, 0.0]
    assert found.n_model_rows == 1


def test_one_differing_feature_carries_the_whole_difference(user_backend: Backend) -> None:
    for method in METHODS:
        found = explain(user_backend, lambda xp, x: x[:, 0] * x[:, 1], (2.0, 3.0), (2.0, 4.5), method=method)
        assert values(found) == [0.0, 3.0]


def test_tiny_differences_are_differences(user_backend: Backend) -> None:
    def stump(xp: Any, x: Any) -> Any:
        return xp.where(x[:, 0] <= 1.0, x[:, 0] * 0, x[:, 0] * 0 + 1)

    assert values(explain(user_backend, stump, (1.0, 0.0), (1.0 + 1e-9, 0.0))) == [1.0, 0.0]


def test_twelve_features_are_one_call_of_4096_rows(user_backend: Backend) -> None:
    asked = []

    def fn(xp: Any, x: Any) -> Any:
        asked.append(x)
        return xp.sum(x, axis=1)

    a, b = np.zeros(14), np.ones(14)
    a[[3, 7]] = b[[3, 7]] = 5.0
    found = explain(user_backend, fn, a, b)
    assert [x.shape for x in asked] == [(4096, 14)]
    (points,) = to_host(asked[0])
    assert np.all(points[:, [3, 7]] == 5.0)
    assert len(np.unique(points, axis=0)) == 4096
    assert found.n_model_rows == 4096


@pytest.mark.parametrize("batch_rows", [1, 7, 64, 1000, 4095])
def test_no_call_is_larger_than_asked_for(batch_rows: int) -> None:
    asked: list[int] = []

    def fn(x: np.ndarray) -> np.ndarray:
        asked.append(len(x))
        return x.prod(axis=1)

    rng = np.random.default_rng(1)
    a = rng.normal(size=(5, 6))
    b = np.where(rng.random((5, 6)) < 0.6, a, rng.normal(size=(5, 6)))
    model = CallableAdapter(fn, names_for(6))
    found = pairwise_many(model, a, b, batch_rows=batch_rows)
    rows = int(found.n_model_rows.sum())
    assert max(asked) <= batch_rows
    assert len(asked) == math.ceil(rows / batch_rows)
    np.testing.assert_allclose(
        found.contributions, pairwise_many(model, a, b).contributions, rtol=0, atol=1e-13
    )


@given(st.data())
def test_exact_values_are_the_mean_over_all_orders(data: st.DataObject) -> None:
    k = data.draw(st.integers(1, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    weights, inner = rng.normal(size=8), rng.normal(size=(k, 8))

    def network(x: np.ndarray) -> np.ndarray:
        return np.tanh(x @ inner) @ weights

    a, b = rng.normal(size=(2, k))
    found = pairwise(CallableAdapter(network, names_for(k)), a, b)
    np.testing.assert_allclose(values(found), by_all_orders(network, a, b), rtol=0, atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_contributions_sum_to_the_difference(user_backend: Backend, method: str) -> None:
    rng = np.random.default_rng(7)
    inner, offset = rng.normal(size=(9, 5)), 1e6
    with user_backend.precise():
        inner_there = user_backend.asarray(inner)

    def network(xp: Any, x: Any) -> Any:
        hidden = x @ xp.astype(inner_there, x.dtype)
        return xp.sum(hidden * hidden * hidden, axis=1) + offset

    for _ in range(3):
        a, b = rng.normal(size=(2, 9))
        found = explain(user_backend, network, a, b, method=method, max_rows=200)
        reach = max(abs(found.score_a), abs(found.score_b))
        assert abs(math.fsum(values(found)) - (found.score_b - found.score_a)) <= 1e-12 * reach


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [4, 9])
def test_swapping_the_documents_turns_the_signs(user_backend: Backend, method: str, k: int) -> None:
    a, b = np.random.default_rng(k).normal(size=(2, k))
    there = explain(user_backend, product, a, b, method=method, max_rows=100)
    back = explain(user_backend, product, b, a, method=method, max_rows=100)
    assert values(back) == [-value for value in values(there)]
    assert (back.score_a, back.score_b) == (there.score_b, there.score_a)


@pytest.mark.parametrize("method", METHODS)
def test_linear_models_are_explained_by_their_weights(user_backend: Backend, method: str) -> None:
    k = 13
    weights = np.arange(1.0, k + 1)
    with user_backend.precise():
        there = user_backend.asarray(weights)
    found = explain(
        user_backend,
        lambda xp, x: x @ xp.astype(there, x.dtype),
        np.zeros(k),
        np.ones(k),
        method=method,
        max_rows=8192 if method == "exact" else 300,
    )
    assert values(found) == pytest.approx(weights, abs=1e-12)
    if method != "exact":
        assert found.standard_errors is not None
        assert max(found.standard_errors.values()) < 1e-12


@pytest.mark.parametrize("n_permutations", [1, 2, 30])
def test_linear_models_need_no_more_than_one_order(n_permutations: int) -> None:
    weights = np.arange(1.0, 14.0)
    model = CallableAdapter(lambda x: x @ weights, names_for(13))
    found = pairwise(model, np.zeros(13), np.ones(13), method="orders", n_permutations=n_permutations)
    assert values(found) == pytest.approx(weights, abs=1e-13)
    assert (found.standard_errors is None) == (n_permutations == 1)


def test_single_orders_have_the_error_of_a_bernoulli_variable(user_backend: Backend) -> None:
    k, n = 13, 4000
    found = explain(user_backend, product, [0] * k, [1] * k, method="orders", n_permutations=n)
    error = math.sqrt(12) / 13 / math.sqrt(n)
    assert math.fsum(values(found)) == pytest.approx(1.0, abs=1e-13)
    assert np.all(np.abs(np.asarray(values(found)) - 1 / 13) < 4 * error)
    assert found.standard_errors is not None
    assert list(found.standard_errors.values()) == pytest.approx([error] * k, rel=0.1)


@pytest.mark.parametrize("method", ["antithetic", "orders", "regression"])
def test_a_constant_model_has_no_effects_and_no_error(user_backend: Backend, method: str) -> None:
    found = explain(user_backend, lambda xp, x: x[:, 0] * 0 + 3, [0] * 14, [1] * 14, method=method)
    assert values(found) == [0.0] * 14
    assert found.standard_errors is not None
    assert set(found.standard_errors.values()) == {0.0}


def test_automatic_choice_counts_all_samples_orders_or_fits() -> None:
    def chosen(k: int, **options: Any) -> tuple[str, int]:
        model = CallableAdapter(lambda x: x.sum(axis=1), names_for(k))
        found = pairwise(model, np.zeros(k), np.ones(k), **options)
        return found.method, found.n_model_rows

    assert chosen(12, max_rows=10) == ("exact", 4096)
    method, rows = chosen(13)
    assert method == "regression"
    assert rows <= 4096
    assert chosen(13, max_rows=8192) == ("exact", 8192)
    assert chosen(50, max_rows=299)[0] == "antithetic"
    assert chosen(50, max_rows=300)[0] == "regression"
    assert chosen(13, n_permutations=3)[0] == "antithetic"


def test_a_regression_over_all_coalitions_is_exact() -> None:
    rng = np.random.default_rng(3)
    table = rng.normal(size=2**7)
    model = CallableAdapter(lambda x: table[(x @ 2 ** np.arange(7)).astype(int)], names_for(7))
    fitted = pairwise(model, np.zeros(7), np.ones(7), method="regression")
    exact = pairwise(model, np.zeros(7), np.ones(7))
    assert fitted.n_model_rows == 2**7 + 1
    assert values(fitted) == pytest.approx(values(exact), abs=1e-12)
    assert fitted.standard_errors is not None
    assert max(fitted.standard_errors.values()) < 1e-12


def test_same_seed_same_bits_and_another_seed_others() -> None:
    model = CallableAdapter(lambda x: np.sin(x.sum(axis=1)), names_for(20))
    a, b = np.zeros(20), np.linspace(0.1, 1, 20)
    for method in ("antithetic", "orders", "regression"):
        first, again, other = (pairwise(model, a, b, method=method, seed=seed) for seed in (5, 5, 6))
        assert first == again
        assert values(first) != values(other)
        assert first.seed == 5


def test_coalitions_are_the_same_on_every_backend(user_backend: Backend) -> None:
    def fn(xp: Any, x: Any) -> Any:
        return x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3] * x[:, 4]

    for method in ("antithetic", "orders", "regression"):
        there = explain(user_backend, fn, [0] * 9, range(1, 10), method=method, max_rows=90, seed=3)
        model = CallableAdapter(lambda x: fn(np, x), names_for(9), backend="numpy")
        here = pairwise(model, [0] * 9, range(1, 10), method=method, max_rows=90, seed=3)
        assert values(there) == pytest.approx(values(here), abs=1e-10)


def test_global_random_state_is_left_alone() -> None:
    np.random.seed(1)
    random.seed(1)
    before = np.random.get_state()[1].tolist(), random.getstate()  # type: ignore[index,union-attr]
    model = CallableAdapter(lambda x: x.sum(axis=1), names_for(14))
    pairwise(model, np.zeros(14), np.ones(14), seed=None)
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # type: ignore[index,union-attr]


def test_many_pairs_are_explained_as_one_by_one(user_backend: Backend) -> None:
    rng = np.random.default_rng(11)
    a = rng.normal(size=(8, 14))
    b = np.where(rng.random((8, 14)) < 0.5, a, rng.normal(size=(8, 14)))
    b[0], b[1] = a[0], rng.normal(size=14)
    model = CallableAdapter(lambda x: product(user_backend.xp, x), names_for(14), backend=user_backend)
    together = pairwise_many(model, a, b, max_rows=500)
    assert len(together) == 8
    assert {found.method for found in together} == {"exact", "regression"}
    for found, row_a, row_b in zip(together, a, b, strict=True):
        alone = pairwise(model, row_a, row_b, max_rows=500)
        assert values(found) == pytest.approx(values(alone), abs=1e-12)
        assert found.method == alone.method
        # By itself a pair that is counted in full has its own A and B asked twice.
        assert alone.n_model_rows - found.n_model_rows in ((0, 2) if found.exact else (0,))


def test_arrays_stay_on_their_backend(user_backend: Backend) -> None:
    kinds = set()

    def fn(x: Any) -> Any:
        kinds.add(type(x))
        return x[:, 0] - x[:, 1]

    with user_backend.precise():
        a, b = user_backend.asarray(np.asarray([1.0, 2.0])), user_backend.asarray(np.asarray([3.0, 5.0]))
    found = pairwise(CallableAdapter(fn, ["x", "y"]), a, b)
    assert kinds == {type(a)}
    assert found.contributions == {"x": 2.0, "y": -3.0}


def test_a_group_is_one_player(user_backend: Backend) -> None:
    def fn(xp: Any, x: Any) -> Any:
        return x[:, 0] * x[:, 1] * x[:, 2]

    found = explain(user_backend, fn, (1, 1, 1), (2, 3, 4), groups=[("x3", "x1")])
    # As a product of two: the group goes from 1 to 8, the other from 1 to 3.
    assert found.contributions == pytest.approx({"x1+x3": 14.0, "x2": 9.0})
    assert found.n_model_rows == 4 + 2


def test_equal_features_of_a_group_do_not_play() -> None:
    model = CallableAdapter(lambda x: x.sum(axis=1), ["x", "y", "z"])
    found = pairwise(model, (1, 1, 1), (1, 2, 1), groups=[("x", "z")])
    assert found.contributions == {"x+z": 0.0, "y": 1.0}
    assert found.n_model_rows == 2 + 2


def table_model(table: np.ndarray) -> CallableAdapter:
    """Turn any game into a model: 2^k numbers, looked up by which features are 1."""
    k = len(table).bit_length() - 1
    return CallableAdapter(lambda x: table[(x @ 2 ** np.arange(k)).astype(int)], names_for(k))


def shapley_of(table: np.ndarray) -> np.ndarray:
    k = len(table).bit_length() - 1
    return np.asarray(values(pairwise(table_model(table), [0] * k, [1] * k)))


@given(st.integers(1, 8), st.integers(0, 2**32))
def test_values_of_a_sum_of_games_are_the_sums(k: int, seed: int) -> None:
    one, other = np.random.default_rng(seed).normal(size=(2, 2**k))
    np.testing.assert_allclose(
        shapley_of(one + other), shapley_of(one) + shapley_of(other), rtol=0, atol=1e-13
    )


@given(st.integers(2, 8), st.integers(0, 2**32), st.data())
def test_equal_roles_get_equal_values_and_no_role_gets_none(k: int, seed: int, data: st.DataObject) -> None:
    i, j = data.draw(st.permutations(range(k)))[:2]
    number = np.arange(2**k)
    table = np.random.default_rng(seed).normal(size=2**k)
    swapped = number & ~(1 << i) & ~(1 << j) | (number >> i & 1) << j | (number >> j & 1) << i
    symmetric = shapley_of(table + table[swapped])
    assert symmetric[i] == pytest.approx(symmetric[j], abs=1e-14)
    without = table[number & ~(1 << i)]
    assert abs(shapley_of(without)[i]) <= 8 * np.finfo(float).eps * np.abs(without).max()


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_features_that_the_model_ignores_get_rounding_at_most(offset: float) -> None:
    rng = np.random.default_rng(0)
    inner, outer = rng.normal(size=(6, 8)), rng.normal(size=8)
    model = CallableAdapter(lambda x: np.tanh(x[:, :6] @ inner) @ outer + offset, names_for(12))
    a, b = rng.normal(size=(2, 12))
    found = pairwise(model, a, b)
    bound = 8 * np.finfo(float).eps * max(abs(found.score_a), abs(found.score_b), np.abs(outer).sum())
    assert np.all(np.abs(values(found)[6:]) <= bound)


@pytest.mark.parametrize("method", ["antithetic", "regression"])
def test_intervals_cover_the_truth_as_often_as_they_say(method: str) -> None:
    k, n_models = 10, 100
    held = []
    for seed in range(n_models):
        rng = np.random.default_rng(seed)
        inner, outer = rng.normal(size=(k, 16)), rng.normal(size=16)
        model = CallableAdapter(lambda x, i=inner, o=outer: np.maximum(x @ i, 0) @ o, names_for(k))
        a, b = rng.normal(size=(2, k))
        right = values(pairwise(model, a, b))
        found = pairwise(model, a, b, method=method, max_rows=200, seed=seed)
        for name, truth in zip(found.contributions, right, strict=True):
            low, high = found.interval(name)
            held.append(low <= truth <= high)
    assert len(held) == 1000
    assert 0.92 <= np.mean(held) <= 0.97


@pytest.mark.parametrize("n_bytes", [2**20, 8 * 2**20])
def test_temporaries_keep_to_the_memory_budget(n_bytes: int) -> None:
    model = CallableAdapter(lambda x: x[:, 0], names_for(16))
    a, b = np.random.default_rng(0).normal(size=(2, 100, 16))
    with memory_budget(n_bytes):
        pairwise_many(model, a[:2], b[:2])
        tracemalloc.start()
        try:
            pairwise_many(model, a, b)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    # The points of one call are the model's, and never fewer than 4096 rows of them.
    assert peak <= n_bytes + 5 * 4096 * 16 * 8
