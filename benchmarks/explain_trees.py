"""The closed form for tree ensembles beside `shap.TreeExplainer`, on LightGBM's own ranking example.

A lambdarank model of 100 trees and 301 features; 1,000 pairs: in each query A is the document that the model
puts first, and B each of the others. shap needs an explainer for every A, made beforehand and not counted;
its `shap_values` is called as it comes, once a pair, once a query with all its B, and with a single A for all
B, which is its best case and another question. shap rounds thresholds to single precision and then refuses
rows that lie on them, so .002 is added to all features, which are multiples of .01. All take turns; medians,
by the clock and of the time of all cores, which a busy machine disturbs less.
With --backend the pairs are also explained on the device of that library, where their rows lie. A generated
collection stands in where the example is not found.
Run: python benchmarks/explain_trees.py [--fast] [--data FOLDER] [--rounds N] [--backend NAME]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from explain_listwise import (
    CHECKOUT,
    PARAMETERS,
    Queries,
    example,
    first_features,
    generated,
    rows_and_grades,
)
from numpy.typing import NDArray

from ranklens.arrays import current_backend, open_backend
from ranklens.explain import adapt, pairwise_many
from ranklens.explain.trees import tree_contributions

Floats = NDArray[np.float64]
OFF_THE_THRESHOLDS = 0.002


def top_pairs(booster: Any, queries: Queries, n: int) -> list[tuple[Floats, Floats]]:
    """Return for each query its top document, shape (1, k), and the others, until there are `n` pairs."""
    found, left = [], n
    for query in queries:
        rows = query.features + OFF_THE_THRESHOLDS
        top = int(np.argmax(booster.predict(rows)))
        others = np.delete(rows, top, axis=0)[:left]
        if len(others):
            found.append((rows[top : top + 1], others))
            left -= len(others)
        if not left:
            break
    return found


def shap_jobs(booster: Any, pairs: list[tuple[Floats, Floats]], b: Floats) -> dict[str, Callable[[], Any]]:
    """Return shap's ways to explain the pairs."""
    import shap

    explainers = [shap.TreeExplainer(booster, a, feature_perturbation="interventional") for a, _ in pairs]
    each = list(zip(explainers, (others for _, others in pairs), strict=True))
    few = each[:8]
    n_few = sum(len(others) for _, others in few)

    def one_by_one() -> list[Any]:
        return [
            explainer.shap_values(others[i : i + 1]) for explainer, others in few for i in range(len(others))
        ]

    one_by_one.n_pairs = n_few  # type: ignore[attr-defined]
    return {
        "shap, a call a pair": one_by_one,
        "shap, a call a query": lambda: np.concatenate([e.shap_values(others) for e, others in each]),
        "shap, one A for all": lambda: explainers[0].shap_values(b),
    }


def device_job(name: str, model: Any, a: Floats, b: Floats) -> dict[str, Callable[[], Any]]:
    """Return the job of explaining rows that lie on a device."""
    backend = open_backend(name)
    with backend.precise():
        there = [backend.asarray(rows) for rows in (a, b)]
    return {f"ranklens, `pairwise_many`, {name} on {backend.device}": lambda: pairwise_many(model, *there)}


def times(jobs: dict[str, Callable[[], Any]], n_pairs: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Return the median microseconds a pair of each job, by the clock and of all cores; they take turns."""
    for job in jobs.values():
        job()
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            start, cores = time.perf_counter(), time.process_time()
            job()
            spent = time.perf_counter() - start, time.process_time() - cores
            n = getattr(job, "n_pairs", n_pairs)
            taken[name].append((spent[0] / n * 1e6, spent[1] / n * 1e6))
    return {
        name: (statistics.median(wall for wall, _ in values), statistics.median(cpu for _, cpu in values))
        for name, values in taken.items()
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--fast", action="store_true", help="20 pairs, 30 features: shows that the script works"
    )
    parser.add_argument("--data", type=Path, help="the folder with rank.train.gz and rank.test.gz")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--backend", help="jax, torch or cupy: explain there as well")
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
    pairs = top_pairs(booster, [*test, *train], 20 if options.fast else 1000)
    a = np.concatenate([np.repeat(top, len(others), axis=0) for top, others in pairs])
    b = np.concatenate([others for _, others in pairs])

    model = adapt(booster)
    trees, backend = model.trees(), current_backend()
    jobs: dict[str, Callable[[], Any]] = {
        "ranklens, `tree_contributions`": lambda: tree_contributions(trees, a, b, backend),
        "ranklens, `pairwise_many`": lambda: pairwise_many(model, a, b),
    }
    if options.backend is not None:
        jobs |= device_job(options.backend, model, a, b)
    with_shap = importlib.util.find_spec("shap") is not None
    if with_shap:
        jobs |= shap_jobs(booster, pairs, b)
    taken = times(jobs, len(b), 1 if options.fast else options.rounds)
    print(f"{'LightGBM example' if found else 'generated queries'}: {len(b)} pairs of {len(pairs)} queries, ")
    print(f"{trees.n_trees} trees, {trees.paths.value.size} leaves, {rows.shape[1]} features\n")
    print("| | µs a pair | of `pairwise_many` | µs of all cores | of `pairwise_many` |")
    print("| --- | ---: | ---: | ---: | ---: |")
    whole = taken["ranklens, `pairwise_many`"]
    for name, (wall, cores) in taken.items():
        print(f"| {name} | {wall:.1f} | {wall / whole[0]:.1f} | {cores:.1f} | {cores / whole[1]:.1f} |")
    report_errors(jobs, booster, a, b)
    if not with_shap:
        print("\nleft out: shap is not installed")


def report_errors(jobs: dict[str, Callable[[], Any]], booster: Any, a: Floats, b: Floats) -> None:
    """Say how far the sums are from the model's own differences, and shap's values from these."""
    names = iter(jobs)
    phi = jobs[next(names)]()
    score_a, score_b = booster.predict(a), booster.predict(b)
    largest = np.maximum(np.abs(score_a), np.abs(score_b))
    off = np.abs(phi.sum(axis=1) - (score_b - score_a)) / largest
    print(f"\nlargest error of a sum, relative to the larger score: {off.max():.1e}")
    if "shap, a call a query" in jobs:
        print(
            f"largest difference from shap's values: {np.abs(jobs['shap, a call a query']() - phi).max():.1e}"
        )


if __name__ == "__main__":
    main()
