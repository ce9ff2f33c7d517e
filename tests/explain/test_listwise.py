"""Importances of features for a measure of rankings."""

import itertools
import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens
from ranklens.arrays import memory_budget
from ranklens.core import DataError, DataWarning, ModelError, UnknownNameError
from ranklens.explain import CallableAdapter, QueryFeatures, adapt, correlated_groups, listwise
from ranklens.explain.shuffling import shuffled_orders

FIRST = adapt(lambda x: x[:, 0] + 0.0, ["x"])


def query(features, labels, query_id="q1"):
    documents = [f"d{i}" for i in range(len(labels))]
    return QueryFeatures.of(query_id, documents, np.asarray(features, float), labels)


def column(*values):
    return [[value] for value in values]


def twin_queries():
    """Two features that carry one signal, and one that carries none."""
    generator = np.random.default_rng(0)
    queries = []
    for i in range(30):
        x = generator.normal(size=(10, 3))
        x[:, 1] = x[:, 0] + generator.normal(0, 0.1, 10)
        queries.append(query(x, np.digitize(x[:, 0], [-0.5, 0.5, 1.2]).tolist(), f"q{i:02d}"))
    return queries


def twin_model(backend=None):
    names = ["bm25", "bm25_title", "freshness"]
    return CallableAdapter(lambda x: x[:, 0] + x[:, 1] + 0.3 * x[:, 2], names, backend)


def run_of(model, queries):
    """Score the documents one query at a time, for `ranklens.evaluate`."""
    scores = {q.query_id: dict(zip(q.documents, model(q.features).tolist(), strict=True)) for q in queries}
    return scores, {q.query_id: {d: int(g) for d, g in q.grades.items()} for q in queries}


@pytest.mark.parametrize(
    ("labels", "scores", "drop"),
    [((1, 0, 0), (3, 2, 1), 0.289690), ((1, 0), (2, 1), 0.184535), ((1, 0, 0), (1, 2, 3), -0.210310)],
)
def test_a_small_query_gives_the_mean_over_all_orders(labels, scores, drop):
    found = listwise(FIRST, [query(column(*scores), labels)], "nDCG(gain=exp)", n_repeats=6)
    assert found["x"].mean == pytest.approx(drop, abs=5e-7)


def test_single_draws_give_what_an_order_can_give():
    one = [query(column(3, 2, 1), (1, 0, 0))]
    drops = {round(listwise(FIRST, one, "nDCG", n_repeats=1, seed=s)["x"].mean, 5) for s in range(40)}
    assert drops == {0.0, 0.36907, 0.5}


def test_a_query_with_one_document_gives_zero_and_is_not_asked_about():
    asked = []
    model = CallableAdapter(lambda x: asked.append(len(x)) or x[:, 0], ["x"])
    queries = [query(column(5), (1,), "single"), query(column(2, 1), (1, 0), "pair")]
    found = listwise(model, queries, "nDCG")
    assert dict(found["x"].per_query)["single"] == 0.0
    assert found.baseline.per_query["single"] == 1.0
    assert sum(asked) == found.n_model_rows == 2 + 2 + 1


def test_a_feature_that_is_constant_in_every_query_gives_zero_without_asking():
    asked = []
    model = CallableAdapter(lambda x: asked.append(len(x)) or 1e6 * x[:, 0] + x[:, 1], ["popularity", "x"])
    queries = [query([[7, 1], [7, 1]], (1, 0), "a"), query([[9, 2], [9, 2], [9, 2]], (0, 1, 0), "b")]
    found = listwise(model, queries, "nDCG@10")
    assert set(found["popularity"].values.tolist()) == {0.0}
    assert asked == [5]


def test_missing_values_and_signed_zeros_are_constant():
    constant = query([[math.nan, 0.0], [math.nan, -0.0]], (1, 0))
    model = adapt(lambda x: np.nan_to_num(x[:, 0]) + x[:, 1], ["a", "b"])
    assert listwise(model, [constant], "nDCG").n_model_rows == 2


def test_features_that_cancel_cancel_when_shuffled_as_one():
    model = adapt(lambda x: x[:, 0] - x[:, 1], ["x1", "x2"])
    one = [query([[3, 3], [2, 2], [1, 1]], (1, 0, 0))]
    together = listwise(model, one, "nDCG", groups=[("x1", "x2")])
    assert list(together.importances.items()) == [("x1+x2", 0.0)]
    assert listwise(model, one, "nDCG")["x1"].mean != 0.0


def test_twin_features_look_useless_alone_and_show_together():
    queries, names = twin_queries(), twin_model().names
    groups = correlated_groups(queries, names)
    assert groups == (("bm25", "bm25_title"),)
    found = listwise(twin_model(), queries, "nDCG@10", groups=groups, n_repeats=400)
    assert found["bm25+bm25_title"].mean == pytest.approx(0.246, abs=0.006)
    assert found["freshness"].mean == pytest.approx(0.001, abs=0.001)
    alone = listwise(twin_model(), queries, "nDCG@10")
    assert max(alone.importances.values()) < 0.5 * found["bm25+bm25_title"].mean


def test_any_backend_draws_the_same_shuffles(user_backend):
    queries = twin_queries()[:6]
    expected = listwise(twin_model("numpy"), queries, "nDCG@5", n_repeats=4)
    found = listwise(twin_model(user_backend), queries, "nDCG@5", n_repeats=4)
    for name in expected:
        np.testing.assert_allclose(found[name].values, expected[name].values, atol=1e-12)


def test_arrays_of_any_backend_stay_there(user_backend):
    queries = twin_queries()[:3]
    with user_backend.precise():
        moved = [
            QueryFeatures.of(q.query_id, q.documents, user_backend.asarray(q.features), q.grades)
            for q in queries
        ]
    seen = set()
    model = CallableAdapter(lambda x: seen.add(type(x)) or x[:, 0] + x[:, 1], twin_model().names)
    found = listwise(model, moved, "AP(rel=2)", n_repeats=3)
    assert seen == {type(moved[0].features)}
    expected = listwise(adapt(lambda x: x[:, 0] + x[:, 1], model.names), queries, "AP(rel=2)", n_repeats=3)
    np.testing.assert_allclose(found["bm25"].values, expected["bm25"].values, atol=1e-12)


def test_the_order_of_the_input_changes_nothing():
    queries = twin_queries()
    mixed = [
        QueryFeatures.of(q.query_id, q.documents[::-1], q.features[::-1], q.grades) for q in queries[::-1]
    ]
    found, again = (listwise(twin_model(), some, "nDCG@10") for some in (queries, mixed))
    assert all((found[name].values == again[name].values).all() for name in found)


def test_the_budget_and_the_size_of_a_call_change_nothing_but_the_calls():
    queries = twin_queries()
    found = listwise(twin_model(), queries, "nDCG@10")
    with memory_budget(2**20):
        again = listwise(twin_model(), queries, "nDCG@10", batch_rows=100)
    assert all((found[name].values == again[name].values).all() for name in found)
    assert found.n_model_calls == 2
    assert again.n_model_calls > 50


def test_temporaries_stay_within_the_budget():
    generator = np.random.default_rng(0)
    names = [f"f{i}" for i in range(40)]
    queries = [query(generator.normal(size=(100, 40)), [1] * 100, f"q{i}") for i in range(8)]
    model = CallableAdapter(lambda x: x.sum(axis=1), names)
    tracemalloc.start()
    try:
        with memory_budget(16 * 2**20):
            found = listwise(model, queries, "nDCG@10")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.n_model_rows > 100_000
    assert peak < 16 * 2**20


def test_the_global_random_state_is_left_alone():
    before = np.random.get_state()[1].tolist()
    listwise(twin_model(), twin_queries(), "nDCG@10", seed=None)
    assert np.random.get_state()[1].tolist() == before


def test_a_seed_is_recorded_and_reproduces():
    queries = twin_queries()
    found = listwise(twin_model(), queries, "nDCG@10", seed=None)
    again = listwise(twin_model(), queries, "nDCG@10", seed=found.seed)
    assert again.to_dict() == found.to_dict()
    assert listwise(twin_model(), queries, "nDCG@10", seed=found.seed + 1).importances != found.importances


def test_more_repeats_extend_the_shuffles():
    few, many = shuffled_orders(3, 5, 9, 4), shuffled_orders(3, 5, 9, 400)
    assert (many[:4] == few).all()
    assert (np.sort(many, axis=1) == np.arange(9)).all()
    counts = np.bincount(many[:, 0], minlength=9)
    assert counts.min() > 20
    assert not (many == shuffled_orders(3, 6, 9, 400)).all(axis=1).any()


def test_the_first_shuffles_never_change():
    assert shuffled_orders(0, 0, 5, 2).tolist() == GOLDEN


GOLDEN = [[0, 3, 1, 2, 4], [4, 1, 2, 0, 3]]


def test_a_group_sees_the_shuffles_that_its_members_see():
    # Only the first member counts, so the group must do exactly what it does.
    model = adapt(lambda x: x[:, 0] + 0.0, twin_model().names)
    queries = twin_queries()
    alone = listwise(model, queries, "nDCG@10")
    together = listwise(model, queries, "nDCG@10", groups=[("bm25_title", "bm25")])
    np.testing.assert_array_equal(alone["bm25"].values, together["bm25_title+bm25"].values)


@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 2)), min_size=1, max_size=6),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(["nDCG@2", "AP", "RR", "P@3", "ERR@4", "bpref", "Judged@2"]),
)
def test_it_is_the_drop_of_what_evaluate_measures(data, measure):
    queries = []
    for i, (documents, n_unretrieved) in enumerate(data):
        labels = {f"d{j}": grade for j, (_, grade) in enumerate(documents) if (i + j) % 4}
        labels |= {f"lost{j}": 1 for j in range(n_unretrieved)} or {"lost": 0}
        values = np.asarray([[value, j] for j, (value, _) in enumerate(documents)], float)
        queries.append(QueryFeatures.of(f"q{i}", [f"d{j}" for j in range(len(documents))], values, labels))
    model = adapt(lambda x: x[:, 0] + 0.0 * x[:, 1], ["x", "place"])
    found = listwise(model, queries, measure, n_repeats=6)
    run, qrels = run_of(model.fn, queries)
    baseline = ranklens.evaluate(run, qrels, measure).metrics[0]
    assert dict(found.baseline.per_query) == dict(baseline.per_query)
    for place, q in enumerate(queries):
        order = sorted(range(len(q.documents)), key=q.documents.__getitem__, reverse=True)
        drops = []
        for shuffle in shuffled_orders(0, place, len(order), 6).tolist():
            values = {q.documents[d]: q.features[order[s], 0] for d, s in zip(order, shuffle, strict=True)}
            shuffled = ranklens.evaluate({q.query_id: values}, {q.query_id: qrels[q.query_id]}, measure)
            drops.append(baseline.per_query[q.query_id] - shuffled.metrics[0].mean)
        if measure != "ERR@4":  # its scale is the largest grade of all queries
            assert found["x"].per_query[q.query_id] == pytest.approx(np.mean(drops), abs=1e-12)


def test_every_order_is_taken_once_where_there_are_few():
    orders = shuffled_orders(0, 0, 3, 10)
    assert sorted(map(tuple, orders.tolist())) == list(itertools.permutations(range(3)))
    assert len(shuffled_orders(0, 0, 4, 10)) == 10


def test_importances_can_be_compared_and_told():
    found = listwise(twin_model(), twin_queries(), "nDCG@10")
    assert found.baseline.metric == "nDCG@10"
    assert {result.metric for result in found.values()} == {"nDCG@10 drop"}
    result = ranklens.compare(found["freshness"], found["bm25"])
    assert result.n_queries == 30
    assert result.significant
    assert [name for name, _ in found.ranked()] == ["bm25_title", "bm25", "freshness"]
    assert found.to_dict()["importances"] == found.importances
    assert found.to_frame("polars").columns == ["feature", "nDCG@10 drop", "n_moved", "n_queries"]
    assert "bm25_title" in str(found)
    assert "<table>" in found._repr_html_()
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    assert len(found.plot(n=2).patches) == 2
    assert "bm25_title" in repr(found)
    assert pickle.loads(pickle.dumps(found)).importances == found.importances


def test_an_unknown_feature_lists_the_nearest():
    found = listwise(FIRST, [query(column(1, 2), (1, 0))], "nDCG")
    assert "y" not in found
    with pytest.raises(UnknownNameError, match="feature or group 'X'; did you mean x"):
        found["X"]


def test_columns_are_aligned_by_name():
    q = query([[1, 9], [2, 8]], (1, 0))
    model = adapt(lambda x: x[:, 0], ["a", "b"])
    named = QueryFeatures.of("q1", q.documents, q.features[:, ::-1], q.grades, names=["b", "a"])
    assert listwise(model, [named], "RR").baseline.mean == listwise(model, [q], "RR").baseline.mean == 0.5
    short = QueryFeatures.of("q1", q.documents, q.features, q.grades, names=["b", "c"])
    with pytest.raises(DataError, match="query 'q1' lacks the feature 'a'; it has 'b', 'c'"):
        listwise(model, [short], "RR")
    wide = QueryFeatures.of("q1", q.documents, [[1, 2, 3]] * 2, q.grades, names=["a", "b", "c"])
    with pytest.raises(DataError, match="has 'c', which is no feature"):
        listwise(model, [wide], "RR")
    with pytest.raises(DataError, match=r"has 3 features without names, and the model 2"):
        listwise(model, [QueryFeatures.of("q1", "ab", [[1, 2, 3]] * 2, {"a": 1})], "RR")


@pytest.mark.parametrize(
    ("queries", "error", "why"),
    [
        ([], DataError, "queries is empty"),
        ([FIRST], TypeError, "queries must hold QueryFeatures, got CallableAdapter"),
        ([query(column(1), (1,))] * 2, DataError, "queries holds 'q1' twice"),
    ],
)
def test_bad_queries_are_refused(queries, error, why):
    with pytest.raises(error, match=why):
        listwise(FIRST, queries, "nDCG")


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"n_repeats": 0}, ValueError, "n_repeats"),
        ({"batch_rows": -1}, ValueError, "batch_rows"),
        ({"groups": [("x", "y")]}, UnknownNameError, "unknown feature 'y'"),
    ],
)
def test_bad_options_are_refused(options, error, why):
    with pytest.raises(error, match=why):
        listwise(FIRST, [query(column(1, 2), (1, 0))], "nDCG", **options)
    with pytest.raises(UnknownNameError, match="did you mean nDCG"):
        listwise(FIRST, [query(column(1, 2), (1, 0))], "nDGC")


def test_a_model_that_keeps_a_state_is_refused():
    calls = []
    model = CallableAdapter(lambda x: x[:, 0] + len(calls.append(1) or calls), ["x"])
    with pytest.raises(ModelError, match="keeps a state"):
        listwise(model, [query(column(3, 2, 1), (1, 0, 0))], "nDCG")


def test_a_score_that_is_not_finite_is_refused():
    model = CallableAdapter(lambda x: x[:, 0] / 0.0 if len(x) > 3 else x[:, 0], ["x"])
    with pytest.raises(ModelError, match="not finite"), np.errstate(divide="ignore"):
        listwise(model, [query(column(3, 2, 1), (1, 0, 0))], "nDCG")


def test_queries_without_a_judgement_are_left_out_as_evaluate_leaves_them_out():
    judged = query(column(1, 2), (1, 0), "judged")
    unknown = QueryFeatures.of("unknown", "ab", column(1, 2), {})
    with pytest.warns(DataWarning, match="1 query without a judgement left out: unknown"):
        found = listwise(FIRST, [unknown, judged], "nDCG")
    assert list(found.baseline.per_query) == ["judged"]
    with pytest.raises(DataError, match="none of the 1 queries has a judgement"):
        listwise(FIRST, [unknown], "nDCG")


def test_a_query_without_a_relevant_document_counts_as_zero():
    queries = [query(column(1, 2), (0, 0), "none"), query(column(1, 2), (1, 0), "one")]
    found = listwise(FIRST, queries, "nDCG")
    assert dict(found["x"].per_query)["none"] == 0.0
    assert found["x"].mean == pytest.approx(-0.184535 / 2, abs=1e-6)


def test_progress_is_told():
    told = []
    listwise(twin_model(), twin_queries(), "nDCG", batch_rows=500, progress=lambda *at: told.append(at))
    assert told[-1] == (30, 30)
    assert told == sorted(told)


def test_a_function_takes_its_names_from_the_queries():
    named = QueryFeatures.of("q1", "ab", [[1.0], [2.0]], {"a": 1}, names=["bm25"])
    assert list(listwise(lambda x: x[:, 0], [named], "RR")) == ["bm25"]
    with pytest.raises(ValueError, match="names is missing"):
        listwise(lambda x: x[:, 0], [query(column(1, 2), (1, 0))], "RR")
