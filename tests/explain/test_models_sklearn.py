"""scikit-learn: trees, forests and boosting in closed form; everything else by asking."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ltr_data import Floats, lambdarank_example, pairs_of, single, with_gaps
from tree_checks import check_by_coalitions, check_trees, interventional

from ranklens.core import ModelError
from ranklens.explain import adapt, pairwise
from ranklens.explain.models.sklearn import SklearnModel

pytest.importorskip("sklearn")

from sklearn import ensemble, linear_model, pipeline, preprocessing, svm, tree

NAMES = [f"x{i}" for i in range(40)]


@pytest.fixture(scope="module")
def example(data_dir: Path) -> tuple[Floats, Floats]:
    rows, grades, _ = lambdarank_example(data_dir)
    return rows[:900, :40], grades[:900]


TREES = [
    tree.DecisionTreeRegressor(max_depth=6),
    tree.DecisionTreeClassifier(max_depth=6),
    ensemble.RandomForestRegressor(8, random_state=0),
    ensemble.RandomForestClassifier(8, random_state=0),
    ensemble.ExtraTreesRegressor(8, random_state=0),
    ensemble.GradientBoostingRegressor(n_estimators=15),
    ensemble.GradientBoostingClassifier(n_estimators=15),
    ensemble.GradientBoostingRegressor(n_estimators=5, init="zero"),
    ensemble.HistGradientBoostingRegressor(max_iter=15),
    ensemble.HistGradientBoostingClassifier(max_iter=15),
]


@pytest.mark.parametrize("estimator", TREES, ids=lambda each: type(each).__name__)
def test_sums_of_trees_have_a_closed_form(estimator: Any, example: tuple[Floats, Floats]) -> None:
    rows, grades = example
    labels = grades > 1 if hasattr(estimator, "predict_proba") else grades
    model = SklearnModel(estimator.fit(rows, labels), NAMES)
    a, b = pairs_of(rows, 100)
    check_trees(model, a, b, atol=1e-12)
    check_by_coalitions(model, a[:2], b[:2], k=8, atol=1e-12)


@pytest.mark.parametrize("index", [0, 2, 5, 8])
def test_they_are_what_shap_says(index: int, example: tuple[Floats, Floats]) -> None:
    rows = single(example[0])
    estimator = TREES[index].fit(rows, example[1])
    a, b = pairs_of(rows, 2)
    found = check_trees(SklearnModel(estimator, NAMES), a, b, atol=1e-12)
    np.testing.assert_allclose(found, interventional(estimator, a, b), rtol=0, atol=1e-6)


@pytest.mark.parametrize("index", [0, 2, 8])
def test_missing_values_go_where_they_went_in_training(index: int, example: tuple[Floats, Floats]) -> None:
    rows = with_gaps(example[0])
    model = SklearnModel(TREES[index].fit(rows, example[1]), NAMES)
    a, b = pairs_of(with_gaps(rows), 100)
    check_trees(model, a, b, atol=1e-12)
    check_by_coalitions(model, a[:2], b[:2], k=8, atol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "why"),
    [
        (ensemble.HistGradientBoostingRegressor(max_iter=3, loss="poisson"), "exponential"),
        (ensemble.HistGradientBoostingRegressor(max_iter=3, categorical_features=[0]), "categories"),
        (
            ensemble.GradientBoostingRegressor(n_estimators=3, init=linear_model.LinearRegression()),
            "LinearReg",
        ),
        (ensemble.AdaBoostRegressor(n_estimators=3), "AdaBoost"),
        (svm.SVR(), "SVR"),
        (pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge()), "Pipeline"),
    ],
)
def test_others_say_why_they_are_asked(estimator: Any, why: str, example: tuple[Floats, Floats]) -> None:
    rows = example[0].copy()
    rows[:, 0] = np.arange(len(rows)) % 5
    model = SklearnModel(estimator.fit(rows, example[1]), NAMES)
    assert model.trees() is None
    assert why in str(model.without_trees)
    np.testing.assert_array_equal(model.score(rows[:9]), estimator.predict(rows[:9]))


def test_classifiers_score_by_decision_or_probability(example: tuple[Floats, Floats]) -> None:
    rows, grades = example
    logistic = linear_model.LogisticRegression(max_iter=500).fit(rows, grades > 1)
    np.testing.assert_array_equal(
        SklearnModel(logistic, NAMES).score(rows[:9]), logistic.decision_function(rows[:9])
    )
    forest = ensemble.RandomForestClassifier(3).fit(rows, grades > 1)
    np.testing.assert_array_equal(
        SklearnModel(forest, NAMES).score(rows[:9]), forest.predict_proba(rows[:9])[:, 1]
    )
    several = SklearnModel(ensemble.RandomForestClassifier(3).fit(rows, grades), NAMES)
    assert "classes" in str(several.without_trees)
    with pytest.raises(ModelError, match="5 columns"):
        several.score(rows[:9])


def test_names_come_from_the_frame_it_was_fitted_with(example: tuple[Floats, Floats]) -> None:
    pandas = pytest.importorskip("pandas", reason="a frame with names needs pandas")
    frame = pandas.DataFrame(example[0], columns=NAMES)
    fitted = tree.DecisionTreeRegressor(max_depth=3).fit(frame, example[1])
    model = SklearnModel(fitted)
    assert model.names == tuple(NAMES)
    np.testing.assert_array_equal(model.score(example[0]), fitted.predict(frame))
    unnamed = tree.DecisionTreeRegressor(max_depth=3).fit(*example)
    with pytest.raises(ValueError, match="names is missing"):
        SklearnModel(unnamed)
    with pytest.raises(ModelError, match="has 40 features, and names holds 2"):
        SklearnModel(unnamed, ["a", "b"])


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300])
def test_rows_that_the_model_refuses_are_refused_in_closed_form(value: float) -> None:
    rows = np.random.default_rng(0).normal(size=(60, 2))
    fitted = ensemble.GradientBoostingRegressor(n_estimators=3, random_state=0).fit(rows, rows[:, 0])
    model = adapt(fitted, ["x", "y"])
    assert pairwise(model, rows[0], rows[1]).method == "tree"
    with pytest.raises(ModelError, match="the scikit-learn model raised ValueError"):
        pairwise(model, rows[0], [0.5, value])
