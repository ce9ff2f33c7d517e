"""Estimators that were not fitted are refused in one voice."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from ranklens.core import ModelError
from ranklens.explain import adapt

NAMES = ["bm25", "price"]

ESTIMATORS = [
    ("sklearn.ensemble", "RandomForestRegressor"),
    ("sklearn.linear_model", "LinearRegression"),
    ("sklearn.ensemble", "HistGradientBoostingRegressor"),
    ("lightgbm", "LGBMRanker"),
    ("lightgbm", "LGBMRegressor"),
    ("xgboost", "XGBRanker"),
    ("xgboost", "XGBRegressor"),
    ("catboost", "CatBoostRegressor"),
]


@pytest.mark.parametrize(("library", "name"), ESTIMATORS)
@pytest.mark.parametrize("names", [None, NAMES])
def test_an_estimator_that_was_not_fitted_is_refused(
    library: str, name: str, names: list[str] | None
) -> None:
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    with pytest.raises(ModelError, match=rf"the {name} is not fitted; call its fit\(\) first"):
        adapt(getattr(module, name)(), names)


@pytest.mark.parametrize("names", [NAMES])
def test_a_pipeline_is_fitted_with_its_last_step(names: list[str]) -> None:
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    pipelines = importlib.import_module("sklearn.pipeline")
    pipeline = pipelines.make_pipeline(linear.LinearRegression())
    with pytest.raises(ModelError, match="the Pipeline is not fitted"):
        adapt(pipeline, names)
    rows = np.arange(8.0).reshape(4, 2) ** 2
    pipeline.fit(rows, rows[:, 0])
    assert adapt(pipeline, names).names == tuple(names)
