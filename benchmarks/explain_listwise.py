"""`listwise` beside scikit-learn's `permutation_importance`, on LightGBM's own ranking example.

A lambdarank model of 100 trees is trained on the example's training part; each tool shuffles every one of its
301 features ten times on the test part (768 documents of 50 queries) and measures nDCG@10. scikit-learn
shuffles over all documents together, and its scorer calls `ndcg_score` for each query. A generated collection
of the same shape stands in where the example's files are not found. Run: python
benchmarks/explain_listwise.py [--fast] [--data FOLDER] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ranklens.explain import CallableAdapter, QueryFeatures, adapt, listwise, read_letor

MEASURE = "nDCG@10"
CHECKOUT = Path(__file__).resolve().parents[1]
PARAMETERS = {
    "objective": "lambdarank",
    "num_leaves": 31,
    "learning_rate": 0.1,
    "min_data_in_leaf": 50,
    "min_sum_hessian_in_leaf": 5.0,
    "verbose": -1,
    "num_threads": 0,
}

Queries = Sequence[QueryFeatures]


def example(folder: Path) -> tuple[Queries, Queries]:
    """Return the training and the test part; LightGBM counts its features from 0."""
    train = read_letor(folder / "rank.train.gz", first=0)
    return train, read_letor(folder / "rank.test.gz", first=0, n_features=train[0].n_features)


def generated() -> tuple[Queries, Queries]:
    """Make queries of the same shape, whose features are mostly 0."""
    generator = np.random.default_rng(0)

    def part(n_queries: int) -> list[QueryFeatures]:
        queries = []
        for i in range(n_queries):
            n = int(generator.integers(5, 26))
            features = np.round(generator.random((n, 301)) * (generator.random((n, 301)) < 0.35), 2)
            grades = np.digitize(features[:, :8].sum(axis=1), [1.0, 1.7, 2.4, 3.0])
            queries.append(QueryFeatures.of(i, range(n), features, grades.tolist()))
        return queries

    return part(200), part(50)


def first_features(queries: Queries, n: int) -> Queries:
    """Return the queries with their first `n` features."""
    return [QueryFeatures.of(q.query_id, q.documents, q.features[:, :n], q.grades) for q in queries]


def rows_and_grades(queries: Queries) -> tuple[Any, Any, list[int]]:
    """Return all rows, all grades, and how many documents each query has."""
    rows = np.concatenate([query.features for query in queries])
    grades = np.concatenate([[query.grades[d] for d in query.documents] for query in queries])
    return rows, grades, [len(query.documents) for query in queries]


def peer(booster: Any, queries: Queries, n_repeats: int) -> Any:
    """Let scikit-learn do it."""
    from sklearn.base import BaseEstimator
    from sklearn.inspection import permutation_importance
    from sklearn.metrics import ndcg_score

    class Ranker(BaseEstimator):
        def fit(self, rows: Any, grades: Any) -> Ranker:
            return self

        def predict(self, rows: Any) -> Any:
            return booster.predict(rows)

    rows, grades, sizes = rows_and_grades(queries)
    edges = np.cumsum([0, *sizes])

    def scorer(ranker: Ranker, shuffled: Any, truth: Any) -> float:
        scores = ranker.predict(shuffled)
        spans = [slice(start, stop) for start, stop in pairwise(edges) if stop > start + 1]
        values = [ndcg_score(truth[None, span], scores[None, span], k=10) for span in spans]
        return float(np.mean(values))

    found = permutation_importance(
        Ranker(), rows, grades, scoring=scorer, n_repeats=n_repeats, random_state=0, n_jobs=1
    )
    return found.importances_mean


def seconds(job: Callable[[], Any], rounds: int) -> float:
    """Return the median time of a job that has run once before."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--fast", action="store_true", help="one repeat, 30 features: shows that the script works"
    )
    parser.add_argument("--data", type=Path, help="the folder with rank.train.gz and rank.test.gz")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    import lightgbm

    root = Path(os.environ.get("RANKLENS_TEST_DATA", CHECKOUT.parent / "shared" / "data"))
    folder = options.data or root / "ltr-lightgbm-lambdarank"
    found = (folder / "rank.train.gz").is_file()
    train, test = example(folder) if found else generated()
    if options.fast:
        train, test = first_features(train, 30), first_features(test, 30)
    rows, grades, sizes = rows_and_grades(train)
    data = lightgbm.Dataset(rows, grades, group=sizes)
    booster = lightgbm.train(PARAMETERS, data, 10 if options.fast else 100)
    n_repeats, rounds = (1, 1) if options.fast else (10, options.rounds)
    function = CallableAdapter(booster.predict, booster.feature_name())
    model = adapt(booster)
    jobs: dict[str, Callable[[], Any]] = {
        "ranklens, the trees known": lambda: listwise(model, test, MEASURE, n_repeats=n_repeats),
        "ranklens, any function": lambda: listwise(function, test, MEASURE, n_repeats=n_repeats),
        "scikit-learn": lambda: peer(booster, test, n_repeats),
    }
    for name in list(jobs)[:2]:
        jobs[name]()
    times = {name: seconds(job, 1 if name == "scikit-learn" else rounds) for name, job in jobs.items()}
    source = "LightGBM's example" if found else "generated queries"
    print(f"{source}, {len(test)} queries, {rows.shape[1]} features, {n_repeats} repeats, {MEASURE}\n")
    print("| tool | seconds | times faster than scikit-learn |")
    print("| --- | ---: | ---: |")
    for name, value in times.items():
        print(f"| {name} | {value:.2f} | {times['scikit-learn'] / value:.1f} |")


if __name__ == "__main__":
    main()
