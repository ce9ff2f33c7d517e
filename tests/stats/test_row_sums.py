"""Sums of many rows are rounded once, as those of a single row are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.stats.rows import sums
from ranklens.stats.rows.sums import exact_sums


def rows_of(kind: str, rng: np.random.Generator) -> np.ndarray:
    shape = (40, int(rng.integers(1, 400)))
    normal = rng.normal(size=shape)
    return {
        "normal": normal,
        "tenths": np.round(normal, 1),
        "of many sizes": normal * 10.0 ** rng.integers(-18, 18, shape),
        "cancelling": np.concatenate([normal, -normal], axis=1),
        "half way between two numbers": np.where(normal > 0, 2.0 ** rng.integers(-60, 60, shape), -1.0),
        "subnormal": normal * 1e-308,
    }[kind]


@pytest.mark.parametrize(
    "kind", ["normal", "tenths", "of many sizes", "cancelling", "half way between two numbers", "subnormal"]
)
def test_sums_are_those_of_fsum(monkeypatch, kind):
    monkeypatch.setattr(sums, "_FEWEST", 0)
    rng = np.random.default_rng(len(kind))
    for _ in range(20):
        values = rows_of(kind, rng)
        assert exact_sums(values).tolist() == [math.fsum(row) for row in values.tolist()]


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=12))
def test_any_values_sum_as_by_fsum(values):
    rows = np.tile(values, (400, 12))
    assert exact_sums(rows).tolist() == [math.fsum(values * 12)] * 400


def test_no_values_sum_to_zero():
    assert exact_sums(np.zeros((3, 0))).tolist() == [0.0] * 3
