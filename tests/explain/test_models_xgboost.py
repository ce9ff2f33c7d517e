"""XGBoost: float32 inside, strict inequalities, missing values, categories, and a stored dump."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ltr_data import Floats, lambdarank_example, pairs_of, svmlight, with_gaps
from tree_checks import HOST, any_category, check_by_coalitions, check_trees, for_shap, interventional

from ranklens.arrays import Backend
from ranklens.core import DataError, ModelError
from ranklens.explain import QueryFeatures, listwise, pairwise, pairwise_many
from ranklens.explain.models.files import read_model
from ranklens.explain.models.xgboost import XGBoostModel
from ranklens.explain.trees import tree_contributions
from ranklens.explain.trees.xgboost_json import parse_xgboost, parse_xgboost_dump

xgboost = pytest.importorskip("xgboost")

# Sums of the margins are float32 in XGBoost.
SINGLE = 2e-5


@pytest.fixture(scope="module")
def example(data_dir: Path) -> tuple[Floats, Floats, Any]:
    rows, grades, sizes = lambdarank_example(data_dir)
    return with_gaps(rows[:, :100]), grades, np.repeat(np.arange(sizes.size), sizes)


@pytest.fixture(scope="module")
def ranker(example: tuple[Floats, Floats, Any]) -> Any:
    rows, grades, query = example
    return xgboost.XGBRanker(n_estimators=40, max_depth=6, n_jobs=1).fit(rows, grades, qid=query)


def test_ranker_scores_sums_and_nulls(ranker: Any, example: tuple[Floats, Floats, Any]) -> None:
    model = XGBoostModel(ranker)
    check_trees(model, *pairs_of(example[0], 200), atol=SINGLE)
    np.testing.assert_allclose(model.score(example[0]), ranker.predict(example[0]), rtol=0, atol=1e-6)


def test_ranker_as_shap_and_all_coalitions_explain_it(
    ranker: Any, example: tuple[Floats, Floats, Any]
) -> None:
    model = XGBoostModel(ranker)
    a, b = pairs_of(example[0], 3)
    found = check_trees(model, a, b, atol=SINGLE)
    np.testing.assert_allclose(found, interventional(ranker.get_booster(), a, b), rtol=0, atol=1e-6)
    check_by_coalitions(model, a, b, k=8, atol=SINGLE)


@pytest.mark.parametrize(
    "options",
    [
        {"booster": "dart", "rate_drop": 0.3},
        {"tree_method": "exact"},
        {"objective": "binary:logistic"},
        {"objective": "count:poisson"},
        {"num_parallel_tree": 3, "subsample": 0.5},
        {"base_score": 0.25},
    ],
    ids=["dart", "exact", "logistic", "poisson", "forest", "base score"],
)
def test_margins_of_every_kind(example: tuple[Floats, Floats, Any], options: dict[str, Any]) -> None:
    rows, grades, _ = example
    labels = grades > 1 if options.get("objective") == "binary:logistic" else grades
    data = xgboost.DMatrix(rows[:800], labels[:800], nthread=1)
    model = XGBoostModel(xgboost.train({"nthread": 1, "max_depth": 4, **options}, data, 10))
    check_trees(model, *pairs_of(example[0], 100), atol=SINGLE)


def test_thresholds_are_strict_and_single(example: tuple[Floats, Floats, Any]) -> None:
    rows, grades, _ = example
    model = XGBoostModel(xgboost.train({"nthread": 1}, xgboost.DMatrix(rows[:500], grades[:500]), 3))
    ensemble = model.trees()
    assert ensemble is not None
    inner = ensemble.nodes.feature >= 0
    column, below = ensemble.nodes.feature[inner], ensemble.nodes.threshold[inner]
    at = np.zeros((3 * column.size, 100))
    limit = np.nextafter(below.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    for part, values in enumerate((below, limit, np.nextafter(limit, -np.inf))):
        at[np.arange(column.size) + part * column.size, column] = values
    np.testing.assert_allclose(ensemble.scores(at), model.score(at), rtol=0, atol=1e-6)


def test_categorical_splits_are_exact(example: tuple[Floats, Floats, Any]) -> None:
    rng = np.random.default_rng(0)
    rows = example[0][:800, :20].copy()
    rows[:, 0], rows[:, 1] = rng.integers(0, 70, 800), rng.integers(0, 5, 800)
    grades = example[1][:800] + 2 * (rows[:, 1] == 2) + rows[:, 0] % 3
    rows[::11, 0] = np.nan
    kinds = ["c", "c", *["q"] * 18]
    data = xgboost.DMatrix(rows, grades, feature_types=kinds, nthread=1)
    model = XGBoostModel(xgboost.train({"nthread": 1, "max_cat_to_onehot": 3}, data, 15))
    ensemble = model.trees()
    assert ensemble is not None
    assert len(ensemble.nodes.categories) > 20
    a, b = pairs_of(rows, 100)
    check_trees(model, a, b, atol=SINGLE)
    check_by_coalitions(model, a[:2], b[:2], k=8, atol=SINGLE)


@pytest.fixture(scope="module", params=[1, 100], ids=["sets", "one category"])
def by_category(request: pytest.FixtureRequest) -> XGBoostModel:
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 40, 1500), rng.normal(size=1500)]).astype(np.float64)
    rows[::9, 0] = np.nan
    grades = rng.normal(size=41)[np.nan_to_num(rows[:, 0], nan=40).astype(int)] + 0.1 * rows[:, 1]
    data = xgboost.DMatrix(rows, grades, feature_types=["c", "q"], nthread=1)
    return XGBoostModel(xgboost.train({"nthread": 1, "max_cat_to_onehot": request.param}, data, 5))


@given(values=st.lists(any_category(), min_size=1, max_size=20))
def test_any_number_is_the_category_that_xgboost_reads(
    by_category: XGBoostModel, values: list[float]
) -> None:
    rows = np.column_stack([values, np.zeros(len(values))])
    ensemble = by_category.trees()
    assert ensemble is not None
    np.testing.assert_allclose(ensemble.scores(rows), by_category.score(rows), rtol=0, atol=SINGLE)


def test_a_small_negative_number_is_no_category_on_any_backend(
    by_category: XGBoostModel, user_backend: Backend
) -> None:
    values = np.asarray([-1.5, -1.0, -0.75, -(2.0**-20), -0.0, 0.5, 39.0, 40.0, np.nan], dtype=np.float32)
    b = np.column_stack([values, np.zeros_like(values)])
    a = np.full_like(b, 3.0)
    there_a, there_b = (user_backend.xp.asarray(rows, device=user_backend.device) for rows in (a, b))
    found = pairwise_many(by_category, there_a, there_b, method="tree")
    np.testing.assert_allclose(found.score_b, by_category.score(b), rtol=0, atol=SINGLE)
    np.testing.assert_allclose(
        found.contributions.sum(axis=1), by_category.score(b) - by_category.score(a), rtol=0, atol=2 * SINGLE
    )


def test_linear_boosters_and_classes_are_left_to_model_calls(example: tuple[Floats, Floats, Any]) -> None:
    rows, grades, _ = example
    data = xgboost.DMatrix(rows[:300], grades[:300], nthread=1)
    linear = XGBoostModel(xgboost.train({"booster": "gblinear", "nthread": 1}, data, 3))
    assert linear.trees() is None
    assert "linear" in str(linear.without_trees)
    settings = {"objective": "multi:softprob", "num_class": 5, "nthread": 1}
    classes = XGBoostModel(xgboost.train(settings, data, 2))
    assert "5 classes" in str(classes.without_trees)
    with pytest.raises(ModelError, match=r"5 columns"):
        classes.score(rows[:4])


def test_early_stopping_keeps_the_best_iteration(example: tuple[Floats, Floats, Any]) -> None:
    rows, grades, _ = example
    model = xgboost.XGBRegressor(n_estimators=80, learning_rate=0.9, n_jobs=1, early_stopping_rounds=3)
    model.fit(rows[:800], grades[:800], eval_set=[(rows[800:1200], grades[800:1200])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    adapted = XGBoostModel(model)
    np.testing.assert_allclose(adapted.score(rows), model.predict(rows), atol=1e-6)
    check_trees(adapted, *pairs_of(rows, 20), atol=SINGLE)


def test_names_come_from_the_model(ranker: Any, example: tuple[Floats, Floats, Any]) -> None:
    assert XGBoostModel(ranker).names[:2] == ("f0", "f1")
    names = ["bm25", "freshness"]
    data = xgboost.DMatrix(example[0][:200, :2], example[1][:200], feature_names=names, nthread=1)
    model = XGBoostModel(xgboost.train({"nthread": 1}, data, 2))
    assert model.names == ("bm25", "freshness")
    np.testing.assert_allclose(
        model.score(example[0][:9, :2]), model.trees().scores(example[0][:9, :2]), atol=1e-6
    )  # type: ignore[union-attr]
    with pytest.raises(ModelError, match="has 2 features, and names holds 3"):
        XGBoostModel(model.booster, ["a", "b", "c"])


def test_a_saved_model_is_read_without_xgboost(
    ranker: Any, example: tuple[Floats, Floats, Any], tmp_path: Path
) -> None:
    ranker.save_model(tmp_path / "model.json")
    model = read_model(tmp_path / "model.json")
    np.testing.assert_allclose(model.score(example[0]), ranker.predict(example[0]), rtol=0, atol=1e-5)


def test_a_stored_dump_gives_the_stored_scores(data_dir: Path) -> None:
    folder = data_dir / "ltr-elasticsearch-tmdb"
    expected = json.loads((folder / "expected_xgb-model.json").read_text("utf-8"))
    model = read_model(folder / "xgb-model.json", ["tmdb_title", "tmdb_multi"])
    rows, _ = svmlight(folder / "xgb-data.txt", 2, first=1)
    np.testing.assert_allclose(model.score(rows), expected["scores"], rtol=0, atol=1e-7)
    assert read_model(folder / "xgb-model.json").names == ("tmdb_multi", "tmdb_title")


def test_a_dump_with_names_has_no_order_of_columns(data_dir: Path) -> None:
    folder = data_dir / "ltr-elasticsearch-tmdb"
    ordered = read_model(folder / "xgb-model.json", ["tmdb_title", "tmdb_multi"])
    unordered = read_model(folder / "xgb-model.json")
    a, b = svmlight(folder / "xgb-data.txt", 2, first=1)[0][[0, 1]]
    named = [dict(zip(ordered.names, row.tolist(), strict=True)) for row in (a, b)]
    assert pairwise(unordered, *named).contributions == pairwise(ordered, a, b).contributions
    for rows in ((a, b), (named[0], b)):
        with pytest.raises(DataError, match=r"has no names, .*tmdb_multi, tmdb_title\): .*names="):
            pairwise(unordered, *rows)
    with pytest.raises(DataError, match="points has no names"):
        unordered.score(np.stack([a, b]))
    query = QueryFeatures.of("q", "ab", np.stack([a, b]), [0, 1])
    with pytest.raises(DataError, match="query 'q' has no names"):
        listwise(unordered, [query], "RR")
    given = QueryFeatures.of("q", "ab", np.stack([a, b]), [0, 1], names=ordered.names)
    assert listwise(unordered, [given], "RR").importances == listwise(ordered, [query], "RR").importances


def test_a_dump_without_names_counts_its_columns(tmp_path: Path) -> None:
    tree = {"nodeid": 0, "split": "f3", "split_condition": 0.5, "yes": 1, "no": 2, "missing": 1}
    tree["children"] = [{"nodeid": 1, "leaf": 1.0}, {"nodeid": 2, "leaf": 2.0}]
    (tmp_path / "dump.json").write_text(json.dumps([tree]))
    model = read_model(tmp_path / "dump.json")
    assert model.names == ("f0", "f1", "f2", "f3")
    np.testing.assert_array_equal(
        model.score(np.asarray([[9.0, 9.0, 9.0, 0.0], [0.0, 0.0, 0.0, 1.0]])), [1, 2]
    )


def test_a_stored_dump_as_shap_explains_it(data_dir: Path) -> None:
    folder = data_dir / "ltr-elasticsearch-tmdb"
    ensemble = read_model(folder / "xgb-model.json", ["tmdb_title", "tmdb_multi"]).trees()
    a, b = pairs_of(svmlight(folder / "xgb-data.txt", 2, first=1)[0], 4)
    found = tree_contributions(ensemble, a, b, HOST)
    assert np.abs(found).max() > 0.01
    np.testing.assert_allclose(found, interventional(for_shap(ensemble), a, b), rtol=0, atol=1e-6)


def test_a_dump_of_a_model_is_the_model(ranker: Any, example: tuple[Floats, Floats, Any]) -> None:
    booster = ranker.get_booster()
    text = "[" + ",".join(booster.get_dump(dump_format="json")) + "]"
    dumped = parse_xgboost_dump(text, [f"f{i}" for i in range(100)])
    whole = parse_xgboost(booster.save_raw("json"))
    moved = whole.ensemble.scores(example[0]) - dumped.ensemble.scores(example[0])
    np.testing.assert_allclose(moved, whole.ensemble.offset, rtol=0, atol=1e-5)
    with pytest.raises(DataError, match="which names does not hold"):
        parse_xgboost_dump(text, ["f0"])


@pytest.mark.parametrize("text", ["{}", "[1]", "no json"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="no XGBoost model"):
        parse_xgboost(text)
    with pytest.raises(DataError, match="no dump"):
        parse_xgboost_dump(text)


@pytest.mark.parametrize("missing", [0.0, -1.0, 1.3])
def test_the_number_that_an_estimator_takes_for_missing_is_read_so(missing: float) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 4)).round(1) + 1.0
    rows[rng.random(rows.shape) < 0.4] = missing
    grades = np.digitize(rows[:, 0] - rows[:, 1] + 2 * (rows[:, 2] == missing), [-1, 0, 1, 2])
    ranker = xgboost.XGBRanker(n_estimators=20, n_jobs=1, missing=missing)
    ranker.fit(rows, grades, qid=np.repeat(np.arange(40), 15))
    model = XGBoostModel(ranker, list("abcd"))
    rows[::7, 1] = np.nan
    np.testing.assert_array_equal(model.score(rows), ranker.predict(rows))
    found = check_trees(model, rows[:200], rows[200:400], atol=SINGLE)
    read = np.where(rows == np.float64(missing), np.nan, rows)
    other = XGBoostModel(ranker.get_booster(), list("abcd"))
    np.testing.assert_array_equal(found, check_trees(other, read[:200], read[200:400], atol=SINGLE))


def test_an_estimator_scores_by_its_best_iteration_however_it_stopped(
    example: tuple[Floats, Floats, Any], tmp_path: Path
) -> None:
    rows, grades, _ = example
    given = {"eval_set": [(rows[1::2], np.sin(grades[1::2] * 9))], "verbose": False}
    options: dict[str, Any] = {"n_estimators": 30, "learning_rate": 0.9, "n_jobs": 1}
    called = xgboost.XGBRegressor(callbacks=[xgboost.callback.EarlyStopping(rounds=2)], **options)
    stopped = xgboost.XGBRegressor(early_stopping_rounds=2, **options)
    for model in (called, stopped):
        model.fit(rows[::2], grades[::2], **given)
        assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    stopped.save_model(tmp_path / "model.json")
    loaded = xgboost.XGBRegressor()
    loaded.load_model(tmp_path / "model.json")
    for model in (called, stopped, loaded):
        np.testing.assert_allclose(XGBoostModel(model).score(rows), model.predict(rows), rtol=0, atol=1e-5)
