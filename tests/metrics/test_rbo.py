"""Rank-biased overlap against its definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ranklens.core import DataError
from ranklens.metrics import rbo

FAR = 3000


def top(groups: list[list[Any]], depth: int) -> set[Any]:
    """Return the items down to a depth; a tied group counts whole from its first rank."""
    found, rank = set(), 1
    for group in groups:
        if rank <= depth:
            found |= set(group)
        rank += len(group)
    return found


def by_definition(a: list[list[Any]], b: list[list[Any]], p: float) -> float:
    """Sum (1 - p) p^(d - 1) times the agreement over all depths, extrapolating it below the ends."""
    short, long = sorted((a, b), key=lambda groups: sum(map(len, groups)))
    s, deepest = sum(map(len, short)), sum(map(len, long))

    def overlap(depth: int) -> int:
        return len(top(short, depth) & top(long, depth))

    def seen(depth: int) -> float:
        return 2 * overlap(depth) / (len(top(short, depth)) + len(top(long, depth)))

    def agreement(depth: int) -> float:
        if depth <= s:
            return seen(depth)
        depth = min(depth, deepest)
        expected = overlap(depth) + seen(s) * (depth - s)
        return 2 * expected / (depth + len(top(long, depth)))

    depths = range(1, min(FAR, deepest + 1) + 1)
    return (1 - p) * math.fsum(agreement(d) * p ** (d - 1) for d in depths) + agreement(
        deepest + 1
    ) * p ** len(depths)


items = st.permutations(list("abcdefgh")).flatmap(
    lambda order: st.integers(1, len(order)).map(lambda n: list(order[:n]))
)
persistence = st.sampled_from([0.1, 0.5, 0.8, 0.9, 0.98])


@st.composite
def tied(draw: Any) -> list[list[Any]]:
    order, groups = draw(items), []
    while order:
        n = draw(st.integers(1, len(order)))
        groups.append(order[:n])
        order = order[n:]
    return groups


def test_published_values_of_swapped_rankings() -> None:
    found = rbo([1, 2, 3, 4, 5, 6, 7, 8, 0, 9], [1, 2, 3, 4, 5, 6, 7, 8, 9, 0], p=0.9)
    assert round(found.ext, 6) == 0.995217
    assert rbo(["x", "y", "z"], ["x", "z", "y"], p=0.5).ext == 0.875
    assert float(found) == found.ext


@given(tied(), tied(), persistence)
def test_the_extrapolated_value_is_that_of_the_definition(a: Any, b: Any, p: float) -> None:
    assert rbo(a, b, p).ext == pytest.approx(by_definition(a, b, p), abs=1e-12)


@given(items, items, persistence)
def test_without_ties_it_is_equation_32_of_the_paper(a: list[str], b: list[str], p: float) -> None:
    short, long = sorted((a, b), key=len)
    s, n = len(short), len(long)
    x = [len(set(short[:d]) & set(long[:d])) for d in range(n + 1)]
    total = sum(x[d] / d * p**d for d in range(1, n + 1))
    total += sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    expected = (1 - p) / p * total + ((x[n] - x[s]) / n + x[s] / s) * p**n
    assert rbo(a, b, p).ext == pytest.approx(expected, abs=1e-12)


@given(items, items, persistence)
def test_the_lower_bound_and_the_residual_are_those_of_the_paper(
    a: list[str], b: list[str], p: float
) -> None:
    short, long = sorted((a, b), key=len)
    s, n = len(short), len(long)
    x = [len(set(short[:d]) & set(long[:d])) for d in range(n + 1)]
    full = s + n - x[n]
    log = -math.log1p(-p)
    lower = (
        (1 - p)
        / p
        * (
            sum(x[d] / d * p**d for d in range(1, n + 1))
            + x[n] * (log - sum(p**d / d for d in range(1, n + 1)))
        )
    )
    inside = s * sum(p**d / d for d in range(s + 1, full + 1)) + n * sum(
        p**d / d for d in range(n + 1, full + 1)
    )
    inside += x[n] * (log - sum(p**d / d for d in range(1, full + 1)))
    residual = p**s + p**n - p**full - (1 - p) / p * inside
    found = rbo(a, b, p)
    assert found.lower == pytest.approx(lower, abs=1e-12)
    assert found.residual == pytest.approx(residual, abs=1e-12)


@given(items, items, st.sampled_from([0.5, 0.8]), st.integers(0, 2**32 - 1))
def test_every_continuation_lies_between_the_bounds(a: list[str], b: list[str], p: float, seed: int) -> None:
    found = rbo(a, b, p)
    rng = np.random.default_rng(seed)
    universe = list("abcdefgh") + [f"new{i}" for i in range(120)]
    whole = [given + [x for x in rng.permutation(universe) if x not in given] for given in (a, b)]
    deep = len(universe)
    value = by_definition([[x] for x in whole[0]], [[x] for x in whole[1]], p)
    slack = p**deep + 1e-12
    assert found.lower - slack <= value <= found.upper + slack


@given(tied(), tied(), persistence)
def test_the_value_is_symmetric_and_between_its_bounds(a: Any, b: Any, p: float) -> None:
    found, mirrored = rbo(a, b, p), rbo(b, a, p)
    assert (found.ext, found.lower, found.residual) == pytest.approx(
        (mirrored.ext, mirrored.lower, mirrored.residual), abs=1e-15
    )
    assert -1e-12 <= found.lower <= found.ext + 1e-12
    assert found.upper <= 1 + 1e-12


@given(tied(), persistence)
def test_a_ranking_agrees_with_itself(a: Any, p: float) -> None:
    assert rbo(a, a, p).ext == pytest.approx(1.0, abs=1e-12)


@given(items, persistence)
def test_rankings_without_a_common_item_have_none(a: list[str], p: float) -> None:
    found = rbo(a, [item.upper() for item in a], p)
    assert (found.ext, found.lower) == (0.0, 0.0)


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([0.0, 1.0, 2.0]), min_size=1), items)
def test_equal_scores_of_a_mapping_tie(scores: dict[str, float], b: list[str]) -> None:
    levels = sorted(set(scores.values()), reverse=True)
    groups = [sorted(item for item in scores if scores[item] == level) for level in levels]
    assume(groups)
    assert rbo(scores, b) == rbo(groups, b)


@pytest.mark.parametrize(
    ("a", "p", "error", "message"),
    [
        ([], 0.9, DataError, "ranking_a is empty"),
        (["x", "y", "x"], 0.9, DataError, "ranking_a has the item 'x' twice"),
        ([["x", "y"], "y"], 0.9, DataError, "ranking_a has the item 'y' twice"),
        ({"x": math.nan}, 0.9, DataError, "ranking_a has a score that is not a number"),
        ("xyz", 0.9, TypeError, "ranking_a must be a sequence of items"),
        (["x"], 1.0, ValueError, "p must lie between 0 and 1"),
        (["x"], 0.0, ValueError, "p must lie between 0 and 1"),
    ],
)
def test_what_is_no_ranking_is_refused(a: Any, p: float, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        rbo(a, ["x"], p)


def test_the_result_prints_on_one_line() -> None:
    found = rbo(["x", "y", "z"], ["x", "z", "y"], p=0.5)
    assert str(found) == "RBO 0.8750 (between 0.8294 and 0.8750, p 0.5)"
    assert found.to_dict()["ext"] == 0.875
