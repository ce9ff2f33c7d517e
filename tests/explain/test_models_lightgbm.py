"""LightGBM: trained here on its own example, and models that others stored."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ltr_data import Floats, lambdarank_example, pairs_of, svmlight, with_gaps
from tree_checks import HOST, any_category, check_by_coalitions, check_trees, interventional

from ranklens.core import DataError, ModelError
from ranklens.explain import pairwise
from ranklens.explain.models.files import read_model
from ranklens.explain.models.lightgbm import LightGBMModel
from ranklens.explain.models.tree_model import EnsembleModel
from ranklens.explain.trees import UnsupportedTreesError, tree_contributions
from ranklens.explain.trees.lightgbm_text import parse_lightgbm

lightgbm = pytest.importorskip("lightgbm")

QUIET = {"verbose": -1, "num_threads": 1, "deterministic": True}


@pytest.fixture(scope="module")
def example(data_dir: Path) -> tuple[Floats, Floats, Any]:
    return lambdarank_example(data_dir)


@pytest.fixture(scope="module")
def ranker(example: tuple[Floats, Floats, Any]) -> Any:
    rows, grades, sizes = example
    model = lightgbm.LGBMRanker(n_estimators=100, num_leaves=31, n_jobs=1, verbose=-1)
    return model.fit(rows, grades, group=sizes)


def test_lambdarank_scores_sums_and_nulls(ranker: Any, example: tuple[Floats, Floats, Any]) -> None:
    check_trees(LightGBMModel(ranker), *pairs_of(example[0], 300), atol=1e-12)


def test_lambdarank_as_shap_explains_it(ranker: Any, example: tuple[Floats, Floats, Any]) -> None:
    # shap rounds thresholds to float32, and is off where a row lies on one; the values are multiples of .01.
    a, b = pairs_of(example[0] + 0.002, 5)
    found = check_trees(LightGBMModel(ranker), a, b, atol=1e-12)
    np.testing.assert_allclose(found, interventional(ranker.booster_, a, b), rtol=0, atol=1e-6)


def test_lambdarank_as_all_coalitions_explain_it(ranker: Any, example: tuple[Floats, Floats, Any]) -> None:
    check_by_coalitions(LightGBMModel(ranker), *pairs_of(example[0], 3), k=12, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"zero_as_missing": True},
        {"use_missing": False},
        {"boosting": "dart"},
        {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
    ],
    ids=["nan", "zero", "none", "dart", "forest"],
)
def test_missing_values_go_where_lightgbm_sends_them(
    example: tuple[Floats, Floats, Any], options: dict[str, Any]
) -> None:
    rows, grades = with_gaps(example[0][:900, :60]), example[1][:900]
    settings = {**QUIET, **options, "min_data_in_leaf": 5, "objective": "regression"}
    model = LightGBMModel(lightgbm.train(settings, lightgbm.Dataset(rows, grades), 20))
    a, b = pairs_of(with_gaps(rows, 0.3), 100)
    a[::7] = 0.0
    check_trees(model, a, b, atol=1e-12)
    check_by_coalitions(model, a[:3], b[:3], k=8, atol=1e-12)


def test_categorical_splits_are_exact(example: tuple[Floats, Floats, Any]) -> None:
    rng = np.random.default_rng(0)
    rows = example[0][:900, :20].copy()
    rows[:, 0], rows[:, 1] = rng.integers(0, 90, 900), rng.integers(0, 5, 900)
    rows[::17, 0] = np.nan
    grades = example[1][:900] + 2 * (rows[:, 1] == 2) + np.nan_to_num(rows[:, 0]) % 3
    data = lightgbm.Dataset(rows, grades, categorical_feature=[0, 1])
    settings = {"min_data_per_group": 2, "cat_smooth": 1, "max_cat_threshold": 64, "objective": "regression"}
    model = LightGBMModel(lightgbm.train({**QUIET, **settings}, data, 20))
    ensemble = model.trees()
    assert ensemble is not None
    assert len(ensemble.nodes.categories) > 50
    strange = rows.copy()
    strange[::5, 0], strange[1::5, 0], strange[2::5, 0] = -3.0, 1000.0, strange[2::5, 0] + 0.5
    a, b = pairs_of(strange, 200)
    check_trees(model, a, b, atol=1e-12)
    check_by_coalitions(model, a[:3], b[:3], k=8, atol=1e-12)


@pytest.fixture(scope="module")
def by_category() -> LightGBMModel:
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 40, 1500), rng.normal(size=1500)]).astype(np.float64)
    rows[::9, 0] = np.nan
    grades = rng.normal(size=41)[np.nan_to_num(rows[:, 0], nan=40).astype(int)] + 0.1 * rows[:, 1]
    settings = {"min_data_per_group": 1, "cat_smooth": 1, "objective": "regression"}
    data = lightgbm.Dataset(rows, grades, categorical_feature=[0])
    return LightGBMModel(lightgbm.train({**QUIET, **settings}, data, 5))


@given(values=st.lists(any_category(), min_size=1, max_size=20))
def test_any_number_is_the_category_that_lightgbm_reads(
    by_category: LightGBMModel, values: list[float]
) -> None:
    rows = np.column_stack([values, np.zeros(len(values))])
    ensemble = by_category.trees()
    assert ensemble is not None
    np.testing.assert_allclose(ensemble.scores(rows), by_category.score(rows), rtol=0, atol=1e-12)


def test_linear_leaves_are_named_and_left_to_model_calls(example: tuple[Floats, Floats, Any]) -> None:
    rows, grades = example[0][:900, :30], example[1][:900]
    booster = lightgbm.train(
        {**QUIET, "linear_tree": True, "objective": "regression"}, lightgbm.Dataset(rows, grades), 5
    )
    model = LightGBMModel(booster)
    assert model.trees() is None
    assert "linear" in str(model.without_trees)
    with pytest.raises(UnsupportedTreesError, match="linear models"):
        parse_lightgbm(booster.model_to_string())
    a, b = rows[0].copy(), rows[0].copy()
    a[:4], b[:4] = 0.0, 1.0
    asked = pairwise(model, a, b)
    assert (asked.method, asked.n_model_rows) == ("exact", 2**4 + 2)
    with pytest.raises(ValueError, match=r"has none \(the leaves of its trees are linear models\)"):
        pairwise(model, a, b, method="tree")


def test_a_file_with_linear_leaves_is_asked_through_lightgbm(
    example: tuple[Floats, Floats, Any], tmp_path: Path
) -> None:
    rows, grades = example[0][:300, :30], example[1][:300]
    booster = lightgbm.train(
        {**QUIET, "linear_tree": True, "objective": "regression"}, lightgbm.Dataset(rows, grades), 2
    )
    booster.save_model(tmp_path / "model.txt")
    model = read_model(tmp_path / "model.txt")
    np.testing.assert_allclose(model.score(rows), booster.predict(rows), atol=1e-12)
    assert model.trees() is None


def test_early_stopping_keeps_the_best_iteration(example: tuple[Floats, Floats, Any], data_dir: Path) -> None:
    rows, grades, sizes = example
    held_out = lambdarank_example(data_dir, "test")
    data = lightgbm.Dataset(rows, grades, group=sizes)
    booster = lightgbm.train(
        {**QUIET, "objective": "lambdarank", "learning_rate": 0.5},
        data,
        60,
        valid_sets=[lightgbm.Dataset(*held_out[:2], group=held_out[2], reference=data)],
        callbacks=[lightgbm.early_stopping(3, verbose=False)],
    )
    assert booster.best_iteration < 60
    adapted = LightGBMModel(booster)
    np.testing.assert_allclose(adapted.score(rows), booster.predict(rows), atol=1e-12)
    check_trees(adapted, *pairs_of(rows, 50), atol=1e-12)


def test_names_come_from_the_model_and_must_fit(ranker: Any) -> None:
    assert LightGBMModel(ranker).names[:2] == ("Column_0", "Column_1")
    with pytest.raises(ModelError, match=r"has 301 features, and names holds 2"):
        LightGBMModel(ranker, ["a", "b"])


def test_several_classes_are_named(example: tuple[Floats, Floats, Any]) -> None:
    rows, grades = example[0][:300, :10], example[1][:300]
    settings = {**QUIET, "objective": "multiclass", "num_class": 5}
    model = LightGBMModel(lightgbm.train(settings, lightgbm.Dataset(rows, grades), 2))
    assert "5 classes" in str(model.without_trees)
    with pytest.raises(ModelError, match=r"shape \(300, 5\) for 300 rows"):
        model.score(rows)


@pytest.mark.parametrize("folder", ["ltr-mq2008", "ltr-map-search"])
def test_stored_models_give_the_stored_scores(data_dir: Path, folder: str) -> None:
    expected = json.loads((data_dir / folder / "expected_ltr.json").read_text("utf-8"))
    model, rows = stored(data_dir, folder)
    ensemble = model.trees()
    assert ensemble is not None
    assert ensemble.n_trees == expected["trees"]
    n = len(expected["scores"])
    np.testing.assert_allclose(ensemble.scores(rows[:n]), expected["scores"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("folder", ["ltr-mq2008", "ltr-map-search"])
def test_stored_models_as_lightgbm_and_shap_read_them(data_dir: Path, folder: str) -> None:
    model, rows = stored(data_dir, folder)
    (path,) = (data_dir / folder).glob("*.lightgbm.txt.gz")
    booster = lightgbm.Booster(model_str=gzip.decompress(path.read_bytes()).decode("utf-8"))
    a, b = pairs_of(with_gaps(rows, 0.05), 6)
    found = check_trees(LightGBMModel(booster), a, b, atol=1e-12)
    np.testing.assert_array_equal(found, tree_contributions(model.trees(), a, b, HOST))
    check_by_coalitions(LightGBMModel(booster), a[:2], b[:2], k=8, atol=1e-12)
    np.testing.assert_allclose(found[:3], interventional(booster, a[:3], b[:3]), rtol=0, atol=1e-6)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no LightGBM model"):
        parse_lightgbm("tree\nversion=v4\n")
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 d1 1 0.5 tag\n", "utf-8")
    with pytest.raises(DataError, match=r"run\.txt: this is no model"):
        read_model(path)


def stored(data_dir: Path, folder: str) -> tuple[EnsembleModel, Floats]:
    """Return a stored model, and rows for it in the order of its features."""
    (path,) = (data_dir / folder).glob("*.lightgbm.txt.gz")
    model = read_model(path)
    assert isinstance(model, EnsembleModel)
    if folder == "ltr-mq2008":
        return model, svmlight(data_dir / folder / "test.txt.gz", 46, first=1)[0]
    with gzip.open(data_dir / folder / "sessions.csv.gz", "rt") as lines:
        header = next(lines).strip().split(",")
        places = [header.index(name) for name in model.names]
        rows = [[float(line.split(",")[place]) for place in places] for line in lines]
    return model, np.asarray(rows)


@pytest.mark.parametrize("zero_as_missing", [False, True])
def test_numbers_that_lightgbm_reads_as_zero_go_where_zero_goes(zero_as_missing: bool) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 8))
    rows[rng.random(rows.shape) < 0.3] = 0.0
    grades = np.digitize(rows[:, 0] + rows[:, 1] * rows[:, 2] + (rows[:, 3] == 0), [-1, 0, 1, 2])
    options = {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "zero_as_missing": zero_as_missing}
    model = LightGBMModel(lightgbm.train(options, lightgbm.Dataset(rows, grades, group=[20] * 50), 20))
    trees = model.trees()
    assert trees is not None
    if not zero_as_missing:
        # Such a model has splits between the negative numbers and the zeros.
        assert (np.abs(trees.nodes.threshold[trees.nodes.threshold != 0]) < 1e-34).any()
    edge = float(np.float32(1e-35))
    near = [edge, 1e-36, 0.0, np.nextafter(edge, 1.0), np.nan]
    tiny = rng.choice(np.asarray(near + [-value for value in near]), size=rows.shape)
    np.testing.assert_array_equal(trees.scores(tiny), model.score(tiny))


def test_a_file_that_is_cut_off_is_refused(ranker: Any) -> None:
    text = ranker.booster_.model_to_string()
    body = text[: text.index("end of trees") + 5]
    for part in range(1, 60):
        with pytest.raises(DataError, match=r"^model\.txt"):
            parse_lightgbm(body[: len(body) * part // 60], source="model.txt")
    with pytest.raises(DataError, match=r"model\.txt.*cannot be read"):
        parse_lightgbm(text.replace("leaf_value=", "leaf_value=x", 1), source="model.txt")
