"""Other tools as witnesses, where their definitions are ours; skipped where they are not installed."""

from __future__ import annotations

import numpy as np
import pytest

from ranklens.metrics import evaluate


def collection(seed: int) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """Draw runs and judgements whose scores differ in 32-bit floats."""
    rng = np.random.default_rng(seed)
    names = [f"d{i}" for i in range(60)]
    qrels = {f"q{i}": {d: int(rng.integers(-1, 4)) for d in rng.choice(names, 25, False)} for i in range(30)}
    run = {
        query: dict(
            zip(
                rng.choice(names, 40, False).tolist(),
                rng.permutation(40.0 + np.arange(40)).tolist(),
                strict=True,
            )
        )
        for query in qrels
    }
    return run, qrels


# Canonical trec_eval names, and how pytrec_eval wants them asked for.
TREC_EVAL = {
    "map": "map",
    "map_cut_10": "map_cut.10",
    "ndcg": "ndcg",
    "ndcg_cut_5": "ndcg_cut.5",
    "recip_rank": "recip_rank",
    "P_10": "P.10",
    "recall_20": "recall.20",
    "success_1": "success.1",
    "success_5": "success.5",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "num_ret": "num_ret",
    "num_rel": "num_rel",
    "num_rel_ret": "num_rel_ret",
    "set_P": "set_P",
    "set_recall": "set_recall",
    "set_F": "set_F",
}


@pytest.mark.parametrize("rel", [1, 2])
def test_pytrec_eval_agrees_where_scores_do_not_tie(rel: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    run, qrels = collection(seed=rel)
    witness = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_EVAL.values()), relevance_level=rel).evaluate(
        run
    )
    found = evaluate(run, qrels, list(TREC_EVAL), rel=rel)
    for name in TREC_EVAL:
        for query, value in found[name].per_query.items():
            assert value == pytest.approx(witness[query][name], abs=1e-12), (name, query)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("Judged@10", "Judged@10"),
        ("Judged@100", "Judged@100"),
        ("IPrec@0.2", "IPrec@0.2"),
        ("nDCG@10", "nDCG@10"),
        ("AP(rel=2)", "AP(rel=2)"),
        ("RR(rel=2)", "RR(rel=2)"),
    ],
)
def test_ir_measures_agrees(ours: str, theirs: str) -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    run, qrels = collection(seed=3)
    found = evaluate(run, qrels, ours)[ours]
    for value in ir_measures.iter_calc([ir_measures.parse_measure(theirs)], qrels, run):
        assert found.per_query[value.query_id] == pytest.approx(value.value, abs=1e-12)
