"""CatBoost: oblivious and other trees of numeric features."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ltr_data import Floats, lambdarank_example, pairs_of, single, with_gaps
from tree_checks import check_by_coalitions, check_trees, for_shap, interventional

from ranklens.core import DataError, ModelError
from ranklens.explain.models.catboost import CatBoostModel
from ranklens.explain.models.files import read_model
from ranklens.explain.trees import UnsupportedTreesError
from ranklens.explain.trees.catboost_json import parse_catboost

catboost = pytest.importorskip("catboost")

QUIET = {"verbose": False, "thread_count": 1, "allow_writing_files": False, "random_seed": 0}


@pytest.fixture(scope="module")
def example(data_dir: Path) -> tuple[Floats, Floats, Any]:
    rows, grades, sizes = lambdarank_example(data_dir)
    return with_gaps(rows[:, :60]), grades, np.repeat(np.arange(sizes.size), sizes)


@pytest.fixture(scope="module")
def ranker(example: tuple[Floats, Floats, Any]) -> Any:
    rows, grades, query = example
    return catboost.CatBoostRanker(iterations=60, depth=5, **QUIET).fit(rows, grades, group_id=query)


def test_ranker_scores_sums_and_nulls(ranker: Any, example: tuple[Floats, Floats, Any]) -> None:
    model = CatBoostModel(ranker)
    check_trees(model, *pairs_of(example[0], 200), atol=1e-12)
    np.testing.assert_array_equal(model.score(example[0]), ranker.predict(example[0]))


def test_ranker_as_all_coalitions_explain_it(ranker: Any, example: tuple[Floats, Floats, Any]) -> None:
    check_by_coalitions(CatBoostModel(ranker), *pairs_of(example[0], 3), k=10, atol=1e-12)


def test_ranker_as_shap_explains_its_trees(ranker: Any, example: tuple[Floats, Floats, Any]) -> None:
    # shap explains no CatBoostRanker against a background, but the trees that were read from it.
    model = CatBoostModel(ranker)
    a, b = (single(rows) for rows in pairs_of(example[0], 3))
    found = check_trees(model, a, b, atol=1e-12)
    assert np.isnan(a).any()
    np.testing.assert_allclose(found, interventional(for_shap(model.trees()), a, b), rtol=0, atol=1e-6)


def test_a_regressor_as_shap_explains_it(data_dir: Path) -> None:
    # shap explains no CatBoostRanker against a background, and knows no missing values in CatBoost's trees.
    rows, grades, _ = lambdarank_example(data_dir)
    rows = single(rows[:, :60])
    model = catboost.CatBoostRegressor(iterations=30, depth=4, **QUIET).fit(rows, grades)
    a, b = pairs_of(rows, 3)
    found = check_trees(CatBoostModel(model), a, b, atol=1e-12)
    np.testing.assert_allclose(found, interventional(model, a, b), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"grow_policy": "Lossguide"},
        {"grow_policy": "Depthwise"},
        {"nan_mode": "Max"},
        {"nan_mode": "Min"},
        {"iterations": 1, "depth": 1},
    ],
    ids=["leafwise", "depthwise", "nan max", "nan min", "stump"],
)
def test_trees_of_every_kind(example: tuple[Floats, Floats, Any], options: dict[str, Any]) -> None:
    rows, grades, _ = example
    model = CatBoostModel(
        catboost.CatBoostRegressor(**{"iterations": 15, "depth": 4, **QUIET, **options}).fit(rows, grades)
    )
    a, b = pairs_of(rows, 60)
    check_trees(model, a, b, atol=1e-12)
    check_by_coalitions(model, a[:2], b[:2], k=6, atol=1e-12)


def test_categorical_features_are_refused_by_name() -> None:
    rng = np.random.default_rng(0)
    frame = [[str(c), float(x)] for c, x in zip(rng.integers(0, 4, 200), rng.normal(size=200), strict=True)]
    pool = catboost.Pool(frame, rng.normal(size=200), cat_features=[0], feature_names=["brand", "price"])
    model = catboost.CatBoostRegressor(iterations=3, **QUIET).fit(pool)
    with pytest.raises(ModelError, match=r"categorical features \(brand\)"):
        CatBoostModel(model)


def test_a_saved_model_is_read_without_catboost(
    ranker: Any, example: tuple[Floats, Floats, Any], tmp_path: Path
) -> None:
    path = tmp_path / "model.json"
    ranker.save_model(str(path), format="json")
    model = read_model(path)
    np.testing.assert_allclose(model.score(example[0]), ranker.predict(example[0]), rtol=0, atol=1e-12)
    broken = json.loads(path.read_text("utf-8"))
    broken["features_info"]["categorical_features"] = [{"feature_index": 0}]
    with pytest.raises(UnsupportedTreesError, match="categorical features"):
        parse_catboost(json.dumps(broken))


def test_names_must_fit(ranker: Any) -> None:
    assert CatBoostModel(ranker).names[:2] == ("0", "1")
    with pytest.raises(ModelError, match="has 60 features, and names holds 1"):
        CatBoostModel(ranker, ["a"])


def test_several_classes_are_left_to_model_calls(example: tuple[Floats, Floats, Any]) -> None:
    model = catboost.CatBoostClassifier(iterations=2, **QUIET).fit(example[0][:300], example[1][:300])
    adapted = CatBoostModel(model)
    with pytest.raises(ModelError, match="5 columns"):
        adapted.score(example[0][:3])
    assert "classes" in str(adapted.without_trees)


def test_other_texts_are_refused() -> None:
    with pytest.raises(DataError, match="no CatBoost model"):
        parse_catboost("{}")
