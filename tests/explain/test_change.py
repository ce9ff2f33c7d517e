"""Why a measure differs between two models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens
from ranklens.core import DataError, ModelError, UnknownNameError
from ranklens.explain import CallableAdapter, QueryFeatures, adapt, explain_change, pairwise
from ranklens.explain.crossings import crossings, ranked

NAMES = ("bm25", "clicks", "price")
scores = st.integers(-3, 3).map(float)


def linear(*weights, names=NAMES):
    return adapt(lambda x: x @ np.asarray(weights), names)


def queries_of(seed=0, n=12, size=9, grades=3):
    generator = np.random.default_rng(seed)
    found = []
    for i in range(n):
        features = generator.normal(size=(size, 3))
        labels = generator.integers(0, grades, size=size).tolist()
        found.append(QueryFeatures.of(f"q{i:02d}", [f"d{j}" for j in range(size)], features, labels))
    return found


def evaluated(weights, queries, measure):
    run = {q.query_id: dict(zip(q.documents, (q.features @ weights).tolist(), strict=True)) for q in queries}
    return ranklens.evaluate(run, {q.query_id: dict(q.grades) for q in queries}, measure).metrics[0]


@given(st.lists(st.tuples(scores, scores), min_size=1, max_size=8))
def test_each_pair_in_another_order_is_swapped_once_as_neighbours(pairs):
    a, b = np.asarray(pairs).T
    ranking, swapped = ranked(a).tolist(), set()
    for risen, fallen, rank in crossings(a, b):
        assert ranking[rank : rank + 2] == [fallen, risen]
        ranking[rank : rank + 2] = [risen, fallen]
        assert (risen, fallen) not in swapped
        swapped.add((risen, fallen))
    assert ranking == ranked(b).tolist()
    place_a, place_b = np.argsort(ranked(a)), np.argsort(ranked(b))
    expected = {
        (j, i)
        for i in range(len(a))
        for j in range(len(a))
        if place_a[i] < place_a[j] and place_b[i] > place_b[j]
    }
    assert swapped == expected


@given(st.integers(0, 2**32), st.floats(0.1, 50.0), st.floats(-9.0, 9.0))
def test_the_scale_of_the_scores_changes_no_swap(seed, factor, shift):
    a, b = np.random.default_rng(seed).normal(size=(2, 8))
    assert crossings(a, b) == crossings(a * factor + shift, b) == crossings(a, b * factor - shift)


def test_the_way_back_is_the_way_there_reversed():
    a, b = np.random.default_rng(1).normal(size=(2, 9))
    back = [(fallen, risen, rank) for risen, fallen, rank in crossings(b, a)]
    assert [tuple(swap) for swap in crossings(a, b)] == back[::-1]


@pytest.mark.parametrize("measure", ["nDCG@5", "AP", "RR", "P@3", "ERR@5", "bpref"])
def test_queries_are_measured_as_evaluate_does_and_swaps_sum_to_their_change(measure):
    queries = queries_of()
    old, new = np.asarray([1.0, 0.0, 0.2]), np.asarray([1.0, 0.7, -0.2])
    found = explain_change(linear(*old), linear(*new), queries, measure)
    assert dict(found.before.per_query) == dict(evaluated(old, queries, measure).per_query)
    assert dict(found.after.per_query) == dict(evaluated(new, queries, measure).per_query)
    assert found.swaps
    for query, change in found.change.per_query.items():
        swaps = found.swaps_of(query)
        assert sum(swap.share for swap in swaps) == pytest.approx(change, abs=1e-12)
        for swap in swaps:
            assert sum(swap.features.values()) == pytest.approx(swap.share, abs=1e-12)
        effects = [result.per_query[query] for result in found.features.values()]
        assert sum(effects) == pytest.approx(change, abs=1e-12)
    assert sum(found.importances.values()) == pytest.approx(found.change.mean, abs=1e-12)
    assert found.unexplained == 0.0


def test_a_swap_of_neighbours_in_ndcg_is_what_the_formula_says():
    queries = [
        QueryFeatures.of("q", "abc", [[3.0, 0, 0], [2.0, 2, 0], [1.0, 0, 0]], {"a": 0, "b": 2, "c": 1})
    ]
    found = explain_change(linear(1, 0, 0), linear(1, 1, 0), queries, "nDCG")
    ideal = 2.0 + 1.0 / np.log2(3)
    (swap,) = found.swaps
    assert (swap.risen, swap.fallen, swap.rank, swap.grade_risen, swap.grade_fallen) == (
        "b",
        "a",
        1,
        2.0,
        0.0,
    )
    assert swap.share == pytest.approx(2.0 * (1.0 - 1.0 / np.log2(3)) / ideal, abs=1e-12)


@pytest.mark.parametrize("factor", [1.0, 7.5])
def test_a_feature_that_both_models_use_alike_made_no_swap(factor):
    found = explain_change(linear(1, 0, 0.5), linear(factor, factor, factor / 2), queries_of(), "nDCG@10")
    effects = found.importances
    assert effects["clicks"] == pytest.approx(found.change.mean, abs=1e-12)
    assert effects["bm25"] == pytest.approx(0.0, abs=1e-12)
    assert found.ranked()[0][0] == "clicks"


def test_the_change_back_is_minus_the_change():
    old, new, queries = linear(1, 0, 0.2), linear(1, 0.7, 0.2), queries_of()
    there, back = (explain_change(*models, queries, "nDCG") for models in ((old, new), (new, old)))
    shares = {(swap.query_id, swap.risen, swap.fallen): swap.share for swap in there.swaps}
    assert len(shares) == len(back.swaps)
    for swap in back.swaps:
        assert -swap.share == pytest.approx(shares[swap.query_id, swap.fallen, swap.risen], abs=1e-12)


def test_the_parts_are_pairwise_contributions():
    queries = queries_of(n=1)
    old, new = (
        adapt(f, NAMES) for f in (lambda x: x[:, 0] * x[:, 1], lambda x: 1.5 * x[:, 0] * x[:, 1] + x[:, 2])
    )
    found = explain_change(old, new, queries, "nDCG")
    row = dict(zip(queries[0].documents, queries[0].features, strict=True))
    phi = [
        [pairwise(model, row[swap.fallen], row[swap.risen]).contributions for swap in found.swaps]
        for model in (old, new)
    ]
    a, b = (np.asarray([[one[name] for name in NAMES] for one in side]) for side in phi)
    used = a != 0.0
    candidates = (b[used] / a[used])[b[used] / a[used] > 0]
    scale = min(candidates, key=lambda ratio: np.abs(b - ratio * a).sum())
    turn = b - scale * a
    for swap, parts in zip(found.swaps, turn, strict=True):
        expected = swap.share * parts / parts.sum()
        assert list(swap.features.values()) == pytest.approx(expected.tolist(), abs=1e-10)


def test_models_may_have_different_features():
    queries = [
        QueryFeatures.of(q.query_id, q.documents, q.features, q.grades, names=NAMES) for q in queries_of()
    ]
    old, new = linear(1.0, names=["bm25"]), linear(0.8, 1.0, names=["clicks", "bm25"])
    with pytest.raises(DataError, match="has 'price', which is no feature of the model"):
        explain_change(old, new, queries, "nDCG@10")
    pairs = [
        QueryFeatures.of(q.query_id, q.documents, q.features[:, :2], q.grades, names=NAMES[:2])
        for q in queries
    ]
    found = explain_change(old, new, pairs, "nDCG@10")
    assert found.importances["clicks"] == pytest.approx(found.change.mean, abs=1e-12)
    assert sum(found.importances.values()) == pytest.approx(found.change.mean, abs=1e-12)


class Noisy:
    """A linear model that draws at random beside."""

    def __init__(self):
        self.generator = np.random.default_rng(0)

    def __call__(self, x):
        return x[:, 0] + self.generator.normal(size=len(x))


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (Noisy(), "keeps a state or draws at random, or scores a row by the other rows"),
        (
            lambda x: x[:, 0] - x[:, 0].mean(),
            "keeps a state or draws at random, or scores a row by the other",
        ),
        (lambda x: x[:, 0] * np.nan, "returned scores that are not finite"),
    ],
)
def test_a_model_that_is_no_function_of_the_row_is_named(bad, why):
    good, bad = linear(1, 0, 0), adapt(bad, NAMES)
    with pytest.raises(ModelError, match=f"model_a: the function .*{why}"):
        explain_change(bad, good, queries_of(), "nDCG@10")
    with pytest.raises(ModelError, match=f"model_b: the function .*{why}"):
        explain_change(good, bad, queries_of(), "nDCG@10")


def test_groups_are_explained_as_one():
    found = explain_change(
        linear(1, 0, 0.2), linear(0.5, 0.7, 0), queries_of(), "nDCG", groups=[("bm25", "price")]
    )
    assert list(found.importances) == ["bm25+price", "clicks"]


def test_what_is_left_unexplained_is_said():
    old, new, queries = linear(1, 0, 0.2), linear(0.1, 0.7, 0.9), queries_of()
    whole, part = (explain_change(old, new, queries, "nDCG", max_swaps=n) for n in (None, 3))
    assert (part.n_explained, len(part.swaps)) == (3, len(whole.swaps))
    assert part.swaps[3].features is None
    assert sum(part.importances.values()) + part.unexplained == pytest.approx(whole.change.mean, abs=1e-12)
    assert f"comes from {len(whole.swaps) - 3} smaller swaps that were not explained" in str(part)


def test_equal_models_change_nothing():
    found = explain_change(linear(1, 2, 3), linear(2, 4, 6), queries_of(), "nDCG@10")
    assert (found.n_swaps, found.swaps, found.change.mean) == (0, (), 0.0)
    assert set(found.importances.values()) == {0.0}
    assert str(found).startswith("nDCG@10 ")
    assert "0 rose, 0 fell, 12 stayed" in str(found)


def test_documents_that_a_model_ties_are_swapped_by_their_ids():
    query = QueryFeatures.of("q", "ab", [[1.0, 0, 0], [0.0, 0, 0]], {"a": 1, "b": 0})
    found = explain_change(linear(1, 0, 0), linear(0, 1, 0), [query], "RR")
    (swap,) = found.swaps
    assert (swap.risen, swap.share) == ("b", -0.5)
    assert found.importances == {"bm25": pytest.approx(-0.5), "clicks": 0.0, "price": 0.0}


def test_unjudged_documents_are_said_to_be_so():
    query = QueryFeatures.of("q", "ab", [[1.0, 0, 0], [0.0, 2, 0]], {"a": 1})
    found = explain_change(linear(1, 0, 0), linear(1, 1, 0), [query], "nDCG")
    assert found.swaps[0].grade_risen is None
    assert "b (not judged) rose above a (grade 1) to rank 1: -0.3691" in str(found)


def test_a_change_can_be_told_and_compared():
    found = explain_change(linear(1, 0, 0.2), linear(0.5, 0.7, 0), queries_of(n=25), "nDCG@5")
    assert found.moved()[0][1] == max(found.change.values, key=abs)
    comparison = ranklens.compare(found.before, found.after)
    assert comparison.delta == pytest.approx(found.change.mean)
    assert ranklens.compare(found.features["bm25"], found.features["clicks"]).n_queries == 25
    for kind, first in (("swaps", "query_id"), ("queries", "query"), ("features", "feature")):
        assert found.to_frame(kind, "polars").columns[0] == first
    with pytest.raises(UnknownNameError, match="unknown kind 'documents'"):
        found.to_frame("documents")
    assert found.to_dict()["swaps"][0]["share"] == found.swaps[0].share
    assert "<table>" in found._repr_html_()
    assert repr(found).startswith("<ModelChange: nDCG@5")


@pytest.mark.parametrize(
    ("options", "why"), [({"max_swaps": 0}, "max_swaps"), ({"groups": [("x",)]}, "unknown feature 'x'")]
)
def test_bad_options_are_refused(options, why):
    with pytest.raises(ValueError, match=why):
        explain_change(linear(1, 0, 0), linear(0, 1, 0), queries_of(), "nDCG", **options)


def test_any_backend_finds_the_same_swaps(user_backend):
    def model(a, b):
        return CallableAdapter(lambda x: a * x[:, 0] + b * x[:, 1], NAMES, user_backend)

    queries = queries_of(n=3)
    found = explain_change(model(1.0, 0.0), model(1.0, 0.7), queries, "nDCG@5")
    expected = explain_change(linear(1, 0, 0), linear(1, 0.7, 0), queries, "nDCG@5")
    assert [(s.risen, s.fallen, s.share) for s in found.swaps] == [
        (s.risen, s.fallen, s.share) for s in expected.swaps
    ]
    np.testing.assert_allclose(
        list(found.importances.values()), list(expected.importances.values()), atol=1e-10
    )


def test_progress_is_told_in_swaps():
    queries = queries_of()
    told = []
    found = explain_change(
        linear(1, 0, 0.2), linear(1, 0.7, -0.2), queries, "nDCG", progress=lambda *at: told.append(at)
    )
    total = 2 * len(found.swaps)
    assert told[-1] == (total, total)
    assert told == sorted(told)
    assert {at[1] for at in told} == {total}


def test_an_unknown_query_has_no_swaps_but_an_error():
    found = explain_change(linear(1, 0, 0.2), linear(1, 0.7, -0.2), queries_of(), "nDCG")
    with pytest.raises(UnknownNameError, match="nowhere"):
        found.swaps_of("nowhere")


def test_a_notebook_shows_queries_swaps_and_features():
    found = explain_change(linear(1, 0, 0.2), linear(1, 0.7, -0.2), queries_of(), "nDCG")
    page = found._repr_html_()
    assert page.count("<table>") == 3
    assert str(found).splitlines()[0].replace(">", "&gt;") in page
    assert f"<p>Swaps of documents, the first 10 of {len(found.swaps)}</p>" in page
    first = str(found.swaps[0])
    assert first[first.index("(", first.index("to rank")) + 1 : -1] in page
    assert (
        "<p>no rows</p>"
        in explain_change(linear(1, 0, 0), linear(1, 0, 0), queries_of(), "P@3")._repr_html_()
    )


@pytest.mark.parametrize("others", [("bm25", "clicks", "age"), ("clicks", "bm25", "price")])
def test_columns_without_names_are_not_taken_for_features_of_both(others):
    old, new = linear(1, 0, 0.2), linear(1, 0.7, -0.2, names=others)
    with pytest.raises(DataError, match="'q00' have no names"):
        explain_change(old, new, queries_of(), "nDCG")


def test_no_call_of_a_model_has_more_rows_than_were_asked_for():
    calls = []

    def watched(*weights):
        return adapt(lambda x: calls.append(len(x)) or x @ np.asarray(weights), NAMES)

    found = explain_change(watched(1, 0, 0.2), watched(1, 0.7, -0.2), queries_of(), "nDCG", batch_rows=50)
    assert max(calls) == 50
    assert found.swaps == explain_change(linear(1, 0, 0.2), linear(1, 0.7, -0.2), queries_of(), "nDCG").swaps
    with pytest.raises(ValueError, match="batch_rows"):
        explain_change(linear(1, 0, 0.2), linear(1, 0.7, -0.2), queries_of(), "nDCG", batch_rows=0)
