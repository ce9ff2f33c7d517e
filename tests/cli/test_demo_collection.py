"""The generated collection is the same everywhere and tells the story that the demo needs."""

import hashlib

import numpy as np
import pytest

import ranklens
from ranklens.io.synthetic import SYSTEMS, UNANSWERED, UNJUDGED_SHARE, demo_collection


@pytest.fixture(scope="module")
def collection():
    return demo_collection()


@pytest.fixture(scope="module")
def evaluations(collection):
    return ranklens.evaluate_many(collection.runs, collection.qrels, ["nDCG@10"])


def fingerprint(collection) -> str:
    digest = hashlib.sha256()
    for name, pairs in (("qrels", collection.qrels), *collection.runs.items()):
        for query, documents in pairs.items():
            rows = [f"{name} {query} {document} {value!r}" for document, value in sorted(documents.items())]
            digest.update("\n".join(rows).encode())
    digest.update(repr(collection.segments).encode())
    return digest.hexdigest()


def test_seed_0_is_the_same_on_every_machine(collection):
    assert fingerprint(collection) == "1dd8460121acbc211d26ad3b7f51ac189ed7784b2f99e6f31f06f07090940b38"


def test_another_seed_is_another_collection_of_the_same_kind(collection):
    other = demo_collection(1)
    assert fingerprint(other) != fingerprint(collection)
    assert list(other.runs) == list(collection.runs)
    assert other.qrels.query_ids == collection.qrels.query_ids


def test_judgements_are_graded_and_have_holes(collection):
    grades = [grade for documents in collection.qrels.values() for grade in documents.values()]
    assert set(grades) == {0.0, 1.0, 2.0, 3.0}
    assert len(grades) / 6000 == pytest.approx(1 - UNJUDGED_SHARE, abs=0.02)
    retrieved = collection.runs["rerank"]["q001"]
    assert set(retrieved) - set(collection.qrels["q001"])


def test_counts_are_worth_looking_at(collection, evaluations):
    assert evaluations["dense"].n_not_retrieved == len(UNANSWERED) == 3
    assert evaluations["hybrid"].n_unjudged == 1
    assert evaluations["bm25"].n_without_relevant == 1
    assert collection.runs["bm25"].query_ids == collection.qrels.query_ids


def test_the_systems_are_in_the_order_of_their_quality(evaluations):
    means = [evaluations[name]["nDCG@10"].mean for name in SYSTEMS]
    assert means == sorted(means)


def test_the_order_of_quality_holds_over_many_seeds():
    collections = [demo_collection(seed) for seed in range(10)]
    tables = [ranklens.evaluate_many(c.runs, c.qrels, ["nDCG@10"]) for c in collections]
    means = np.array([[table[name]["nDCG@10"].mean for name in SYSTEMS] for table in tables]).mean(axis=0)
    assert (np.diff(means) > 0).all()


def test_the_best_system_loses_in_one_segment_and_the_weakest_ones_cannot_be_told_apart(
    collection, evaluations
):
    best = ranklens.compare_many(
        {name: evaluations[name] for name in ("bm25", "rerank")},
        baseline="bm25",
        segments=collection.segments,
    )
    lost = [row.segment for row in best if row.significant and row.delta < 0]
    assert lost == ["language=de"]
    assert all(row.tested for row in best)
    twins = ranklens.compare(
        evaluations["bm25"]["nDCG@10"], evaluations["bm25_prf"]["nDCG@10"], method="exact"
    )
    assert not twins.significant


def test_files_hold_the_same_collection(collection, tmp_path):
    collection.write(tmp_path)
    assert ranklens.read_qrels(tmp_path / "qrels.txt").to_dict() == collection.qrels.to_dict()
    for name, run in collection.runs.items():
        assert ranklens.read_run(tmp_path / f"{name}.run").to_dict() == run.to_dict()
    segments = ranklens.read_segments(tmp_path / "segments.csv")
    assert {field: dict(segments[field]) for field in segments} == collection.segments
