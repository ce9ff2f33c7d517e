"""The closed form of tree ensembles: against every coalition, and by the properties of Shapley values."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_games import enumerated, random_ensemble, random_rows, random_tree, stump, walked

from ranklens.arrays import Backend, compiled, memory_budget, open_backend, to_host
from ranklens.explain.trees import Tree, TreeEnsemble, tree_contributions
from ranklens.explain.trees import contributions as module
from ranklens.explain.trees.scratch import KEPT_BYTES, ScratchPool
from ranklens.kernels.tree_paths import path_contributions

HOST = open_backend("numpy")
SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.booleans())
def test_scores_are_those_of_walking_down(seed: int, categorical: bool) -> None:
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, 4, 6, categorical=categorical) for _ in range(3)]
    rows = random_rows(seed, 12, 4)
    expected = [0.5 + sum(walked(tree, row) for tree in trees) for row in rows]
    np.testing.assert_allclose(TreeEnsemble.of(trees, 4, offset=0.5).scores(rows), expected, atol=1e-14)


@given(SEEDS, st.integers(1, 9), st.booleans())
def test_contributions_are_those_of_all_coalitions(seed: int, n_features: int, categorical: bool) -> None:
    ensemble = random_ensemble(seed, n_features, n_inner=11, categorical=categorical)
    a, b = random_rows(seed, 4, n_features), random_rows(seed + 1, 4, n_features)
    found = tree_contributions(ensemble, a, b, HOST)
    expected = [enumerated(ensemble.scores, *pair) for pair in zip(a, b, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_twelve_differing_features_are_those_of_all_coalitions() -> None:
    ensemble = random_ensemble(5, 12, n_trees=20, n_inner=30)
    a, b = random_rows(1, 3, 12), random_rows(2, 3, 12)
    a[:, :6], b[:, 6:] = 3.0, -3.0
    expected = [enumerated(ensemble.scores, *pair) for pair in zip(a, b, strict=True)]
    np.testing.assert_allclose(tree_contributions(ensemble, a, b, HOST), expected, rtol=0, atol=1e-12)


@given(SEEDS)
def test_a_group_is_one_player(seed: int) -> None:
    ensemble = random_ensemble(seed, 6, n_inner=10)
    player_of = np.random.default_rng(seed).permutation([0, 1, 1, 2, 0, 1])
    a, b = random_rows(seed, 3, 6), random_rows(seed + 1, 3, 6)
    found = tree_contributions(ensemble, a, b, HOST, player_of)
    expected = [enumerated(ensemble.scores, *pair, player_of) for pair in zip(a, b, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@given(SEEDS)
def test_they_sum_to_the_difference_and_swapping_turns_them(seed: int) -> None:
    ensemble = random_ensemble(seed, 20, n_trees=10, n_inner=30)
    a, b = random_rows(seed, 8, 20), random_rows(seed + 1, 8, 20)
    found = tree_contributions(ensemble, a, b, HOST)
    score_a, score_b = ensemble.scores(a), ensemble.scores(b)
    largest = np.maximum(np.abs(score_a), np.abs(score_b))
    np.testing.assert_array_less(
        np.abs(found.sum(axis=1) - (score_b - score_a)), 1e-12 * np.maximum(largest, 1)
    )
    np.testing.assert_array_equal(tree_contributions(ensemble, b, a, HOST), -found)


def test_what_the_trees_cannot_tell_apart_gets_exactly_nothing() -> None:
    ensemble = TreeEnsemble.of([stump()], 3)
    a = np.asarray([[1.0, 1.0, 0.2], [1.0, 1.0, 0.2], [1.0, np.nan, np.nan], [0.0, 1.0, 0.6]])
    b = np.asarray([[2.0, 2.0, 0.9], [2.0, 2.0, 0.5], [-1.0, 3.0, np.nan], [-0.0, 1.0, 0.7]])
    expected = [[0.0, 0.0, 5.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_array_equal(tree_contributions(ensemble, a, b, HOST), expected)


def test_a_step_over_a_threshold_is_a_difference_however_small() -> None:
    ensemble = TreeEnsemble.of([stump()], 3)
    a, b = np.asarray([[0.0, 0.0, 0.5]]), np.asarray([[0.0, 0.0, 0.5 + 1e-9]])
    np.testing.assert_array_equal(tree_contributions(ensemble, a, b, HOST), [[0.0, 0.0, 5.0]])


def test_a_model_of_single_precision_does_not_see_such_a_step() -> None:
    ensemble = TreeEnsemble.of([stump()], 3, single=True)
    a, b = np.asarray([[0.0, 0.0, 0.5]]), np.asarray([[1e300, 0.0, 0.5 + 1e-9]])
    np.testing.assert_array_equal(tree_contributions(ensemble, a, b, HOST), [[0.0, 0.0, 0.0]])


def test_products_and_minima_as_trees() -> None:
    # 1 where both features are above a half: each gets half of the step.
    both = Tree(
        feature=np.asarray([0, -1, 1, -1, -1]),
        threshold=np.full(5, 0.5),
        left=np.asarray([1, 0, 3, 0, 0]),
        right=np.asarray([2, 0, 4, 0, 0]),
        value=np.asarray([0.0, 0.0, 0.0, 0.0, 1.0]),
        nan_left=np.zeros(5, dtype=bool),
    )
    ensemble = TreeEnsemble.of([both], 2)
    rows = np.asarray([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    found = tree_contributions(ensemble, rows[[0, 2]], rows[[1, 3]], HOST)
    np.testing.assert_array_equal(found, [[0.5, 0.5], [0.5, -0.5]])


@pytest.mark.parametrize("name", ["numpy", "array_api_strict"])
def test_an_ensemble_of_leaves_gives_zeros(name: str) -> None:
    leaf = Tree(*(np.asarray([value]) for value in (-1, 0.0, 0, 0, 3.0, False)))
    ensemble = TreeEnsemble.of([leaf, leaf], 2)
    rows = np.asarray([[1.0, 2.0]])
    np.testing.assert_array_equal(ensemble.scores(rows), [6.0])
    found = to_host(tree_contributions(ensemble, rows, rows + 1, open_backend(name)))[0]
    np.testing.assert_array_equal(found, [[0.0, 0.0]])


def test_no_pairs_are_no_contributions() -> None:
    none = np.empty((0, 3))
    assert tree_contributions(TreeEnsemble.of([stump()], 3), none, none, HOST).shape == (0, 3)


@pytest.mark.parametrize("grouped", [False, True])
def test_every_backend_gives_the_same(backend: Backend, grouped: bool) -> None:
    ensemble = random_ensemble(3, 7, n_trees=12, n_inner=15, categorical=True)
    a, b = random_rows(1, 40, 7), random_rows(2, 40, 7)
    groups = np.asarray([0, 1, 2, 1, 0, 3, 3]) if grouped else None
    expected = tree_contributions(ensemble, a, b, HOST, groups)
    from_host = tree_contributions(ensemble, a, b, backend, groups)
    there = tree_contributions(ensemble, backend.asarray(a), backend.asarray(b), backend, groups)
    for found in to_host(from_host, there):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_single_precision_is_the_same_on_every_backend(backend: Backend) -> None:
    ensemble = TreeEnsemble.of([stump(0), stump(1, 0.1)], 2, single=True)
    a, b = np.asarray([[0.5, 0.1], [np.nan, 0.0]]), np.asarray([[0.5 + 1e-9, 0.2], [0.7, 0.1 + 1e-12]])
    there = tree_contributions(ensemble, backend.asarray(a), backend.asarray(b), backend)
    np.testing.assert_array_equal(to_host(there)[0], tree_contributions(ensemble, a, b, HOST))


def test_the_user_s_number_types_do_not_matter(user_backend: Backend) -> None:
    ensemble = random_ensemble(4, 5)
    a, b = random_rows(1, 6, 5), random_rows(2, 6, 5)
    found = tree_contributions(ensemble, a, b, user_backend)
    np.testing.assert_allclose(
        to_host(found)[0], tree_contributions(ensemble, a, b, HOST), rtol=0, atol=1e-13
    )


def test_chunks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ensemble = random_ensemble(6, 30, n_trees=40, n_inner=31)
    a, b = random_rows(1, 700, 30), random_rows(2, 700, 30)
    monkeypatch.setattr(module, "n_cores", lambda: 1)
    expected = tree_contributions(ensemble, a, b, HOST)
    monkeypatch.setattr(module, "n_cores", lambda: 4)
    np.testing.assert_array_equal(tree_contributions(ensemble, a, b, HOST), expected)
    with memory_budget(2**20):
        np.testing.assert_array_equal(tree_contributions(ensemble, a, b, HOST), expected)


def test_callers_may_explain_at_once() -> None:
    ensemble = random_ensemble(9, 15, n_trees=20, n_inner=31)
    pairs = [(random_rows(seed, 300, 15), random_rows(seed + 1, 300, 15)) for seed in range(6)]
    expected = [tree_contributions(ensemble, a, b, HOST) for a, b in pairs]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda pair: tree_contributions(ensemble, *pair, HOST), pairs))
    np.testing.assert_array_equal(found, expected)


def test_arrays_for_calls_to_come_are_lent_to_one_at_a_time_and_not_kept_when_large() -> None:
    pool = ScratchPool()
    with pool.one() as first, pool.one() as second:
        assert first is not second
    with pool.one() as again:
        assert again in (first, second)
    with pool.one() as large:
        large.take("all", (KEPT_BYTES + 1,), np.uint8)
    with pool.one() as other, pool.one() as another:
        assert large not in (other, another)
    assert pickle.loads(pickle.dumps(ensemble := random_ensemble(1, 3))).n_trees == ensemble.n_trees


def test_many_leaves_are_done_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = random_ensemble(7, 12, n_trees=30, n_inner=31)
    a, b = random_rows(1, 20, 12), random_rows(2, 20, 12)
    expected = tree_contributions(whole, a, b, HOST)
    monkeypatch.setattr("ranklens.explain.trees.layout.LEAVES_AT_ONCE", 100)
    monkeypatch.setattr("ranklens.explain.trees.device_paths.LEAVES_AT_ONCE", 30)
    cut = random_ensemble(7, 12, n_trees=30, n_inner=31)
    for name in ("numpy", "array_api_strict"):
        found = to_host(tree_contributions(cut, a, b, open_backend(name)))[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def chain(n: int) -> Tree:
    """Return a tree that asks one feature after another, and gives 1 when all are above a half."""
    inner = np.arange(n)
    feature = np.full(2 * n + 1, -1)
    feature[2 * inner] = inner
    left, right, value = np.zeros((3, 2 * n + 1))
    left[2 * inner], right[2 * inner] = 2 * inner + 1, 2 * inner + 2
    value[-1] = 1.0
    return Tree(
        feature,
        np.full(2 * n + 1, 0.5),
        left.astype(np.int64),
        right.astype(np.int64),
        value,
        np.zeros(2 * n + 1, dtype=bool),
    )


@pytest.mark.parametrize("n", [1, 15, 16, 255, 256, 300])
@pytest.mark.parametrize("name", ["numpy", "array_api_strict"])
def test_paths_of_any_length(n: int, name: str) -> None:
    ensemble = TreeEnsemble.of([chain(n)], n)
    a, b = np.zeros((3, n)), np.ones((3, n))
    a[1], b[1] = 1.0, 0.0
    # Both points fail the last condition.
    b[2, -1] = 0.0
    found = to_host(tree_contributions(ensemble, a, b, open_backend(name)))[0]
    np.testing.assert_allclose(found, [[1 / n] * n, [-1 / n] * n, [0.0] * n], rtol=1e-13)


def test_many_categories_and_many_thresholds() -> None:
    rng = np.random.default_rng(0)
    trees = []
    for i in range(400):
        tree = stump(1, float(i))
        members = tuple(sorted(rng.choice(300, 20, replace=False).tolist()))
        chosen = Tree(*vars(stump(0)).values()) if i % 2 else tree
        trees.append(Tree(**{**vars(chosen), "categories": {0: members}}) if i % 2 else tree)
    trees = [Tree(**{**vars(t), "nan_left": np.zeros(3, dtype=bool)}) for t in trees]
    ensemble = TreeEnsemble.of(trees, 2)
    assert ensemble.coding.n_words > 4
    rows = np.column_stack([rng.integers(-2, 320, 60), rng.uniform(-5, 450, 60)]).astype(float)
    rows[::9, 0] = np.nan
    np.testing.assert_array_equal(ensemble.scores(rows), [sum(walked(t, r) for t in trees) for r in rows])
    a, b = rows[:30], rows[30:]
    expected = [enumerated(ensemble.scores, *pair) for pair in zip(a, b, strict=True)]
    for name in ("numpy", "array_api_strict"):
        found = to_host(tree_contributions(ensemble, a, b, open_backend(name)))[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_other_numbers_of_pairs_compile_nothing_new() -> None:
    pytest.importorskip("jax", reason="jax is not installed")
    backend = open_backend("jax")
    ensemble = random_ensemble(8, 9, n_trees=6, n_inner=9)
    a, b = random_rows(1, 300, 9), random_rows(2, 300, 9)
    for n in (1, 3, 9, 33):
        tree_contributions(ensemble, a[:n], b[:n], backend)
    programs = kernel_programs()
    for n in (2, 5, 30, 129, 200, 257, 300):
        tree_contributions(ensemble, a[:n], b[:n], backend)
    assert kernel_programs() == programs


def kernel_programs() -> int:
    """Return how many programs JAX has made of the kernel."""
    jitted: Any = compiled(path_contributions, open_backend("jax"), static=("n_players",))
    return int(jitted._cache_size())
