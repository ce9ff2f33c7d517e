"""RankLib's files: stored models, and what RankLib does with their numbers."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from tree_checks import HOST, check_by_coalitions, check_trees, for_shap, interventional

from ranklens.core import DataError
from ranklens.explain import pairwise
from ranklens.explain.models.files import read_model
from ranklens.explain.models.ranklib import RankLibTrees, ranklib_model
from ranklens.explain.trees import tree_contributions

LAMBDAMART = """## LambdaMART
## No. of trees = 2

<ensemble>
  <tree id="1" weight="0.1">
    <split>
      <feature> 1 </feature>
      <threshold> 0.5 </threshold>
      <split pos="left"><output> 2.0 </output></split>
      <split pos="right">
        <feature> 3 </feature>
        <threshold> -1.0 </threshold>
        <split pos="left"><output> -1.0 </output></split>
        <split pos="right"><output> 4.0 </output></split>
      </split>
    </split>
  </tree>
  <tree id="2" weight="0.5"><split><output> 1.0 </output></split></tree>
</ensemble>
"""


def test_trees_are_weighted_and_go_left_at_the_threshold() -> None:
    model = ranklib_model(LAMBDAMART)
    assert model.names == ("1", "2", "3")
    rows = np.asarray([[0.5, 0.0, 0.0], [0.6, 0.0, -1.0], [0.6, 0.0, 0.0], [0.5 + 1e-9, 0.0, 0.0]])
    expected = np.asarray([2.0, -1.0, 4.0, 2.0]) * np.float32(0.1) + 0.5
    np.testing.assert_allclose(model.score(rows), expected, atol=1e-15)


def test_an_unknown_value_counts_as_zero() -> None:
    model = ranklib_model(LAMBDAMART)
    rows = np.asarray([[np.nan, 0.0, 0.0], [0.6, 0.0, np.nan]])
    np.testing.assert_array_equal(model.score(rows), model.score(np.nan_to_num(rows)))
    linear = ranklib_model("## Linear Regression\n0:0.5 1:2.0")
    np.testing.assert_array_equal(linear.score(np.asarray([[np.nan]])), [0.5])


def test_a_stored_forest_is_the_mean_of_its_bags(data_dir: Path) -> None:
    path = data_dir / "ltr-elasticsearch-tmdb" / "ranklib.randomForest.txt.gz"
    model = read_model(path)
    assert isinstance(model, RankLibTrees)
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    bags = [
        ranklib_model("## MART\n<ensemble>" + part.replace("<ensemble>", "") + "</ensemble>", ["1", "2"])
        for part in text.partition("<ensemble>")[2].split("</ensemble>")
        if "<tree" in part
    ]
    assert len(bags) == 300
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 20, (2, 40, 2))
    a[0], b[1, 0] = np.nan, np.nan
    np.testing.assert_allclose(model.score(a), np.mean([bag.score(a) for bag in bags], axis=0), atol=1e-13)
    check_trees(model, a, b, atol=1e-12)
    check_by_coalitions(model, a[:5], b[:5], k=2, atol=1e-12)


def test_a_stored_forest_as_shap_explains_it(data_dir: Path) -> None:
    model = read_model(data_dir / "ltr-elasticsearch-tmdb" / "ranklib.randomForest.txt.gz")
    ensemble = model.trees()
    a, b = np.random.default_rng(1).uniform(0, 20, (2, 3, 2))
    found = tree_contributions(ensemble, a, b, HOST)
    np.testing.assert_allclose(found, interventional(for_shap(ensemble), a, b), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("file", "weights", "constant"),
    [
        (
            "tates_model.txt",
            (0.06442486267839354, 1.7298168616882517, 0.06437886168753176),
            0.06442486267839354,
        ),
        ("ranklib.coord_ascent.txt", (0.5, 0.5), 0.0),
    ],
)
def test_stored_linear_models(data_dir: Path, file: str, weights: tuple[float, ...], constant: float) -> None:
    model = read_model(data_dir / "ltr-elasticsearch-tmdb" / file)
    assert model.trees() is None
    assert len(model.names) == len(weights)
    rows = np.random.default_rng(0).normal(size=(5, len(weights)))
    np.testing.assert_allclose(model.score(rows), rows @ np.asarray(weights) + constant, atol=1e-14)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("## ListNet\n1:2", "no RankLib model of 'ListNet'"),
        ("## Linear Regression\n1:two", r"line 2: a weight must be feature:weight"),
        ("## Linear Regression\n", "holds no weights"),
        ("## MART\n<ensemble></ensemble>", "holds no trees"),
        ("## MART\n<ensemble><tree></ensemble>", "cannot be read"),
        (LAMBDAMART.replace("-1.0 </output>", "-1.0x </output>"), "cannot be read: could not convert"),
        (LAMBDAMART.replace("<feature> 3", "<feature> 0"), "numbered from 1, and a split looks at 0"),
        (LAMBDAMART.replace('"right"', '"other"'), "cannot be read"),
        (LAMBDAMART.replace("<threshold> 0.5 </threshold>", ""), "a split has no threshold"),
    ],
)
def test_damaged_files_say_what_is_wrong(text: str, what: str) -> None:
    with pytest.raises(DataError, match=what):
        ranklib_model(text)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.77, 0.95, 0.995])
def test_a_file_that_is_cut_off_is_refused(data_dir: Path, tmp_path: Path, share: float) -> None:
    forest = (data_dir / "ltr-elasticsearch-tmdb" / "ranklib.randomForest.txt.gz").read_bytes()
    for text in (gzip.decompress(forest).decode("utf-8"), LAMBDAMART):
        (tmp_path / "model.xml").write_text(text[: int(len(text) * share)])
        with pytest.raises(DataError, match=r"model.xml: .*cut off or damaged"):
            read_model(tmp_path / "model.xml")


def test_a_forest_without_its_last_bags_is_refused(data_dir: Path) -> None:
    path = data_dir / "ltr-elasticsearch-tmdb" / "ranklib.randomForest.txt.gz"
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    bag = text.rindex("<ensemble>")
    with pytest.raises(DataError, match="it holds 299 of 300 bags; save it again"):
        ranklib_model(text[:bag])


@pytest.mark.parametrize("end", ["1", "-2", "-2.", "0."])
def test_a_linear_model_that_ends_inside_a_number_is_refused(end: str) -> None:
    with pytest.raises(DataError, match=r"model.txt: .*seems to be cut off.* \(in '3:"):
        ranklib_model(f"## Coordinate Ascent\n1:0.25 2:-0.5 3:{end}", source="model.txt")
    # Written by hand.
    for text in (f"1:0.25 2:-0.5 3:{end}\n", f"1:2 3:{end}", f"3:{end}"):
        assert ranklib_model(f"## Coordinate Ascent\n{text}").linear.weights[2] == float(end)


@pytest.mark.parametrize("text", [LAMBDAMART, "## Linear Regression\n0:0.5 1:2.0 3:-1.0"])
def test_features_that_the_model_never_reads_are_harmless(text: str) -> None:
    narrow, a, b = ranklib_model(text), [0.5, 1.0, 2.0], [0.7, 3.0, -2.0]
    expected = dict(pairwise(narrow, a, b).contributions)
    wide = {str(number): 0.0 for number in range(1, 6)}
    for rows in (
        ([*a, 7.0, 8.0], [*b, 9.0, 8.0]),
        (np.asarray([*a, 7.0, 8.0]), np.asarray([*b, 9.0, 8.0])),
        (wide | dict(zip("123", a, strict=True)), wide | dict(zip("123", b, strict=True))),
    ):
        assert dict(pairwise(narrow, *rows).contributions) == {**expected, "4": 0.0, "5": 0.0}
    with pytest.raises(DataError, match="has shape"):
        pairwise(ranklib_model(text, ["x", "y", "z"]), [*a, 7.0], [*b, 7.0])


def test_too_few_names_are_refused() -> None:
    with pytest.raises(DataError, match="looks at feature 3, and rows have 2"):
        ranklib_model(LAMBDAMART, ["a", "b"])
    assert ranklib_model(LAMBDAMART, ["a", "b", "c", "d"]).names == ("a", "b", "c", "d")
