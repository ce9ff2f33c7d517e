"""What cannot be compared is refused in words that say what to give instead."""

from __future__ import annotations

import numpy as np
import pytest

import ranklens as rl
from ranklens.core import UnknownNameError

N = 30
rng = np.random.default_rng(5)
IDS = [f"q{i}" for i in range(N)]


def result(metric="AP", shift=0.0):
    return rl.MetricResult(metric, dict(zip(IDS, rng.random(N) + shift, strict=True)))


A, B = result(), result(shift=0.5)


@pytest.mark.parametrize("runs", [{"A": dict(A.per_query), "B": B}, {"A": A, "B": dict(B.per_query)}])
def test_plain_mappings_of_values_need_a_measure(runs):
    with pytest.raises(TypeError, match=r"got \w+ for run [AB]; .*MetricResult\('nDCG@10', values\)"):
        rl.compare_many(runs)


def test_measures_over_values_go_by_any_spelling():
    expected = list(rl.compare_many({"A": A, "B": B}))
    assert list(rl.compare_many({"A": A, "B": B}, measures="map")) == expected
    with pytest.raises(UnknownNameError, match="run B holds RR; all must be of one measure"):
        rl.compare_many({"A": A, "B": result("RR")})


@pytest.mark.parametrize("call", [rl.compare, lambda a, b, **more: rl.compare_many({"a": a, "b": b}, **more)])
def test_names_of_clusters_can_be_looked_up(call):
    with pytest.raises(ValueError, match=r"clusters has .* as the name of q"):
        call(A, B, clusters={query: [query] for query in IDS})


def test_no_tests_beside_are_none():
    assert rl.compare(A, B, beside=None) == rl.compare(A, B)
    with pytest.raises(ValueError, match="beside must be one of t, wilcoxon"):
        rl.compare(A, B, beside=3)


@pytest.mark.parametrize("wrong", ["none", "bonferroni", ["bh"]])
def test_no_correction_is_among_the_choices(wrong):
    with pytest.raises(ValueError, match="maxt or None, got"):
        rl.compare_many({"A": A, "B": B}, correction=wrong)
    with pytest.raises(ValueError, match="maxt or None, got"):
        rl.compare_deltas(np.ones((2, 20)), correction=wrong)


@pytest.mark.parametrize("deltas", [(x for x in [0.1, 0.2]), {0.1, 0.2}, {"q1": 0.1, "q2": 0.2}, iter([0.1])])
def test_what_is_no_sequence_is_called_by_its_name(deltas):
    with pytest.raises(ValueError, match=f"got {type(deltas).__name__};"):
        rl.permutation_test(deltas)


def test_arrays_of_objects_are_to_be_converted():
    with pytest.raises(ValueError, match="dtype=float"):
        rl.permutation_test(np.array([0.1, 0.2], dtype=object))


def test_the_best_is_sought_among_comparisons_on_all_queries():
    field = {query: "few" if i < 5 else "rest" for i, query in enumerate(IDS)}
    large = {query: value + (5.0 if i < 5 else 0.2) for i, (query, value) in enumerate(A.per_query.items())}
    runs = {"A": A, "B": rl.MetricResult("AP", large)}
    table = rl.compare_many(runs, segments={"f": field}, min_queries=5, correction=None, alpha=0.1)
    assert table.best("AP").segment is None
    by_segment = table.filter(lambda row: row.segment is not None)
    assert by_segment.best("AP").segment == "f=few"


def test_a_table_of_arrays_gives_some_of_its_rows():
    deltas = rng.normal(0.2, 1.0, (6, N))
    table = rl.compare_deltas(deltas, beside="t", correction="maxt")
    for rows in (slice(1, 4), table.delta > 0, [4, 0]):
        some = table[rows]
        assert some.p_value.tolist() == table.p_value[rows].tolist()
        assert (some.seed, some.q_permutations, len(some.p_t)) == (0, 10_000, len(some))
    assert len(table[[]]) == 0
    with pytest.raises(TypeError, match="slice, booleans or places"):
        table[0]
