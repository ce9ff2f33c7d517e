"""A mean of values of which some are missing says so, or refuses."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.core import DataError, InsufficientSampleError, UnknownNameError
from ranklens.metrics import mean_with_coverage

JUDGED = {f"q{i}": value for i, value in enumerate([1, 1, 1, 1, 0.5, None, None, math.nan, None, None])}


def test_missing_values_are_an_error_that_names_them() -> None:
    with pytest.raises(DataError, match="5 of 10 queries have no value: q5, q6, q7, q8, q9; provide"):
        mean_with_coverage(JUDGED)


def test_excluded_values_leave_their_coverage_and_bounds() -> None:
    found = mean_with_coverage(JUDGED, missing="exclude")
    assert (found.mean, found.n_measured, found.n_queries, found.coverage) == (0.9, 5, 10, 0.5)
    assert (found.low, found.high) == (0.45, 0.95)
    assert str(found) == (
        "0.9000 over 5 of 10 queries (coverage 50%; over all queries between 0.4500 and 0.9500)"
    )


def test_a_sequence_names_its_queries_by_position() -> None:
    with pytest.raises(DataError, match="1 of 3 queries have no value: 2;"):
        mean_with_coverage([1.0, None, 0.0])


@given(
    st.lists(st.one_of(st.none(), st.floats(-1, 3)), min_size=1).filter(
        lambda v: any(x is not None for x in v)
    )
)
def test_any_filling_of_the_gaps_lies_between_the_bounds(values: list[float | None]) -> None:
    found = mean_with_coverage(values, missing="exclude", bounds=(-1, 3))
    for filling in (-1.0, 0.25, 3.0):
        filled = [filling if value is None else value for value in values]
        assert found.low - 1e-12 <= math.fsum(filled) / len(filled) <= found.high + 1e-12
    assert found.coverage == found.n_measured / found.n_queries


def test_bad_arguments_are_named() -> None:
    with pytest.raises(DataError, match=r"the value 1.5 of query 'q' lies outside \[0.0, 1.0\]; set bounds="):
        mean_with_coverage({"q": 1.5})
    with pytest.raises(InsufficientSampleError, match="0 queries with a value"):
        mean_with_coverage({"q": None}, missing="exclude")
    with pytest.raises(InsufficientSampleError):
        mean_with_coverage({})
    with pytest.raises(UnknownNameError, match="unknown missing 'drop'"):
        mean_with_coverage({"q": 1.0}, missing="drop")
    with pytest.raises(ValueError, match="bounds must be a smaller and a larger number"):
        mean_with_coverage({"q": 1.0}, bounds=(1, 0))
