"""The measure after each swap of a path is that of the whole ranking at that moment."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.arrays import open_backend
from ranklens.explain import QueryFeatures, adapt, explain_change
from ranklens.explain.crossings import crossings, ranked
from ranklens.explain.queries import stacked
from ranklens.explain.ranking import Ranker
from ranklens.explain.states import values_on_path
from ranklens.metrics.names import parse_measure

MEASURES = (
    "nDCG",
    "nDCG@3",
    "AP",
    "AP(rel=2)@4",
    "RR",
    "P@2",
    "R@3",
    "ERR",
    "RBP",
    "bpref",
    "Judged@3",
    "Rprec",
)
NAMES = ("x", "y")


def query_of(generator, n, judged):
    documents = [f"d{i:04d}" for i in range(n)]
    grades = {d: int(generator.integers(0, 4)) for d in documents if generator.random() < judged}
    return QueryFeatures.of(
        "q", documents, generator.normal(size=(n, 2)).round(1), {**grades, "elsewhere": 1}
    )


@pytest.mark.parametrize("measure", MEASURES)
@given(st.integers(0, 2**32), st.integers(1, 12), st.sampled_from([0.0, 0.4, 1.0]))
def test_each_swap_is_measured_as_the_whole_ranking_is(measure, seed, n, judged):
    generator = np.random.default_rng(seed)
    stack = stacked([query_of(generator, n, judged)], NAMES)
    ranker = Ranker(stack, parse_measure(measure), open_backend("numpy"))
    a, b = stack.host.T
    path = crossings(a, b)
    effective = {i for i in range(len(path)) if generator.random() < 0.7}
    found = values_on_path(ranker, 0, ranked(a), path, effective)

    ranking, expected = ranked(a).tolist(), []
    for i, swap in enumerate([None, *path], -1):
        if swap is not None:
            ranking[swap.rank : swap.rank + 2] = [swap.risen, swap.fallen]
        if swap is None or i in effective:
            slots = np.argsort(ranking)[None, :]
            places = np.append(-np.arange(float(n)), -np.inf)
            (values,) = ranker.values(places, np.asarray([0]), [slots])
            expected.append(values[0, 0])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("measure", ["AP", "nDCG"])
def test_the_rankings_on_the_way_are_never_held_all_at_once(measure):
    query = query_of(np.random.default_rng(0), 400, 1.0)
    models = [adapt(lambda x, w=w: x @ w, NAMES) for w in (np.asarray([1.0, 0.0]), np.asarray([0.3, 1.0]))]
    tracemalloc.start()
    try:
        found = explain_change(*models, [query], measure, max_swaps=10)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found.swaps) > 10_000
    # Each ranking would take 400 times 8 bytes; a swap as an object takes a few hundred.
    assert peak < 500 * found.n_swaps
