"""How long batches of comparisons take beside loops over scipy, and in how much memory.

scipy is timed on a few comparisons in turns with ours, at every one of several batch sizes, and scaled to all
of them at the best. Every job is warm and takes turns with its peers; figures are medians.
Run: python benchmarks/batch.py [--fast] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from resampling import installed, scipy_flips, scipy_resamples, seconds

import ranklens as rl
from ranklens.arrays import budget_bytes
from ranklens.core import MetricResult, QueryIndex
from ranklens.kernels.flip_counts import flip_counts
from ranklens.kernels.ties import comparable

Floats = NDArray[np.float64]
Job = Callable[[], object]

MEASURES = ["nDCG@10", "AP(rel=2)", "RR(rel=2)", "P(rel=2)@10", "R(rel=2)@100", "nDCG"]
SCIPY_SAMPLE = 20
EPS = 2.0**-52
MIB = 2**20


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


class ScipyLoop:
    """What a loop of scipy's calls over all rows takes, from calls on some of them at every batch size."""

    def __init__(self, deltas: Floats, draws: int, with_bootstrap: bool) -> None:
        self.n_rows = len(deltas)
        self.sample = deltas[:: max(1, len(deltas) // SCIPY_SAMPLE)][:SCIPY_SAMPLE]
        self.draws, self.with_bootstrap = draws, with_bootstrap
        self.times: dict[tuple[str, int], list[float]] = {}

    def time_some(self, turn: int, turns: int) -> None:
        """Time the rows whose turn it is, each call after a warm one."""
        for row in self.sample[turn::turns]:
            kinds = {"flips": scipy_flips(row, self.draws)}
            if self.with_bootstrap:
                kinds["resamples"] = scipy_resamples(row, self.draws, lambda: None)
            for kind, jobs in kinds.items():
                for batch, job in jobs.items():
                    self.times.setdefault((kind, batch), []).append(min(seconds(job), seconds(job)))

    def seconds_of_all(self) -> float:
        """Return the seconds for all rows, each kind of call at its best batch size."""
        best: dict[str, float] = {}
        for (kind, _), values in self.times.items():
            best[kind] = min(best.get(kind, float("inf")), statistics.mean(values))
        return self.n_rows * sum(best.values())


def row(job: str, by: str, value: float, ours: float) -> None:
    """Print a row of the table."""
    print(f"| {job} | {by} | {value:.4g} | {value / ours:.2f} |", flush=True)


def medians(jobs: dict[str, Job], rounds: int, loop: ScipyLoop | None = None) -> dict[str, float]:
    """Time the jobs in turn, and a loop over scipy with them."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for job in jobs.values():
        job()
    for turn in range(rounds):
        for name, job in jobs.items():
            times[name].append(seconds(job))
        if loop is not None:
            loop.time_some(turn, rounds)
    return {name: statistics.median(values) for name, values in times.items()}


def on_jax(job: Job) -> Job:
    """Do a job where its values are brought to JAX."""

    def wrapped() -> object:
        with rl.use_backend("jax"):
            return job()

    return wrapped


def sampled(size: Size, rounds: int) -> None:
    """Flips and resamples of all comparisons, by both doors."""
    deltas = deltas_of(size)
    runs = runs_of(deltas)
    options = {
        "n_permutations": size.draws, "n_resamples": size.draws, "method": "monte-carlo", "correction": None,
    }  # fmt: skip
    loop = ScipyLoop(deltas, size.draws, with_bootstrap=True) if installed("scipy") else None
    jobs: dict[str, Job] = {
        "compare_many": lambda: rl.compare_many(runs, baseline="baseline", **options),
        "compare_deltas": lambda: rl.compare_deltas(deltas, **options),
    }
    if installed("jax"):
        import jax

        with jax.enable_x64(True):
            on_device = jax.numpy.asarray(deltas)
        jobs["compare_many, jax"] = on_jax(lambda: rl.compare_many(runs, baseline="baseline", **options))
        jobs["compare_deltas, jax"] = lambda: rl.compare_deltas(on_device, **options)
    times = medians(jobs, rounds, loop)
    if loop is not None:
        times["scipy, looped"] = loop.seconds_of_all()
    title = f"{size.comparisons} x {size.queries} x {size.draws} flips and resamples"
    for name, value in times.items():
        row(title, name, value, times["compare_many"])


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
    loop = ScipyLoop(deltas, draws, with_bootstrap=False) if installed("scipy") else None
    job = {"compare_deltas": lambda: rl.compare_deltas(deltas, method="exact", correction=None)}
    ours = medians(job, rounds, loop)["compare_deltas"]
    row(title, "compare_deltas", ours, ours)
    if loop is not None:
        row(title, f"scipy, {draws} flips alone, looped", loop.seconds_of_all(), ours)


def memory(comparisons: int, queries: int, draws: tuple[int, ...]) -> None:
    """What a batch holds beside its differences: as much for any number of flips."""
    deltas = np.random.default_rng(0).normal(0.02, 0.3, (comparisons, queries))
    print(f"\n| {comparisons} x {queries} | peak MiB beside the differences | memory budget, MiB |")
    print("| --- | ---: | ---: |")
    for n_flips in draws:
        sample = comparable(deltas[:1], EPS)._replace(values=deltas, factor=np.ones(comparisons))
        sample = sample._replace(band=np.zeros(comparisons))
        tracemalloc.start()
        flip_counts(sample, seed=0, resamples=range(n_flips), alternative="two-sided")
        flips = tracemalloc.get_traced_memory()[1] / MIB
        tracemalloc.reset_peak()
        rl.compare_deltas(
            deltas, n_permutations=n_flips, n_resamples=n_flips, method="monte-carlo", correction=None
        )
        both = tracemalloc.get_traced_memory()[1] / MIB
        tracemalloc.stop()
        for name, peak in (("flips", flips), ("flips and resamples", both)):
            print(f"| {n_flips} {name} | {peak:.0f} | {budget_bytes() / MIB:.0f} |", flush=True)


def main() -> None:
    """Print the tables."""
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
    memory(*(100, 200, (16, 64)) if options.fast else (10_000, 7000, (64, 512)))
    if not installed("scipy"):
        print("\nNot installed, so not in the table: scipy")


if __name__ == "__main__":
    main()
