"""A query is the same query whether its id is a number or text, and wherever it is named."""

from __future__ import annotations

import numpy as np
import pytest

import ranklens as rl
from ranklens.core import InsufficientSampleError

N = 40
rng = np.random.default_rng(2)
A, B = rng.random(N), rng.random(N)
TRAFFIC = [1 + i % 4 for i in range(N)]
SESSIONS = [f"s{i // 2}" for i in range(N)]
FIELD = ["x" if i % 2 else "y" for i in range(N)]
IDS = {"text": [str(i) for i in range(N)], "int": list(range(N)), "numpy": list(np.arange(N))}


def keyed(ids, values):
    return dict(zip(IDS[ids], values, strict=True))


def pair(ids):
    return [rl.MetricResult("AP", keyed(ids, values)) for values in (A, B)]


@pytest.mark.parametrize("ids", ["int", "numpy"])
def test_whole_numbers_are_text_in_every_mapping(ids):
    a, b = pair("text")
    for name, values in (("weights", TRAFFIC), ("clusters", SESSIONS)):
        expected = rl.compare(a, b, **{name: keyed("text", values)})
        assert rl.compare(*pair(ids), **{name: keyed(ids, values)}) == expected
        many = rl.compare_many({"A": a, "B": b}, **{name: keyed(ids, values)})
        assert list(many) == list(rl.compare_many({"A": a, "B": b}, **{name: keyed("text", values)}))
        together = rl.simultaneous(many, {"A": a, "B": b}, **{name: keyed(ids, values)})
        assert together[0].simultaneous_low is not None
    by_text = rl.compare_segments(a, b, {"f": keyed("text", FIELD)})
    assert list(rl.compare_segments(a, b, {"f": keyed(ids, FIELD)})) == list(by_text)
    assert rl.compare_segments(a, b, keyed(ids, FIELD))[0].n_queries == N // 2
    gold = [rl.MetricResult("AP", dict(list(result.per_query.items())[:35])) for result in (a, b)]
    ppi = [rl.ppi_compare(a, b, *gold, strata=keyed(kind, [0] * N)) for kind in ("text", ids)]
    assert ppi[0] == ppi[1]


def test_plain_mappings_of_numbers_and_of_text_are_paired():
    queries, deltas = rl.paired_deltas(keyed("int", A), keyed("text", B))
    assert queries == tuple(sorted(IDS["text"]))
    assert deltas.tolist() == rl.paired_deltas(keyed("text", A), keyed("text", B))[1].tolist()


@pytest.mark.parametrize("name", ["weights", "clusters"])
def test_ids_that_are_one_as_text_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} has ids that are the same as text"):
        rl.compare(*pair("text"), **{name: keyed("text", TRAFFIC) | {1: 1}})


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_are_taken_as_mappings(library):
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    exact = [1 / (3 + i % 4) for i in range(N)]
    for name, values in (("weights", exact), ("clusters", SESSIONS)):
        expected = rl.compare(*pair("text"), **{name: keyed("text", values)})
        frame = make({"query_id": IDS["text"], name: values})
        assert rl.compare(*pair("text"), **{name: frame}) == expected
        with pytest.raises(ValueError, match=f"{name} is a frame with 2 columns"):
            rl.compare(*pair("text"), **{name: make({"query_id": IDS["text"], "u": values, "v": values})})


@pytest.mark.parametrize("ids", IDS)
def test_a_series_maps_its_index(ids):
    pandas = pytest.importorskip("pandas")
    for name, values in (("weights", TRAFFIC), ("clusters", SESSIONS)):
        series = pandas.Series(values, index=IDS[ids])
        expected = rl.compare(*pair("text"), **{name: keyed("text", values)})
        assert rl.compare(*pair("text"), **{name: series.iloc[::-1]}) == expected
        with pytest.raises(ValueError, match="twice"):
            rl.compare(*pair("text"), **{name: pandas.concat([series, series])})
    by_text = rl.compare_segments(*pair("text"), keyed("text", FIELD))
    assert list(rl.compare_segments(*pair("text"), pandas.Series(FIELD, index=IDS[ids]))) == list(by_text)


def test_a_comparison_needs_two_queries_and_says_so_at_once():
    one = rl.MetricResult("AP", {"q1": 0.5})
    other = rl.MetricResult("AP", {"q2": 0.5})
    for b, n in ((one, 1), (other, 0)):
        with pytest.raises(InsufficientSampleError, match="at least 2 are needed") as caught:
            rl.compare(one, b)
        assert (caught.value.n, caught.value.minimum) == (n, 2)
