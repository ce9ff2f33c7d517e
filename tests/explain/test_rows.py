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
