"""How long batches of comparisons take beside loops over scipy.

scipy is timed on a few comparisons at its best batch, and scaled to all of them. Every job is warm and takes
turns with its peers; figures are medians.
Run: python benchmarks/batch.py [--fast] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from resampling import best, installed, scipy_flips, scipy_resamples, seconds

import ranklens as rl
from ranklens.core import MetricResult, QueryIndex
from ranklens.kernels.flip_counts import flip_counts
from ranklens.kernels.ties import comparable

Floats = NDArray[np.float64]
Job = Callable[[], object]

MEASURES = ["nDCG@10", "AP(rel=2)", "RR(rel=2)", "P(rel=2)@10", "R(rel=2)@100", "nDCG"]
SCIPY_SAMPLE = 20
EPS = 2.0**-52


class Size(NamedTuple):
    """How much work a benchmark does."""

    comparisons: int
    queries: int
    draws: int


def deltas_of(size: Size) -> Floats:
    """Return real-valued differences, shape (comparisons, queries)."""
    shape = (size.comparisons, size.queries)
    return np.random.default_rng(size.queries).normal(0.02, 0.3, shape)


def runs_of(deltas: Floats) -> dict[str, MetricResult]:
    """Return a baseline, and a run that differs by each row."""
    queries = QueryIndex([f"q{i:05}" for i in range(deltas.shape[1])])
    zero = np.zeros(deltas.shape[1])
    results = {"baseline": MetricResult.from_arrays("AP", queries, zero)}
    for i, row in enumerate(deltas):
        results[f"run {i}"] = MetricResult.from_arrays("AP", queries, row)
    return results


def medians(jobs: dict[str, Job], rounds: int) -> dict[str, float]:
    """Time the jobs in turn."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for job in jobs.values():
        job()
    for _ in range(rounds):
        for name, job in jobs.items():
            times[name].append(seconds(job))
    return {name: statistics.median(values) for name, values in times.items()}


def loop_over_scipy(deltas: Floats, draws: int, with_bootstrap: bool) -> float:
    """Return the seconds that scipy would take for all rows, from some of them."""
    flip_batch, _ = best(scipy_flips(deltas[0], draws))
    resample_batch, _ = best(scipy_resamples(deltas[0], draws, lambda: None)) if with_bootstrap else (0, None)
    sample = deltas[: min(SCIPY_SAMPLE, len(deltas))]
    start = time.perf_counter()
    for row in sample:
        scipy_flips(row, draws)[flip_batch]()
        if with_bootstrap:
            scipy_resamples(row, draws, lambda: None)[resample_batch]()
    return (time.perf_counter() - start) / len(sample) * len(deltas)


def row(job: str, by: str, value: float, ours: float) -> None:
    """Print a row of the table."""
    print(f"| {job} | {by} | {value:.4g} | {value / ours:.2f} |", flush=True)


def sampled(size: Size, rounds: int) -> None:
    """Flips and resamples of all comparisons, by both doors."""
    deltas = deltas_of(size)
    runs = runs_of(deltas)
    options = {
        "n_permutations": size.draws, "n_resamples": size.draws, "method": "monte-carlo", "correction": None,
    }  # fmt: skip
    times = medians(
        {
            "compare_deltas": lambda: rl.compare_deltas(deltas, **options),
            "compare_many": lambda: rl.compare_many(runs, baseline="baseline", **options),
        },
        rounds,
    )
    title = f"{size.comparisons} x {size.queries} x {size.draws} flips and resamples"
    for name, value in times.items():
        row(title, name, value, times["compare_many"])
    if installed("scipy"):
        scipy = loop_over_scipy(deltas, size.draws, with_bootstrap=True)
        row(title, "scipy, looped", scipy, times["compare_many"])


def flips_beside_a_product(size: Size, rounds: int) -> None:
    """The sign flips alone beside the plain matrix product of their shape."""
    deltas = deltas_of(size)
    sample = comparable(deltas, EPS)
    signs = np.where(np.random.default_rng(0).random((size.draws, size.queries)) < 0.5, -1.0, 1.0)
    times = medians(
        {
            "sign flips": lambda: flip_counts(
                sample, seed=0, resamples=range(size.draws), alternative="two-sided"
            ),
            "plain matrix product": lambda: deltas @ signs.T,
        },
        rounds,
    )
    title = f"{size.comparisons} x {size.queries} x {size.draws} sign flips"
    for name, value in times.items():
        row(title, name, value, times["sign flips"])


def measured(n_runs: int) -> tuple[str, Floats]:
    """Return values (runs, measures, queries), of real runs where RANKLENS_TEST_DATA names their folder."""
    folder = Path(os.environ.get("RANKLENS_TEST_DATA", ".")) / "dl21-passage"
    paths = sorted((folder / "runs").glob("*"))[:n_runs]
    if paths:
        runs = {path.name: path for path in paths}
        return "TREC DL 2021 runs", rl.evaluate_many(runs, folder / "qrels.nist.txt.gz", MEASURES).array
    rng = np.random.default_rng(0)
    values = rng.beta(2.0, 2.0, (n_runs, len(MEASURES), 53)) + rng.normal(0.0, 0.05, (n_runs, 1, 1))
    values[:, 3] = np.round(values[:, 3], 1)
    return "made-up runs", values


def exact(n_runs: int, draws: int, rounds: int) -> None:
    """Exact p-values and intervals of all pairs of runs, beside scipy's random flips alone."""
    name, values = measured(n_runs)
    pairs = [(a, b) for a in range(len(values)) for b in range(a + 1, len(values))]
    first, second = (np.array(column) for column in zip(*pairs, strict=True))
    deltas = np.concatenate([values[second, m] - values[first, m] for m in range(values.shape[1])])
    title = (
        f"exact p and interval, all {len(deltas)} pairs of {len(values)} {name} x {values.shape[1]} measures"
    )
    job = {"compare_deltas": lambda: rl.compare_deltas(deltas, method="exact", correction=None)}
    ours = medians(job, rounds)["compare_deltas"]
    row(title, "compare_deltas", ours, ours)
    if installed("scipy"):
        spaced = deltas[:: max(1, len(deltas) // SCIPY_SAMPLE)]
        scipy = loop_over_scipy(spaced, draws, with_bootstrap=False) / len(spaced) * len(deltas)
        row(title, f"scipy, {draws} flips alone, looped", scipy, ours)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--fast", action="store_true", help="little work, one round: shows that the script works"
    )
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rounds = 1 if options.fast else options.rounds
    print("| job | by | median s | times ranklens |")
    print("| --- | --- | ---: | ---: |")
    sampled(Size(20, 30, 100) if options.fast else Size(1000, 300, 10_000), rounds)
    flips_beside_a_product(Size(20, 70, 100) if options.fast else Size(1000, 2000, 10_000), rounds)
    exact(4 if options.fast else 32, 100 if options.fast else 10_000, rounds)
    if not installed("scipy"):
        print("\nNot installed, so not in the table: scipy")


if __name__ == "__main__":
    main()
