"""Every measure agrees with its definition in plain Python, on every backend and in any batch."""

from __future__ import annotations

import importlib
import tracemalloc
from typing import Any

import measure_oracle
import numpy as np
import pytest
from backends import open_variant
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranklens.arrays import Backend, memory_budget, open_backend
from ranklens.core import QueryIndex
from ranklens.io import Qrels, Run
from ranklens.metrics import padding, parse_measure
from ranklens.metrics.catalogue import CATALOGUE
from ranklens.metrics.measuring import measured_values
from ranklens.metrics.ranking import JudgedPool, JudgedRanking, judged_pool, judged_ranking

# The canonical name, and the name and options of the oracle.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "nDCG": ("nDCG", {}),
    "nDCG@3": ("nDCG", {"k": 3}),
    "nDCG(gain=exp)@5": ("nDCG", {"k": 5, "gain": "exp"}),
    "AP": ("AP", {}),
    "AP(rel=2)": ("AP", {"rel": 2}),
    "AP@4": ("AP", {"k": 4}),
    "RR": ("RR", {}),
    "RR(rel=2)@3": ("RR", {"rel": 2, "k": 3}),
    "P": ("P", {}),
    "P@5": ("P", {"k": 5}),
    "P(rel=0.5)@2": ("P", {"k": 2, "rel": 0.5}),
    "R": ("R", {}),
    "R@3": ("R", {"k": 3}),
    "F1": ("F1", {}),
    "F1@4": ("F1", {"k": 4}),
    "Success": ("Success", {}),
    "Success@1": ("Success", {"k": 1}),
    "Rprec": ("Rprec", {}),
    "Rprec(rel=2)": ("Rprec", {"rel": 2}),
    "bpref": ("bpref", {}),
    "bpref(rel=2)": ("bpref", {"rel": 2}),
    "IPrec@0": ("IPrec", {"r": "0"}),
    "IPrec@0.7": ("IPrec", {"r": "0.7"}),
    "IPrec@1": ("IPrec", {"r": "1"}),
    "RBP(p=0.8)": ("RBP", {}),
    "RBP(p=0.5,rel=2)@3": ("RBP", {"p": 0.5, "rel": 2, "k": 3}),
    "RBP(p=0.9,max_rel=2)@6": ("RBP", {"p": 0.9, "max_rel": 2, "k": 6}),
    "RBPresidual(p=0.8)": ("RBPresidual", {}),
    "RBPresidual(p=0.5)@4": ("RBPresidual", {"p": 0.5, "k": 4}),
    "ERR": ("ERR", {}),
    "ERR(max_rel=4)@3": ("ERR", {"max_rel": 4, "k": 3}),
    "Judged": ("Judged", {}),
    "Judged@3": ("Judged", {"k": 3}),
    "NumRel": ("NumRel", {}),
    "NumRet": ("NumRet", {}),
    "NumRelRet(rel=2)@4": ("NumRelRet", {"rel": 2, "k": 4}),
}
MEASURES = [parse_measure(name) for name in CASES]

documents = st.sampled_from([f"d{i}" for i in range(12)])
grades = st.dictionaries(documents, st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]), min_size=1)
scores = st.dictionaries(documents, st.sampled_from([-1.5, 0.0, 0.25, 1.0, 2.0, 1e9]), min_size=1)
queries = st.sampled_from(["q1", "q2", "q3"])
all_qrels = st.dictionaries(queries, grades, min_size=1)
all_runs = st.lists(st.dictionaries(queries, scores, min_size=1), min_size=1, max_size=3)


def computed(runs: list[Any], qrels: Any, backend: Backend) -> np.ndarray:
    judgements = Qrels.from_dict(qrels)
    pool = judged_pool(judgements)
    rankings = [judged_ranking(Run.from_dict(run), judgements, pool) for run in runs]
    return measured_values(rankings, pool, MEASURES, backend)


def expected(runs: list[Any], qrels: Any) -> np.ndarray:
    max_grade = max(0.0, *(grade for judged in qrels.values() for grade in judged.values()))
    return np.array(
        [
            [
                [
                    measure_oracle.value(
                        name, run.get(query, {}), qrels[query], **options, **_scale(name, max_grade)
                    )
                    for query in sorted(qrels)
                ]
                for name, options in CASES.values()
            ]
            for run in runs
        ]
    )


def _scale(name: str, max_grade: float) -> dict[str, float]:
    return {"max_grade": max_grade} if name == "ERR" else {}


def random_collection(n_queries: int, n_runs: int, seed: int) -> tuple[list[Any], Any]:
    rng = np.random.default_rng(seed)
    names = [f"d{i}" for i in range(40)]
    qrels = {
        f"q{i:03}": {d: float(rng.integers(-1, 4)) for d in rng.choice(names, rng.integers(1, 20), False)}
        for i in range(n_queries)
    }
    runs = [
        {
            query: {d: float(rng.integers(0, 9)) for d in rng.choice(names, rng.integers(1, 30), False)}
            for query in qrels
            if query == "q000" or rng.random() < 0.9
        }
        for _ in range(n_runs)
    ]
    return runs, qrels


def test_the_cases_cover_every_measure() -> None:
    assert {name for name, _ in CASES.values()} == {definition.name for definition in CATALOGUE}
    assert [measure.name for measure in MEASURES] == list(CASES)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(all_runs, all_qrels)
def test_measures_agree_with_their_definitions_on_any_small_collection(runs: list[Any], qrels: Any) -> None:
    runs = [run for run in runs if set(run) & set(qrels)]
    if runs:
        np.testing.assert_allclose(
            computed(runs, qrels, open_backend("numpy")), expected(runs, qrels), atol=1e-12, rtol=0
        )


def test_measures_agree_with_their_definitions_on_every_backend(backend: Backend) -> None:
    runs, qrels = random_collection(n_queries=12, n_runs=3, seed=1)
    found = computed(runs, qrels, backend)
    np.testing.assert_allclose(found, expected(runs, qrels), atol=1e-12, rtol=0)


def test_backends_agree_to_the_last_bits(backend: Backend) -> None:
    runs, qrels = random_collection(n_queries=12, n_runs=2, seed=2)
    found = computed(runs, qrels, backend)
    np.testing.assert_allclose(found, computed(runs, qrels, open_backend("numpy")), atol=2e-16, rtol=2e-16)


@pytest.mark.parametrize("name", ["numpy", "array_api_strict"])
def test_batches_change_no_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, qrels = random_collection(n_queries=30, n_runs=3, seed=3)
    whole = computed(runs, qrels, open_backend(name))
    for cached in (1, 100, 1000):
        monkeypatch.setattr(padding, "_CACHED_ELEMENTS", cached)
        np.testing.assert_array_equal(computed(runs, qrels, open_backend(name)), whole)
    for run, values in zip(runs, whole, strict=True):
        np.testing.assert_array_equal(computed([run], qrels, open_backend(name))[0], values)


def test_a_smaller_memory_budget_changes_no_bit(backend: Backend) -> None:
    runs, qrels = random_collection(n_queries=150, n_runs=4, seed=4)
    whole = computed(runs, qrels, backend)
    with memory_budget(2**20):
        np.testing.assert_array_equal(computed(runs, qrels, backend), whole)


def test_every_measure_stays_within_the_memory_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(padding, "_CACHED_ELEMENTS", 2**60)
    n_queries, n_judged, n_runs = 2000, 40, 6
    ids = QueryIndex([f"q{i:04}" for i in range(n_queries)])
    rows = np.repeat(np.arange(n_queries), n_judged)
    grades = np.tile(np.arange(n_judged, 0.0, -1.0) % 5, n_queries)
    pool = JudgedPool(ids, rows, grades, lookup=None)  # type: ignore[arg-type]
    ranks = np.tile(np.arange(n_judged) * 7, n_queries)
    lengths, answered = np.full(n_queries, 1000), np.ones(n_queries, dtype=bool)
    ranking = JudgedRanking(ids, lengths, answered, rows, ranks, grades, 0)
    budget = 4 * 2**20
    for measure in MEASURES:
        with memory_budget(budget):
            tracemalloc.start()
            values = measured_values([ranking] * n_runs, pool, [measure], open_backend("numpy"))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak - values.nbytes < budget, measure.name


def test_every_measure_compiles_on_jax() -> None:
    backend = open_variant("jax")
    jax = importlib.import_module("jax")
    runs, qrels = random_collection(n_queries=5, n_runs=2, seed=7)
    judgements = Qrels.from_dict(qrels)
    pool = judged_pool(judgements)
    rankings = [judged_ranking(Run.from_dict(run), judgements, pool) for run in runs]
    one_of_each = {measure.definition.name: measure for measure in MEASURES}
    with backend.precise():
        for batch in padding.padded_batches(rankings, pool, None, backend):
            for measure in one_of_each.values():
                np.testing.assert_allclose(jax.jit(measure)(batch.arrays), measure(batch.arrays), rtol=1e-14)


def test_one_query_alone_has_the_value_it_has_among_others() -> None:
    runs, qrels = random_collection(n_queries=20, n_runs=1, seed=6)
    whole = computed(runs, qrels, open_backend("numpy"))
    scale = parse_measure("ERR")
    for i, query in enumerate(sorted(qrels)):
        if query in runs[0]:
            alone = computed([{query: runs[0][query]}], {query: qrels[query]}, open_backend("numpy"))
            same = [m for m, measure in enumerate(MEASURES) if measure.name != scale.name]
            np.testing.assert_array_equal(alone[0, same, 0], whole[0, same, i])
