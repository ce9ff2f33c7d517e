"""Adapters of tree ensembles: found by their library, checked against the model, named when refused."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tree_games import random_ensemble, random_rows, stump

from ranklens.arrays import memory_budget, open_backend
from ranklens.core import ModelError
from ranklens.explain import adapt, pairwise, pairwise_many
from ranklens.explain.models.files import read_model
from ranklens.explain.models.tree_model import EnsembleModel, TreeModel, probe_rows
from ranklens.explain.trees import TreeEnsemble, tree_contributions


class Biased(TreeModel):
    """A model that adds what its trees do not know of."""

    kind = "the biased model"

    def __init__(self, ensemble: TreeEnsemble, bias: float) -> None:
        super().__init__(["a", "b", "c"])
        self.ensemble, self.bias = ensemble, bias

    def read_trees(self) -> TreeEnsemble:
        return self.ensemble

    def predict(self, points: Any) -> Any:
        return self.ensemble.scores(points) + self.bias


def test_trees_that_are_not_the_model_are_refused_by_name() -> None:
    ensemble = TreeEnsemble.of([stump()], 3)
    assert Biased(ensemble, 0.0).trees() is ensemble
    wrong = Biased(ensemble, 1e-6)
    assert wrong.trees() is None
    assert "add up to" in str(wrong.without_trees)


def test_probes_lie_on_both_sides_of_every_kind_of_threshold() -> None:
    ensemble = random_ensemble(0, 4, n_trees=20, categorical=True)
    rows = probe_rows(ensemble, 4, n=400)
    for feature, codes in zip(ensemble.coding.features, ensemble.coding.on_host(rows), strict=True):
        # Where zeros are missing values, no number lies between 0 and the smallest that is none.
        assert len(np.unique(codes)) == feature.n_codes - feature.zero
    assert not np.isnan(probe_rows(ensemble, 4, nan=False)).any()


def test_a_pair_under_trees_asks_the_model_nothing() -> None:
    model = EnsembleModel(TreeEnsemble.of([stump()], 3, offset=1.0), ["bm25", "price", "freshness"])
    found = pairwise(model, [1.0, 1.0, 0.2], [2.0, 2.0, 0.9])
    assert dict(found.contributions) == {"bm25": 0.0, "price": 0.0, "freshness": 5.0}
    assert (found.score_a, found.score_b, found.n_model_rows, found.method) == (3.0, 8.0, 0, "tree")
    below = pairwise(model, [1.0, 1.0, 0.2], [2.0, 2.0, 0.5])
    assert set(below.contributions.values()) == {0.0}


def test_names_must_fit() -> None:
    with pytest.raises(ModelError, match="has 3 features, and names holds 2"):
        EnsembleModel(TreeEnsemble.of([stump()], 3), ["bm25", "price"])


def test_trees_and_coalitions_agree() -> None:
    model = EnsembleModel(random_ensemble(1, 6, n_trees=5, n_inner=12), [f"x{i}" for i in range(6)])
    a, b = random_rows(1, 10, 6), random_rows(2, 10, 6)
    groups = [("x0", "x3"), ("x5", "x1")]
    for options in ({}, {"groups": groups}):
        trees = pairwise_many(model, a, b, **options)
        counted = pairwise_many(model, a, b, method="exact", **options)
        assert trees.names == counted.names
        np.testing.assert_allclose(trees.contributions, counted.contributions, rtol=0, atol=1e-12)


def test_files_are_models(tmp_path: Path) -> None:
    text = "## MART\n<ensemble><tree weight='2'><split><feature>1</feature><threshold>0.5</threshold>"
    text += "<split pos='left'><output>1</output></split><split pos='right'><output>3</output></split>"
    path = tmp_path / "model.txt.gz"
    path.write_bytes(gzip.compress((text + "</split></tree></ensemble>").encode()))
    for model in (read_model(path, ["bm25"]), adapt(path, ["bm25"]), adapt(str(path))):
        np.testing.assert_array_equal(model.score(np.asarray([[0.5], [0.6]])), [2.0, 6.0])
    assert read_model(path).names == ("1",)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost", "sklearn"])
def test_the_library_of_a_model_decides(library: str) -> None:
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    rows = np.random.default_rng(0).normal(size=(80, 2))
    grades = rows[:, 0] + rows[:, 1] ** 2
    if library == "sklearn":
        made = pytest.importorskip("sklearn.ensemble").RandomForestRegressor(3, random_state=0)
    elif library == "catboost":
        made = module.CatBoostRegressor(iterations=3, verbose=False, allow_writing_files=False)
    else:
        kind = {"lightgbm": "LGBMRegressor", "xgboost": "XGBRegressor"}[library]
        made = getattr(module, kind)(n_estimators=3)
        made.set_params(n_jobs=1)
        if library == "lightgbm":
            made.set_params(verbose=-1)
    model = adapt(made.fit(rows, grades), ["bm25", "price"])
    assert type(model).__module__ == f"ranklens.explain.models.{library}"
    found = pairwise(model, rows[0], rows[1])
    assert found.method == "tree"
    assert sum(found.contributions.values()) == pytest.approx(found.delta, abs=1e-12)


@pytest.mark.parametrize("n_pairs", [40, 600])
@pytest.mark.parametrize("name", ["numpy", "array_api_strict"])
def test_temporaries_stay_within_the_memory_budget(n_pairs: int, name: str) -> None:
    ensemble = random_ensemble(2, 40, n_trees=30, n_inner=31)
    a, b = random_rows(1, n_pairs, 40), random_rows(2, n_pairs, 40)
    backend = open_backend(name)
    tree_contributions(ensemble, a[:2], b[:2], backend)
    ensemble.scores(a[:2])
    budget = 4 * 2**20
    # The result, a sum of it and a part, and both points' codes are of the size of the input.
    sized_as_input = 4 * a.nbytes
    with memory_budget(budget):
        for job in (lambda: tree_contributions(ensemble, a, b, backend), lambda: ensemble.scores(a)):
            tracemalloc.start()
            job()
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak <= budget + sized_as_input
