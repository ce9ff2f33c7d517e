"""Messages of other libraries are passed on in a line, without the traces of their C++."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ranklens.core import DataError, ModelError
from ranklens.explain import adapt, load_model
from ranklens.explain.models.foreign import said

xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")


def booster() -> xgboost.Booster:
    rows = np.random.default_rng(0).normal(size=(50, 2))
    return xgboost.train({"nthread": 1}, xgboost.DMatrix(rows, rows[:, 0], nthread=1), 5)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.3, 0.5, 0.8, 0.99])
def test_a_binary_file_of_xgboost_that_is_cut_off_is_said_in_a_line(tmp_path: Path, share: float) -> None:
    data = bytes(booster().save_raw("ubj"))
    path = tmp_path / "cut.ubj"
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(DataError, match="cut off") as caught:
        load_model(path)
    message = str(caught.value)
    assert "\n" not in message
    assert "Stack trace" not in message
    assert ".cc:" not in message


def test_rows_that_xgboost_refuses_are_said_without_a_trace() -> None:
    with pytest.raises(ModelError, match="Input data contains `inf`") as caught:
        adapt(booster(), ["a", "b"]).score(np.asarray([[np.inf, 1.0]]))
    assert "Stack trace" not in str(caught.value)


def test_lines_of_an_exception_without_a_trace_are_kept() -> None:
    assert said(ValueError("one\ntwo")) == "one\ntwo"
