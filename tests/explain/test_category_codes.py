"""Categories of frames are read by the map that the model was trained with, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklens.core import DataError
from ranklens.explain import QueryFeatures, adapt, listwise, load_model, pairwise, pairwise_many

pandas = pytest.importorskip("pandas", reason="pandas is not installed")

KINDS = {"tens": [10, 20, 30, 40], "from one": [1, 2, 3, 4], "texts": ["p", "qq", "r", "s"]}


def frame_of(categories: list[Any]) -> Any:
    generator = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "x": generator.normal(size=400),
            "cat": pandas.Categorical.from_codes(generator.integers(0, 4, 400), categories),
        }
    )


def target_of(frame: Any) -> Any:
    return frame.x + np.asarray([0.0, 2.0, -1.0, 1.0])[frame.cat.cat.codes]


def lightgbm_models(frame: Any, folder: Path) -> tuple[Any, list[Any]]:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    data = lightgbm.Dataset(frame, target_of(frame))
    options = {"verbose": -1, "num_threads": 1, "min_data_per_group": 1, "cat_smooth": 1}
    booster = lightgbm.train(options, data, 20)
    booster.save_model(folder / "model.txt")
    return booster.predict, [adapt(booster), load_model(folder / "model.txt")]


def xgboost_models(frame: Any, folder: Path) -> tuple[Any, list[Any]]:
    xgboost = pytest.importorskip("xgboost", minversion="3.1", reason="categories are kept since 3.1")

    def matrix(rows: Any) -> Any:
        return xgboost.DMatrix(rows, enable_categorical=True, nthread=1)

    data = matrix(frame)
    data.set_label(target_of(frame))
    booster = xgboost.train({"nthread": 1}, data, 20)
    booster.save_model(folder / "model.json")
    return lambda rows: booster.predict(matrix(rows)), [adapt(booster), load_model(folder / "model.json")]


TRAINED = pytest.mark.parametrize("trained", [lightgbm_models, xgboost_models])


@TRAINED
@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_scored_as_the_model_scores_it(trained: Any, kind: str, tmp_path: Path) -> None:
    frame = frame_of(KINDS[kind])
    predict, models = trained(frame, tmp_path)
    a, b = frame[:60], frame[60:120]
    codes = np.stack([frame.x, frame.cat.cat.codes], axis=1)
    for model in models:
        np.testing.assert_allclose(model.score(frame[["cat", "x"]]), predict(frame), rtol=0, atol=1e-5)
        found = pairwise_many(model, a, b[["cat", "x"]])
        np.testing.assert_allclose(found.score_b, predict(b), rtol=0, atol=1e-5)
        np.testing.assert_array_equal(
            found.contributions, pairwise_many(model, codes[:60], codes[60:120]).contributions
        )
        one = pairwise(model, a[:1], b[:1])
        assert one.contributions == pairwise(model, codes[0], codes[60]).contributions


@TRAINED
@pytest.mark.parametrize("kind", ["tens", "from one"])
def test_numbers_that_may_be_categories_or_codes_are_refused(trained: Any, kind: str, tmp_path: Path) -> None:
    frame = frame_of(KINDS[kind])
    _, models = trained(frame, tmp_path)
    row, plain = frame.iloc[0].to_dict(), frame.astype({"cat": "int64"})
    columns = {"query_id": [1] * 9, "document": range(9), "grade": [1] + [0] * 8, **plain[:9].to_dict("list")}
    query = QueryFeatures.from_frame(columns)
    codes = np.stack([frame.x, frame.cat.cat.codes], axis=1)[:9]
    for model in models:
        for values in (row, plain[:1], frame.iloc[0]):
            with pytest.raises(DataError, match=r"b has numbers for 'cat', .* by their codes"):
                pairwise(model, frame[:1], values)
        with pytest.raises(DataError, match="query '1' has numbers for 'cat'"):
            listwise(model, query, "RR")
        given = QueryFeatures.of(1, range(9), codes, [1] + [0] * 8, names=["x", "cat"])
        assert len(listwise(model, [given], "RR")) == 2


@TRAINED
def test_texts_are_read_by_their_codes(trained: Any, tmp_path: Path) -> None:
    frame = frame_of(KINDS["texts"])
    _, models = trained(frame, tmp_path)
    for model in models:
        found = pairwise(model, {"x": 0.5, "cat": "s"}, {"x": 0.5, "cat": "r"})
        assert found.contributions == pairwise(model, [0.5, 3], [0.5, 2]).contributions
        assert (
            pairwise(model, {"x": 0.5, "cat": 3}, {"x": 0.5, "cat": 2}).contributions == found.contributions
        )
        with pytest.raises(
            DataError, match=r"'cat' of b is 'z', which is none of .* \('p', 'qq', 'r', 's'\)"
        ):
            pairwise(model, {"x": 0.5, "cat": "s"}, {"x": 0.5, "cat": "z"})


def test_texts_beyond_ascii_are_read_or_refused(tmp_path: Path) -> None:
    frame = frame_of(["p", "qq", "ré", "s"])
    predict, models = lightgbm_models(frame, tmp_path)
    for model in models:
        np.testing.assert_allclose(model.score(frame), predict(frame), rtol=0, atol=1e-12)
    for model in xgboost_models(frame, tmp_path)[1]:
        with pytest.raises(DataError, match="'cat', of which the model knows categories of pandas"):
            model.score(frame)


def test_categories_of_unknown_columns_are_refused(tmp_path: Path) -> None:
    frame = frame_of(KINDS["tens"])
    frame["size"] = pandas.Categorical(frame.cat.cat.codes.to_numpy() * 5, ordered=True)
    _, models = lightgbm_models(frame, tmp_path)
    for model in models:
        with pytest.raises(DataError, match="categories of pandas by their codes"):
            model.score(frame)
