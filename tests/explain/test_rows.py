"""What the rows of a pair may hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ranklens.core import DataError
from ranklens.explain import adapt, pairwise, pairwise_many

DATES = ("datetime64[D]", "datetime64[us]", "timedelta64[us]")


def days(kind: str) -> Any:
    return np.asarray([18262, 18263]).astype(kind)


@pytest.mark.parametrize("library", ["dict", "pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kind", DATES)
def test_dates_are_no_features(library: str, kind: str) -> None:
    columns = {"a": days(kind), "b": np.asarray([1.0, 2.0])}
    frame: Any = columns
    if library != "dict":
        module = pytest.importorskip(library, reason=f"{library} is not installed")
        frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    model = adapt(lambda x: x[:, 0] + x[:, 1], ["a", "b"])
    with pytest.raises(DataError, match=r"column 'a' of b holds .*64\[.*\] values; features must be real"):
        pairwise_many(model, np.ones((2, 2)), frame)
    for row in (frame[:1] if library in ("pandas", "polars") else None, {"a": days(kind)[0], "b": 1.0}):
        if row is not None:
            with pytest.raises(DataError, match="b holds"):
                pairwise(model, (1, 2), row)


def test_one_row_without_names_stands_for_many(backend):
    model = adapt(lambda x: x[:, 0] * x[:, 1], ["bm25", "freshness"])
    many, one = [[3.0, 4.0], [5.0, 6.0], [1.0, 2.0]], [1.0, 2.0]
    expected = pairwise_many(model, [one] * 3, many).contributions
    for row in (one, tuple(one), np.asarray(one), [one], backend.asarray(np.asarray(one)),
                {"freshness": 2.0, "bm25": 1.0}):  # fmt: skip
        np.testing.assert_allclose(pairwise_many(model, row, many).contributions, expected)
        np.testing.assert_allclose(pairwise_many(model, many, row).contributions, -expected)
    assert pairwise_many(model, one, many[0]).contributions.shape == (1, 2)
    with pytest.raises(DataError, match=r"a has shape \(3,\); \(n, 2\) is needed"):
        pairwise_many(model, [1.0, 2.0, 3.0], many)


def test_a_named_series_stands_for_many():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    model = adapt(lambda x: x[:, 0] * x[:, 1], ["bm25", "freshness"])
    frame = pandas.DataFrame({"freshness": [2.0, 5.0], "bm25": [1.0, 7.0]})
    found = pairwise_many(model, frame.iloc[0], frame)
    assert found.contributions.tolist() == [[0.0, 0.0], [21.0, 12.0]]
