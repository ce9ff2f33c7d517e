"""Features that carry one signal, found by Spearman's correlation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut, rows_within
from ranklens.explain.models.base import checked_names
from ranklens.explain.queries import Queries, query_list, stacked
from ranklens.io.query_features import QueryFeatures
from ranklens.kernels.rank_correlation import common_ranks, rank_products

TOLERANCE = 1e-9
"""How far below the threshold a correlation may lie: sums of ranks round, and an exact 0.8 must reach 0.8."""

DEFAULT_THRESHOLD = 0.8
# Ranks of many patterns of missing values are made together; of many documents that would take their square.
_FEW_PATTERNS = 8
_FEW_DOCUMENTS = 256
Floats = NDArray[np.float64]


def correlated_groups(
    queries: Queries,
    names: Iterable[str],
    *,
    threshold: float = DEFAULT_THRESHOLD,
    within_query: bool = True,
) -> tuple[tuple[str, ...], ...]:
    """Find features that stand in for each other.

    Two features with \\|Spearman's rho\\| of at least `threshold` are joined, and so are all that hang
    together by such pairs (the connected components; single linkage cut at the threshold). It chains: a group
    is not a clique, and its ends may be correlated weakly.

    Parameters
    ----------
    queries : iterable of QueryFeatures
    names : iterable of str
        The features; those of a model are ``model.names``. Columns of other names are left out.
    threshold : float, default 0.8
        Above 0 and at most 1. A correlation that falls short by rounding alone counts as equal.
    within_query : bool, default True
        Rank within each query, and pool the covariances. Ranked over all documents together, a feature that
        differs between the queries looks correlated with every other such one.

    Returns
    -------
    tuple of tuples of str
        Groups of two and more, in the order of `names`. Fit for the ``groups=`` of `listwise` and `pairwise`.

    Raises
    ------
    ValueError
        When the threshold is out of range.
    DataError
        When the queries lack a feature.

    Examples
    --------
    >>> from ranklens.explain import QueryFeatures
    >>> features = [[1, 2, 3], [2, 1, 1], [3, 3, 2], [4, 5, 5], [5, 4, 4]]
    >>> query = QueryFeatures.of("q1", "abcde", features, {"a": 1})
    >>> correlated_groups([query], ["bm25", "bm25_title", "price"], threshold=0.85)
    (('bm25_title', 'price'),)
    """
    if not isinstance(threshold, (int, float)) or not 0.0 < threshold <= 1.0:
        raise ValueError(f"threshold must be above 0 and at most 1, got {threshold!r}")
    labels = checked_names(names)
    correlations = rank_correlations(query_list(queries), labels, within_query=within_query)
    joined = np.argwhere(np.triu(np.abs(correlations) >= threshold - TOLERANCE, 1))
    return _components(labels, joined.tolist())


def rank_correlations(
    queries: Sequence[QueryFeatures], names: Sequence[str], *, within_query: bool = True
) -> Floats:
    """Return Spearman's rho of each two features, shape (k, k); 0 where one of them is constant.

    Average ranks, centred within each query, and covariances pooled over the queries. Of a pair the documents
    count that have both values.
    """
    others = {name for query in queries for name in query.names or ()}
    stack = stacked(queries, names, others=others)
    k = len(stack.host[0])
    edges = stack.starts if within_query else stack.starts[[0, -1]]
    products, squares = np.zeros((k, k)), np.zeros((k, k))
    for start, stop in pairwise(edges.tolist()):
        _add_query(stack.host[start:stop].astype(np.float64), products, squares)
    scale = np.sqrt(squares * squares.T)
    return np.divide(products, scale, out=np.zeros((k, k)), where=scale > 0.0)


def _add_query(values: Floats, products: Floats, squares: Floats) -> None:
    """Add one query's products of ranks; ``squares[i, j]`` is of feature i where j has a value as well."""
    present, pattern = np.unique(~np.isnan(values), axis=1, return_inverse=True)
    if present.shape[1] > _FEW_PATTERNS and values.shape[0] <= _FEW_DOCUMENTS:
        _add_gapped(values, products, squares)
        return
    columns = [np.flatnonzero(pattern == p) for p in range(present.shape[1])]
    for p, own in enumerate(columns):
        for other in range(p, len(columns)):
            documents = present[:, p] & present[:, other]
            if documents.sum() < 2:
                continue
            both = own if p == other else np.concatenate([own, columns[other]])
            found = rank_products(values[documents][:, both])
            _add_block(found, own, columns[other], products, squares)


def _add_gapped(values: Floats, products: Floats, squares: Floats) -> None:
    """Do the same where most features lack values in documents of their own: some features by some others."""
    n, k = values.shape
    pairs_at_once = rows_within(48 * n, k * k, share=0.25)
    blocks = [np.arange(some.start, some.stop) for some in cut(range(k), max(1, math.isqrt(pairs_at_once)))]
    for place, own in enumerate(blocks):
        for other in blocks[place:]:
            ours = _common(values, own, other)
            theirs = _common(values, other, own) if other is not own else ours
            found = np.einsum("adb,bda->ab", ours, theirs)
            products[np.ix_(own, other)] += found
            squares[np.ix_(own, other)] += (ours * ours).sum(axis=1)
            if other is not own:
                products[np.ix_(other, own)] += found.T
                squares[np.ix_(other, own)] += (theirs * theirs).sum(axis=1)


def _common(values: Floats, own: NDArray[np.int64], other: NDArray[np.int64]) -> Floats:
    """Return the `common_ranks` of the features `own` towards `other`, shape (own, n, other)."""
    return np.stack([common_ranks(values[:, [i, *other]], 0)[:, 1:] for i in own])


def _add_block(
    found: Floats, own: NDArray[np.int64], other: NDArray[np.int64], products: Floats, squares: Floats
) -> None:
    n, diagonal = len(own), np.diagonal(found)
    if found.shape[0] == n:
        products[np.ix_(own, own)] += found
        squares[np.ix_(own, own)] += diagonal[:, None]
        return
    products[np.ix_(own, other)] += found[:n, n:]
    products[np.ix_(other, own)] += found[n:, :n]
    squares[np.ix_(own, other)] += diagonal[:n, None]
    squares[np.ix_(other, own)] += diagonal[n:, None]


def _components(names: Sequence[str], pairs: Iterable[Any]) -> tuple[tuple[str, ...], ...]:
    parent = list(range(len(names)))

    def root(feature: int) -> int:
        while parent[feature] != feature:
            parent[feature] = parent[parent[feature]]
            feature = parent[feature]
        return feature

    for one, other in pairs:
        # The smallest member is the root, so that groups come in the order of the names.
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    members: dict[int, list[str]] = {}
    for feature, name in enumerate(names):
        members.setdefault(root(feature), []).append(name)
    return tuple(tuple(group) for group in members.values() if len(group) > 1)
