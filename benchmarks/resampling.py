"""How long the sign-flip test and the bootstrap take beside scipy's and ranx's.

Every job is warm and takes turns with its peers, so that a busy moment hits all of them; figures are medians.
scipy takes its turn with every one of several batch sizes, and the one with the lowest median is shown.
Run: python benchmarks/resampling.py [--fast] [--rounds N]
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ranklens.stats import paired_bootstrap, permutation_test

Job = Callable[[], object]
Floats = NDArray[np.float64]

FLIP_BATCHES = (200, 600, 1000, 2000)
WARM_SECONDS = 0.02
SETTING = ", batch "
"""What stands before the setting in the name of a job; without it the name is the peer's."""
RESAMPLE_BATCHES = (5, 20, 50, 100)

SCIPY_GENERATORS: dict[str, Callable[[], object]] = {
    "as called by default": lambda: None,
    "with a PCG64 generator": np.random.default_rng,
}


def installed(library: str) -> bool:
    """Whether a peer can be timed."""
    return importlib.util.find_spec(library) is not None


def seconds(job: Job, least: float = 0.0) -> float:
    """Time a call, as the mean of as many calls in a row as `least` seconds hold."""
    start = time.perf_counter()
    calls = 0
    while calls == 0 or time.perf_counter() - start < least:
        job()
        calls += 1
    return (time.perf_counter() - start) / calls


def time_in_turns(jobs: dict[str, Job], rounds: int) -> dict[str, list[float]]:
    """Time the jobs in turn, each of them once in every round."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for job in jobs.values():
        job()
    for _ in range(rounds):
        for name, job in jobs.items():
            once = seconds(job)  # after its peers, the caches are theirs
            times[name].append(once if once > WARM_SECONDS else seconds(job, least=WARM_SECONDS))
    return times


def best_settings(times: dict[str, list[float]]) -> dict[str, float]:
    """Return the medians, of jobs that differ in their batch alone the lowest one."""
    fastest: dict[str, tuple[float, str]] = {}
    for name, values in times.items():
        timed = statistics.median(values), name
        peer = name.partition(SETTING)[0]
        fastest[peer] = min(fastest.get(peer, timed), timed)
    return {name: median for median, name in fastest.values()}


def by_batch(peer: str, jobs: dict[int, Job]) -> dict[str, Job]:
    """Name the jobs of a peer by their batch sizes."""
    return {f"{peer}{SETTING}{batch}": job for batch, job in jobs.items()}


def scipy_flips(deltas: Floats, n_flips: int) -> dict[int, Job]:
    """Return scipy's test at several batch sizes."""
    from scipy.stats import permutation_test as scipy_test

    def job(batch: int) -> Job:
        options = {"permutation_type": "samples", "n_resamples": n_flips, "batch": batch, "vectorized": True}
        return lambda: scipy_test((deltas,), np.mean, rng=np.random.default_rng(0), **options)

    return {batch: job(batch) for batch in FLIP_BATCHES}


def scipy_resamples(deltas: Floats, n_resamples: int, generator: Callable[[], object]) -> dict[int, Job]:
    """Return scipy's percentile bootstrap at several batch sizes."""
    from scipy.stats import bootstrap

    def job(batch: int) -> Job:
        options = {"method": "percentile", "n_resamples": n_resamples, "batch": batch, "vectorized": True}
        return lambda: bootstrap((deltas,), np.mean, rng=generator(), **options)

    return {batch: job(batch) for batch in RESAMPLE_BATCHES}


def ranx_flips(deltas: Floats, n_flips: int) -> Job:
    """Return ranx's compiled test."""
    from ranx.statistical_tests.fisher_randomization_test import fisher_randomization_test

    zeros = np.zeros_like(deltas)
    return lambda: fisher_randomization_test(zeros, deltas, n_permutations=n_flips)


def flip_jobs(n: int, n_flips: int) -> dict[str, Job]:
    """Return ours first, then the peers that are installed, at several settings."""
    deltas = np.random.default_rng(n).normal(0.01, 0.3, n)
    jobs: dict[str, Job] = {"ranklens": lambda: permutation_test(deltas, n_permutations=n_flips)}
    if installed("scipy"):
        jobs |= by_batch("scipy", scipy_flips(deltas, n_flips))
    if installed("ranx"):
        jobs["ranx"] = ranx_flips(deltas, n_flips)
    return jobs


def resample_jobs(n: int, n_resamples: int) -> dict[str, Job]:
    """Return ours first, then the peers that are installed, at several settings."""
    deltas = np.random.default_rng(n).normal(0.01, 0.3, n)
    jobs: dict[str, Job] = {"ranklens": lambda: paired_bootstrap(deltas, n_resamples=n_resamples)}
    if installed("scipy"):
        for name, generator in SCIPY_GENERATORS.items():
            jobs |= by_batch(f"scipy, {name}", scipy_resamples(deltas, n_resamples, generator))
    return jobs


def compare(title: str, jobs: dict[str, Job], rounds: int) -> None:
    """Time the jobs in turn, and print a row for each."""
    medians = best_settings(time_in_turns(jobs, rounds))
    for name, median in medians.items():
        print(f"| {title} | {name} | {1000 * median:.2f} | {median / medians['ranklens']:.2f} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--fast", action="store_true", help="few draws, one round: shows that the script works"
    )
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    draws, rounds = (100, 1) if options.fast else (10_000, options.rounds)
    print("| job | by | median ms | times ranklens |")
    print("| --- | --- | ---: | ---: |")
    for n in (50, 6_980):
        compare(f"permutation test, n = {n}, {draws} flips", flip_jobs(n, draws), rounds)
    for n in (50, 6_980):
        compare(f"bootstrap, n = {n}, {draws} resamples", resample_jobs(n, draws), rounds)
    missing = [library for library in ("scipy", "ranx") if not installed(library)]
    if missing:
        print(f"\nNot installed, so not in the table: {', '.join(missing)}")


if __name__ == "__main__":
    main()
