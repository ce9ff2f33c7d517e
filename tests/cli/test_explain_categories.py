"""``ranklens explain`` reads categories of pandas by the codes that the model knows them by."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklens.explain import load_model

pandas = pytest.importorskip("pandas", reason="pandas is not installed")

CATEGORIES = {
    "tens": [10, 20, 30, 40],
    "from one": [1, 2, 3, 4],
    "halves": [0.5, 1.5, 2.5, 7.0],
    "texts": ["p", "qq", "r", "s"],
    "digits": ["007", "7", "08", "8"],
    "from zero": [0, 1, 2, 3],
}
N = 200


def frame_of(categories: list[Any], n: int = N) -> Any:
    generator = np.random.default_rng(0)
    codes = np.append([3, 2, 1, 0], generator.integers(0, 4, n - 4))
    return pandas.DataFrame(
        {"x": generator.normal(size=n).round(3), "cat": pandas.Categorical.from_codes(codes, categories)}
    )


def trained(library: str, frame: Any, path: str | None = None) -> str:
    target = frame.x + np.asarray([0.0, 2.0, -1.0, 1.0])[frame.cat.cat.codes]
    if library == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
        options = {"verbose": -1, "num_threads": 1, "min_data_per_group": 1, "cat_smooth": 1,
                   "min_data_in_leaf": 2}  # fmt: skip
        lightgbm.train(options, lightgbm.Dataset(frame, target), 10).save_model(path or "model.txt")
        return path or "model.txt"
    xgboost = pytest.importorskip("xgboost", minversion="3.1", reason="categories are kept since 3.1")
    data = xgboost.DMatrix(frame, target, enable_categorical=True, nthread=1)
    xgboost.train({"nthread": 1}, data, 10).save_model(path or "model.json")
    return path or "model.json"


def written(frame: Any, path: str) -> str:
    table = frame.assign(
        query_id=1, document=[f"d{i}" for i in range(len(frame))], grade=np.arange(len(frame)) % 3
    )
    if path.endswith(".parquet"):
        table.to_parquet(path)
    elif path.endswith(".csv"):
        table.to_csv(path, index=False)
    else:
        rows = zip(table.grade, table.x, table.cat, table.document, strict=True)
        lines = [f"{grade} qid:1 1:{x} 2:{cat} # docid = {document}" for grade, x, cat, document in rows]
        Path(path).write_text("\n".join(lines) + "\n")
    return path


def of_pair(command: Any, model: str, data: str, *more: str) -> Any:
    done = command("explain", model, data, "--pair", "d0", "d2", "--format", "json", *more)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


# XGBoost takes no fractions for categories, and LETOR files hold no texts.
CASES = [
    (library, form, kind)
    for library in ("lightgbm", "xgboost")
    for form in ("csv", "parquet", "letor")
    for kind in CATEGORIES
    if (library, kind) != ("xgboost", "halves")
    and (form, kind) not in (("letor", "texts"), ("letor", "digits"))
]


@pytest.mark.parametrize(("library", "form", "kind"), CASES)
def test_a_category_is_scored_as_the_model_scores_it(
    command: Any, library: str, form: str, kind: str
) -> None:
    frame = frame_of(CATEGORIES[kind])
    path = trained(library, frame)
    found = of_pair(command, path, written(frame, f"data.{form}"))
    scores = load_model(path).score(frame if kind != "from zero" else codes_in(frame).to_numpy())
    assert (found["score_a"], found["score_b"]) == pytest.approx((scores[0], scores[2]), abs=1e-5)
    assert found["contributions"]["cat"] != 0.0


def codes_in(frame: Any) -> Any:
    return frame.assign(cat=frame.cat.cat.codes)


def test_a_pickled_estimator_knows_its_categories(command: Any) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    pytest.importorskip("sklearn", reason="the estimator needs scikit-learn")
    frame = frame_of(CATEGORIES["tens"])
    estimator = lightgbm.LGBMRegressor(
        verbose=-1, n_jobs=1, min_data_per_group=1, cat_smooth=1, n_estimators=5
    )
    estimator.fit(frame, frame.cat.cat.codes == 1)
    Path("model.pkl").write_bytes(pickle.dumps(estimator))
    found = of_pair(command, "model.pkl", written(frame, "data.csv"), "--allow-pickle")
    assert found["score_b"] == pytest.approx(estimator.predict(frame)[2], abs=1e-12)


@pytest.mark.parametrize("form", ["csv", "parquet", "letor"])
def test_codes_are_read_when_asked_for(command: Any, form: str) -> None:
    frame = frame_of(CATEGORIES["from one"])
    path = trained("lightgbm", frame)
    expected = of_pair(command, path, written(frame, f"data.{form}"))
    found = of_pair(command, path, written(codes_in(frame), f"codes.{form}"), "--categories", "codes")
    assert found["contributions"] == expected["contributions"]


@pytest.mark.parametrize("form", ["csv", "letor"])
@pytest.mark.parametrize(
    ("categories", "values", "code", "why"),
    [
        ("tens", [10, 25], 3, "'cat' is 25"),
        ("tens", [0, 3], 3, "0, which is none of the model's categories (10, 20, 30, 40); add --cat"),
        ("tens", [0, 10], 3, "; add --missing nan if it is for a line that leaves the feature out"),
        ("from one", [1, 2], 1, "of the model (1, 2, 3, 4) or their codes 0, 1, ..."),
        ("texts", [0, 9], 3, "which is none of the model's categories ('p', 'qq', 'r', 's')"),
    ],
)  # fmt: skip
def test_what_is_no_category_is_refused(
    command: Any, form: str, categories: str, values: list[int], code: int, why: str
) -> None:
    path = trained("lightgbm", frame_of(CATEGORIES[categories]))
    frame = pandas.DataFrame({"x": 0.5, "cat": values * 2})
    done = command("explain", path, written(frame, f"data.{form}"))
    assert done.exit_code == code
    assert why.replace("0, w", "0.0, w" if form == "letor" else "0, w") in " ".join(done.stderr.split())
    if categories == "from one":
        ways = [of_pair(command, path, f"data.{form}", "--categories", way) for way in ("values", "codes")]
        assert ways[0]["score_a"] != ways[1]["score_a"]


def test_a_pair_shows_the_categories(command: Any) -> None:
    frame = frame_of(CATEGORIES["texts"])
    data = written(frame, "data.csv")
    done = command("explain", trained("lightgbm", frame), data, "--pair", "d0", "d2", "--format", "csv")
    assert any(line.startswith("cat,s,qq,") for line in done.stdout.splitlines()), done.output


def test_a_missing_category_is_missing(command: Any) -> None:
    frame = frame_of(CATEGORIES["tens"])
    path = trained("lightgbm", frame)
    frame.loc[0, "cat"] = None
    found = of_pair(command, path, written(frame, "data.csv"))
    assert found["score_a"] == pytest.approx(load_model(path).score(frame)[0], abs=1e-12)


def test_models_that_code_a_feature_differently_are_not_compared(command: Any) -> None:
    frame = frame_of(CATEGORIES["tens"])
    one = trained("lightgbm", frame)
    frame["cat"] = frame.cat.cat.reorder_categories([40, 10, 20, 30])
    other = trained("lightgbm", frame, "other.txt")
    done = command("explain", one, written(frame, "data.csv"), "--compare-with", other)
    assert done.exit_code == 1
    assert (
        "know the categories of 'cat' by different codes (10, 20, 30, 40 and 40, 10, 20, 30)" in done.stderr
    )
    assert command("explain", one, "data.csv", "--compare-with", one, "-m", "RR").exit_code == 0
