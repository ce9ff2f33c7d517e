"""Importances on public learning-to-rank data."""

import json

import numpy as np
import pytest

import ranklens
from ranklens.explain import (
    CallableAdapter,
    QueryFeatures,
    correlated_groups,
    explain_change,
    listwise,
    read_letor,
)
from ranklens.explain.models.files import read_model

QUERY_LEVEL = ("idf1", "idf2", "idf3", "idf4", "idf5", "idf6", "query_l")


def evaluated(model, queries, measure):
    run = {q.query_id: dict(zip(q.documents, model.score(q.features).tolist(), strict=True)) for q in queries}
    return ranklens.evaluate(run, {q.query_id: dict(q.grades) for q in queries}, measure).metrics[0]


@pytest.fixture(scope="module")
def letor(data_dir):
    """A LightGBM model with the queries that it was published with."""
    folder = data_dir / "ltr-mq2008"
    queries = read_letor(folder / "test.txt.gz")
    return read_model(folder / "model.lightgbm.txt.gz"), queries, folder / "expected_ltr.json"


@pytest.fixture(scope="module")
def tables(data_dir):
    """Named features of tables, some of which are the same for all tables of a query."""
    polars = pytest.importorskip("polars", reason="the table needs polars")
    frame = polars.read_csv(data_dir / "wtr-tables" / "features.csv.gz", infer_schema_length=None)
    features = [name for name in frame.columns if name not in ("query_id", "query", "table_id", "rel")]
    return QueryFeatures.from_frame(frame, document="table_id", grade="rel", features=features)


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "RR(rel=2)"])
def test_the_original_rankings_are_measured_as_evaluate_does(letor, measure):
    model, queries, _ = letor
    found = listwise(model, queries, measure, n_repeats=1)
    assert dict(found.baseline.per_query) == dict(evaluated(model, queries, measure).per_query)


def test_the_published_model_has_its_reference_values(letor):
    model, queries, reference = letor
    found = listwise(model, queries, "nDCG@10", n_repeats=1)
    expected = json.loads(reference.read_text())["ndcg10_linear"]["per_query"]
    distinct = [q.query_id for q in queries if len(set(model.score(q.features).tolist())) == len(q.documents)]
    assert len(distinct) > 10
    for query in distinct:
        assert found.baseline.per_query[query] == pytest.approx(expected[query], abs=1e-6)


def test_trees_and_calls_give_the_same_importances(letor):
    model, queries, _ = letor
    some = queries[:8]
    known = listwise(model, some, "nDCG@10", n_repeats=2)
    asked = listwise(CallableAdapter(model.predict, model.names), some, "nDCG@10", n_repeats=2)
    for name in known:
        np.testing.assert_array_equal(known[name].values, asked[name].values)
    assert known.n_model_rows < asked.n_model_rows


def test_what_is_the_same_for_a_whole_query_moves_nothing(tables):
    names = tables[0].names
    weights = np.asarray([1e3 if name in QUERY_LEVEL else 1.0 for name in names])
    found = listwise(lambda x: np.nan_to_num(x) @ weights, tables[:10], "nDCG@10", n_repeats=2)
    for name in QUERY_LEVEL:
        assert set(found[name].values.tolist()) == {0.0}
    assert max(found.importances.values()) > 0.0


def test_what_is_the_same_for_a_whole_query_is_in_no_group(tables):
    names = tables[0].names
    groups = correlated_groups(tables, names)
    assert groups
    assert not {name for group in groups for name in group} & set(QUERY_LEVEL)
    pooled = correlated_groups(tables, names, within_query=False)
    assert {name for group in pooled for name in group} & set(QUERY_LEVEL)


def test_the_change_between_two_published_models_adds_up(letor):
    model, queries, _ = letor
    half = read_half(model)
    found = explain_change(half, model, queries[:12], "nDCG@10", max_swaps=20, max_rows=512)
    assert found.swaps
    assert sum(s.share for s in found.swaps) == pytest.approx(found.change.values.sum(), abs=1e-10)
    explained = sum(found.importances.values())
    assert explained + found.unexplained == pytest.approx(found.change.mean, abs=1e-10)


def read_half(model):
    """A model that sees only half of what the other does."""
    kept = np.arange(len(model.names)) % 2 == 0
    return CallableAdapter(lambda x: model.predict(np.where(kept, x, 0.0)), model.names)
