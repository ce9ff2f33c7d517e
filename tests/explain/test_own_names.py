"""Names of features that a model has itself are not turned round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklens.core import ModelError
from ranklens.explain import adapt

ROWS = np.random.default_rng(0).normal(size=(60, 3))
OWN, TURNED, OTHERS = ["a", "b", "c"], ["b", "a", "c"], ["x", "a", "z"]


def lightgbm_model(folder: Path) -> list[Any]:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    data = lightgbm.Dataset(ROWS, ROWS[:, 0], feature_name=OWN)
    booster = lightgbm.train({"verbose": -1, "num_threads": 1, "min_data_in_leaf": 2}, data, 2)
    booster.save_model(folder / "model.txt")
    return [booster, folder / "model.txt"]


def xgboost_model(folder: Path) -> list[Any]:
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    data = xgboost.DMatrix(ROWS, ROWS[:, 0], feature_names=OWN, nthread=1)
    booster = xgboost.train({"nthread": 1}, data, 2)
    booster.save_model(folder / "model.json")
    booster.save_model(folder / "model.ubj")
    return [booster, folder / "model.json", folder / "model.ubj"]


def catboost_model(folder: Path) -> list[Any]:
    catboost = pytest.importorskip("catboost", reason="catboost is not installed")
    options = {"iterations": 2, "verbose": False, "thread_count": 1, "allow_writing_files": False}
    fitted = catboost.CatBoostRegressor(**options).fit(catboost.Pool(ROWS, ROWS[:, 0], feature_names=OWN))
    fitted.save_model(str(folder / "model.cbm"))
    return [fitted, folder / "model.cbm"]


def sklearn_model(folder: Path) -> list[Any]:
    trees = pytest.importorskip("sklearn.tree", reason="scikit-learn is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    return [trees.DecisionTreeRegressor().fit(pandas.DataFrame(ROWS, columns=OWN), ROWS[:, 0])]


@pytest.mark.parametrize("trained", [lightgbm_model, xgboost_model, catboost_model, sklearn_model])
def test_a_models_own_names_are_not_taken_in_another_order(trained: Any, tmp_path: Path) -> None:
    for model in trained(tmp_path):
        assert adapt(model).names == adapt(model, OWN).names == tuple(OWN)
        assert adapt(model, OTHERS).names == tuple(OTHERS)
        with pytest.raises(ModelError, match="in another order: its column 0 is 'a' and not 'b'"):
            adapt(model, TURNED)
