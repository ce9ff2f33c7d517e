"""Features that carry one signal."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.arrays import memory_budget, to_host
from ranklens.core import DataError
from ranklens.explain import QueryFeatures, correlated_groups
from ranklens.explain.groups import rank_correlations
from ranklens.kernels.rank_correlation import average_ranks, common_ranks, rank_products


def query(features, query_id="q1"):
    matrix = np.asarray(features, dtype=float)
    return QueryFeatures.of(query_id, range(len(matrix)), matrix, {})


CHAIN = query([[1, 2, 3], [2, 1, 1], [3, 3, 2], [4, 5, 5], [5, 4, 4]])
NAMES = ("x1", "x2", "x3")


@pytest.mark.parametrize(
    ("threshold", "groups"), [(0.8, (NAMES,)), (0.85, (("x2", "x3"),)), (0.95, ()), (0.6, (NAMES,))]
)
def test_components_chain_and_the_threshold_itself_counts(threshold, groups):
    assert rank_correlations([CHAIN], NAMES)[[0, 0, 1], [1, 2, 2]] == pytest.approx([0.8, 0.6, 0.9])
    assert correlated_groups([CHAIN], NAMES, threshold=threshold) == groups


def test_monotone_functions_are_one_group_and_constants_are_in_none():
    x = np.random.default_rng(0).normal(size=9)
    features = np.stack([x, np.exp(x), np.ones(9), -(x**3), np.full(9, np.nan)], axis=1)
    assert correlated_groups([query(features)], list("abcde")) == (("a", "b", "d"),)


def test_groups_come_in_the_order_of_the_names():
    x, y = np.random.default_rng(1).normal(size=(2, 50))
    features = np.stack([x, y, -y, x + 0.01 * y], axis=1)
    assert correlated_groups([query(features)], list("abcd")) == (("a", "d"), ("b", "c"))


def test_what_differs_between_queries_is_correlated_across_them_only():
    generator = np.random.default_rng(2)
    queries = [query(generator.normal(size=(20, 2)) + 50.0 * i, f"q{i}") for i in range(10)]
    assert correlated_groups(queries, list("ab")) == ()
    assert correlated_groups(queries, list("ab"), within_query=False) == (("a", "b"),)


def test_queries_are_pooled_and_their_order_is_not_seen():
    generator = np.random.default_rng(3)
    queries = [query(generator.integers(0, 4, size=(6, 3)), f"q{i}") for i in range(8)]
    pooled = np.zeros((3, 3))
    for one in queries:
        pooled += rank_products(one.features)
    scale = np.sqrt(np.diag(pooled))
    expected = pooled / np.outer(scale, scale)
    np.testing.assert_allclose(rank_correlations(queries[::-1], list("abc")), expected, atol=1e-12)


@given(st.integers(0, 2**32), st.integers(3, 30), st.floats(0.0, 0.6))
def test_missing_values_are_left_out_pair_by_pair(seed, n, share):
    pandas = pytest.importorskip("pandas", reason="the comparison needs pandas")
    generator = np.random.default_rng(seed)
    features = generator.integers(0, 5, size=(n, 4)).astype(float)
    features[generator.random(features.shape) < share] = math.nan
    expected = pandas.DataFrame(features).corr(method="spearman").fillna(0.0).to_numpy()
    found = rank_correlations([query(features)], list("abcd"))
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(found[off], expected[off], atol=1e-12)


@pytest.mark.parametrize("limit", [None, 2**20])
def test_many_features_with_gaps_of_their_own_are_compared_pair_by_pair(limit):
    generator = np.random.default_rng(4)
    queries = []
    for q in range(3):
        features = generator.integers(0, 6, size=(25, 20)).astype(float)
        features[generator.random(features.shape) < 0.4] = math.nan
        features[:, 5] = math.nan if q else features[:, 5]
        queries.append(query(features, f"q{q}"))
    names = [f"x{i:02d}" for i in range(20)]
    with memory_budget(limit) if limit else contextlib.nullcontext():
        found = rank_correlations(queries, names)
    for i, j in [(0, 1), (3, 7), (5, 6), (13, 2)]:
        alone = [QueryFeatures.of(q.query_id, q.documents, q.features[:, [i, j]], {}) for q in queries]
        assert (
            found[i, j] == found[j, i] == pytest.approx(rank_correlations(alone, ["a", "b"])[0, 1], abs=1e-14)
        )


def test_ranks_among_common_rows_on_every_backend(backend):
    nan = math.nan
    values = np.asarray([[2.0, 0.0, nan], [1.0, nan, 1.0], [2.0, 5.0, 3.0], [nan, 1.0, 1.0], [0.0, 1.0, 1.0]])
    (found,) = to_host(common_ranks(backend.asarray(values), 0))
    expected = [[1.0, 0.5, 0.0], [-0.5, 0.0, 0.0], [1.0, 0.5, 1.0], [0.0, 0.0, 0.0], [-1.5, -1.0, -1.0]]
    np.testing.assert_array_equal(found, expected)


def test_average_ranks_on_every_backend(backend):
    values = np.asarray([[2.0, 0.0], [1.0, -0.0], [2.0, 5.0], [2.0, -1.0]])
    (ranks,) = to_host(average_ranks(backend.asarray(values)))
    np.testing.assert_array_equal(ranks, [[2.0, 1.5], [0.0, 1.5], [2.0, 3.0], [2.0, 0.0]])


def test_products_on_every_backend(backend):
    (found,) = to_host(rank_products(backend.asarray(CHAIN.features)))
    expected = [[10.0, 8.0, 6.0], [8.0, 10.0, 9.0], [6.0, 9.0, 10.0]]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("threshold", [0.0, -0.5, 1.1, math.nan])
def test_a_threshold_out_of_range_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold must be above 0 and at most 1"):
        correlated_groups([CHAIN], NAMES, threshold=threshold)


def test_missing_features_are_named():
    named = QueryFeatures.of("q1", "ab", [[1, 2], [2, 1]], {}, names=["a", "b"])
    with pytest.raises(DataError, match="lacks the feature 'c'"):
        correlated_groups([named], ["a", "c"])
    assert correlated_groups([named], ["b", "a"]) == (("b", "a"),)


def test_some_of_the_columns_may_be_looked_at():
    named = QueryFeatures.of("q", CHAIN.documents, CHAIN.features, CHAIN.grades, names=["a", "b", "c"])
    assert correlated_groups([named], ["c", "b"], threshold=0.85) == (("c", "b"),)
    with pytest.raises(DataError, match="lacks the feature 'x'"):
        correlated_groups([named], ["c", "x"])


def test_the_threshold_is_a_number():
    with pytest.raises(ValueError, match="threshold must be above 0 and at most 1, got 'x'"):
        correlated_groups([CHAIN], NAMES, threshold="x")
