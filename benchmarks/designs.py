"""How long batches take under weights, clusters and margins, with other intervals, and a team's whole table.

The batch takes turns with single calls on a few of its rows, which are scaled to all of them; figures are
medians of the process's time on all cores, so that a busy machine stretches both alike.
Run: python benchmarks/designs.py [--fast] [--rounds N]
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ranklens as rl
from ranklens.core import CoarsePValueWarning, MetricResult, QueryIndex
from ranklens.core.evaluation import Evaluation

Floats = NDArray[np.float64]
Job = Callable[[], object]

ALONE = 2
"""How many rows are compared by single calls."""


def cpu_seconds(job: Job) -> float:
    """Time a call by what it takes of the processor, all threads together."""
    start = time.process_time()
    job()
    return time.process_time() - start


def designs(n: int) -> dict[str, dict[str, Any]]:
    """Return what is asked of a batch of `n` queries."""
    rng = np.random.default_rng(n)
    weights, clusters = rng.lognormal(0.0, 0.7, n), rng.integers(0, max(2, n // 2), n)
    return {
        "plain": {},
        "a margin": {"margin": 0.01},
        "weights": {"weights": weights},
        "clusters": {"clusters": clusters},
        "weights and clusters": {"weights": weights, "clusters": clusters},
        "bca": {"interval": "bca"},
        "studentized": {"interval": "studentized", "method": "monte-carlo"},
    }


def alone(deltas: Floats, method: str, asked: dict[str, Any], draws: int) -> None:
    """Compare rows by single calls."""
    sample = {name: asked[name] for name in ("weights", "clusters") if name in asked}
    for row in deltas:
        rl.permutation_test(row, method=method, margin=asked.get("margin"), n_permutations=draws, **sample)
        rl.paired_bootstrap(
            row, method=method, interval=asked.get("interval", "percentile"), n_resamples=draws, **sample
        )


def beside_single_calls(rows: int, n: int, draws: int, rounds: int) -> None:
    """Print how much faster a batch is than single calls on its rows."""
    deltas = np.random.default_rng(0).normal(0.005, 0.2, (rows, n))
    for method in ("monte-carlo", "auto"):
        for name, asked in designs(n).items():
            if asked.get("method", method) != method:
                continue
            options = {"method": method, "n_resamples": draws, "n_permutations": draws} | asked
            jobs: dict[str, Job] = {
                "batch": partial(rl.compare_deltas, deltas, correction=None, **options),
                "alone": partial(alone, deltas[:ALONE], options["method"], asked, draws),
            }
            times: dict[str, list[float]] = {job: [] for job in jobs}
            for _ in range(rounds + 1):
                for job, taken in times.items():
                    taken.append(cpu_seconds(jobs[job]))
            # The first round warms up.
            batch, calls = (statistics.median(times[job][1:]) for job in ("batch", "alone"))
            label = f"{rows} x {n}, {options['method']}, {name}"
            ratio = calls * rows / ALONE / batch
            print(f"| {label} | {batch:.3f} | {1e3 * batch / rows:.2f} | {ratio:.1f} |", flush=True)


def team(runs: int, measures: int, segments: int, n: int) -> None:
    """Print how long the table of a team takes: runs against the first, by measure and segment."""
    evaluations, by_segment, weights = experiment(runs, measures, segments, n)
    rows = (runs - 1) * measures * (1 + segments)
    table = f"{runs} runs x {measures} measures x {segments} segments, {n} queries, {rows} rows"
    jobs = {"auto": ("auto", None), "auto, weights": ("auto", weights), "monte-carlo": ("monte-carlo", None)}
    for name, (method, weighing) in jobs.items():
        asked = {"baseline": "run 0", "segments": {"segment": by_segment}, "weights": weighing}
        start = time.perf_counter()
        taken = cpu_seconds(partial(rl.compare_many, evaluations, method=method, **asked))
        wall = time.perf_counter() - start
        print(
            f"| {table}, {name}; {wall:.1f} s in all | {taken:.3f} | {1e3 * taken / rows:.2f} | |", flush=True
        )
    found = rl.compare_many(evaluations, baseline="run 0", segments={"segment": by_segment})
    for name, job in {"as text": found.__str__, "as a frame": found.to_frame}.items():
        taken = cpu_seconds(job)
        print(f"| the first of these {name} | {taken:.3f} | {1e3 * taken / rows:.2f} | |", flush=True)


def experiment(
    runs: int, measures: int, segments: int, n: int
) -> tuple[dict[str, Evaluation], dict[str, int], dict[str, float]]:
    """Return evaluations by run, a segment of each query, and what each weighs."""
    rng = np.random.default_rng(1)
    queries = QueryIndex([f"q{i:05}" for i in range(n)])
    hardness = rng.beta(1.0, 2.0, n)
    evaluations = {}
    for run in range(runs):
        results = []
        for measure in range(measures):
            values = np.clip(hardness + rng.normal(0.0005 * run, 0.2, n), 0.0, 1.0)
            # Half of the measures have few values, as precision at 10 has.
            values = np.round(values, 1) if measure % 2 else values
            results.append(MetricResult.from_arrays(f"measure {measure}", queries, values))
        evaluations[f"run {run}"] = Evaluation(f"run {run}", tuple(results), n, 0, 0, 0)
    by_segment = dict(zip(queries, rng.integers(0, segments, n).tolist(), strict=True))
    return evaluations, by_segment, dict(zip(queries, rng.lognormal(0.0, 0.7, n).tolist(), strict=True))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--fast", action="store_true", help="little work, one round: shows that the script works"
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    # Times are what is asked for, and no p-value is used.
    warnings.simplefilter("ignore", CoarsePValueWarning)
    print("| job | processor s | ms a row | times as fast as single calls |")
    print("| --- | ---: | ---: | ---: |")
    if options.fast:
        beside_single_calls(8, 40, 100, 1)
        team(3, 2, 2, 80)
    else:
        beside_single_calls(500, 2000, 10_000, options.rounds)
        team(200, 6, 30, 7000)


if __name__ == "__main__":
    main()
