"""Counting pairs of signed sums with one half listed for its mirror image too."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.stats.exact.mirrored import mirrored_counts

Values = st.one_of(st.integers(1, 9), st.integers(1, 2**53))


def subsets_within(magnitudes: list[int], limit: int) -> int:
    choices = itertools.product((0, 1), repeat=len(magnitudes))
    return sum(sum(itertools.compress(magnitudes, chosen)) <= limit for chosen in choices)


@given(st.lists(Values, min_size=1, max_size=9), st.floats(-0.1, 1.0))
def test_the_counts_are_those_of_all_subsets(magnitudes: list[int], share: float) -> None:
    magnitudes.sort()
    limit = min(int(share * sum(magnitudes)), sum(magnitudes))
    found = mirrored_counts(np.array([magnitudes]), np.array([limit]))
    assert found.tolist() == [subsets_within(magnitudes, limit)]


@given(st.lists(st.lists(Values, min_size=7, max_size=7), min_size=2, max_size=5))
def test_rows_are_counted_as_they_are_alone(rows: list[list[int]]) -> None:
    magnitudes = np.sort(np.array(rows), axis=1)
    limits = magnitudes.sum(axis=1) // 3
    limits[0] = -1
    alone = [int(mirrored_counts(magnitudes[i : i + 1], limits[i : i + 1])[0]) for i in range(len(rows))]
    assert mirrored_counts(magnitudes, limits).tolist() == alone
    assert alone[0] == 0


@pytest.mark.parametrize("n", [36, 37])
def test_halves_that_fill_more_than_a_cache_are_counted(n: int) -> None:
    rng = np.random.default_rng(n)
    integers = np.sort(rng.integers(1, 200, n))
    limit = int(integers.sum() * 0.4)
    ways = np.zeros(int(integers.sum()) + 1, dtype=np.int64)
    ways[0] = 1
    for value in integers.tolist():
        ways[value:] += ways[:-value].copy()
    assert mirrored_counts(integers[None], np.array([limit])).tolist() == [int(ways[: limit + 1].sum())]
