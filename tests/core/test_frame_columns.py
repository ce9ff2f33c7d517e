"""A frame of comparisons has one schema, whatever the comparisons lack."""

from __future__ import annotations

import dataclasses

import pytest

from ranklens.core import ComparisonResult
from ranklens.core.comparison_table import ComparisonTable

FULL = ComparisonResult(
    "AP", 0.1, 0.2, 0.1, 0.0, 0.2, 0.05, 0.01, 40, 0, 0, 0, 0, 0, q_value=0.02, segment="f=x", effect=0.3,
    p_error=0.0, log10_p=-2.0, correction="maxt", family="AP", se=0.01, n_units=20, margin=0.1, p_t=0.01,
    p_wilcoxon=0.01, simultaneous_low=0.0, simultaneous_high=0.2, simultaneous_method="maxt",
    q_permutations=9, q_seed=0, simultaneous_permutations=9, simultaneous_seed=0,
)  # fmt: skip
OPTIONAL = [field.name for field in dataclasses.fields(ComparisonResult) if field.default is None] + [
    "mean_a",
    "mean_b",
    "delta",
    "ci_low",
    "ci_high",
    "p_value",
]
BARE = dataclasses.replace(FULL, **dict.fromkeys(OPTIONAL))


def test_arrow_tables_with_and_without_values_can_be_joined():
    pa = pytest.importorskip("pyarrow")
    full, bare = (ComparisonTable([row]).to_frame("pyarrow") for row in (FULL, BARE))
    assert bare.schema == full.schema
    assert pa.concat_tables([full, bare]).num_rows == 2
    assert ComparisonTable([]).to_frame("pyarrow").schema == full.schema


def test_polars_frames_with_and_without_values_have_one_schema():
    pytest.importorskip("polars")
    full, bare, none = (ComparisonTable(rows).to_frame("polars") for rows in ([FULL], [BARE], []))
    assert bare.schema == full.schema == none.schema


def test_missing_numbers_are_numbers_in_pandas():
    pytest.importorskip("pandas")
    bare = ComparisonTable([BARE]).to_frame("pandas")
    numbers = [name for name in OPTIONAL if isinstance(getattr(FULL, name), (int, float))]
    assert {str(bare[name].dtype) for name in numbers} == {"float64"}
    assert bare[OPTIONAL].isna().all(axis=None)
