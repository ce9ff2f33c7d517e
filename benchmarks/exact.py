"""How long the exact p-value and the ideal bootstrap's interval take beside 10,000 draws of scipy.

The p-value is found together with the bound of its error; `batch.py` times all pairs of 32 runs on 6 measures
together. Every job is warm and takes turns with its peer, so that a busy moment hits both; figures are
medians, and scipy runs at whichever of the batch sizes serves it best here. It samples what ranklens
computes, so its results still carry noise.
Run: python benchmarks/exact.py [--fast] [--rounds N]
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.exact.p_value import exact_p_value
from ranklens.stats.ideal.percentile import exact_interval

Job = Callable[[], object]
Floats = NDArray[np.float64]

FLIP_BATCHES = (100, 200, 600, 2000, 10_000)
RESAMPLE_BATCHES = (5, 20, 50, 100)
WARM_SECONDS = 0.02


def samples() -> dict[str, Floats]:
    """Make differences of the sizes and kinds that users have."""
    rng = np.random.default_rng(0)

    def tenths(n: int) -> Floats:
        return np.clip(np.rint(rng.normal(0.3, 2, n)), -10, 10) / 10

    return {
        "P@10, n = 50": tenths(50),
        "real-valued, n = 34": rng.normal(0.05, 0.2, 34),
        "real-valued, n = 40": rng.normal(0.05, 0.2, 40),
        "real-valued, n = 53": rng.normal(0.05, 0.2, 53),
        "real-valued, n = 7000": rng.normal(0.003, 0.2, 7000),
        "real-valued, n = 7000, p near 1e-24": rng.normal(0.022, 0.2, 7000),
        "real-valued, n = 7000, p near 1e-100": rng.normal(0.052, 0.2, 7000),
        "P@10, n = 7000": tenths(7000),
    }


def interval_samples() -> dict[str, Floats]:
    """Make the differences of the interval's rows."""
    rng = np.random.default_rng(1)
    return {
        "real-valued, n = 50": rng.normal(0.05, 0.2, 50),
        "real-valued, n = 6980": rng.normal(0.003, 0.2, 6980),
        "P@10, n = 6980": np.clip(np.rint(rng.normal(0.3, 2, 6980)), -10, 10) / 10,
    }


def seconds(job: Job, least: float = 0.0) -> float:
    """Time a call, as the mean of as many calls in a row as `least` seconds hold."""
    start = time.perf_counter()
    calls = 0
    while calls == 0 or time.perf_counter() - start < least:
        job()
        calls += 1
    return (time.perf_counter() - start) / calls


def fastest(jobs: list[Job]) -> Job:
    """Return the fastest setting of a peer, each of them warmed up once."""
    times = [min(seconds(job), seconds(job)) for job in jobs]
    return jobs[times.index(min(times))]


def scipy_flips(deltas: Floats, n_flips: int) -> Job:
    """Return scipy's sign-flip test at its best batch size."""
    from scipy.stats import permutation_test

    def job(batch: int) -> Job:
        options = {"permutation_type": "samples", "n_resamples": n_flips, "batch": batch, "vectorized": True}
        return lambda: permutation_test((deltas,), np.mean, rng=np.random.default_rng(0), **options)

    return fastest([job(batch) for batch in FLIP_BATCHES])


def scipy_resamples(deltas: Floats, n_resamples: int) -> Job:
    """Return scipy's percentile bootstrap at its best batch size."""
    from scipy.stats import bootstrap

    def job(batch: int) -> Job:
        options = {"method": "percentile", "n_resamples": n_resamples, "batch": batch, "vectorized": True}
        return lambda: bootstrap((deltas,), np.mean, rng=np.random.default_rng(0), **options)

    return fastest([job(batch) for batch in RESAMPLE_BATCHES])


def medians(jobs: list[Job], rounds: int) -> list[float]:
    """Time jobs in turn."""
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(rounds):
        for job, values in zip(jobs, times, strict=True):
            job()  # after its peer, the caches are the peer's
            values.append(seconds(job, least=WARM_SECONDS))
    return [statistics.median(values) for values in times]


def print_row(title: str, found: str, ours: Job, peer: Job | None, rounds: int) -> None:
    """Time ours and the peer, if there is one, and print the row."""
    mine, *theirs = medians([ours] if peer is None else [ours, peer], rounds)
    compared = f"{1000 * theirs[0]:.1f} | {theirs[0] / mine:.1f}" if theirs else "– | –"
    print(f"| {title} | {found} | {1000 * mine:.2f} | {compared} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fast", action="store_true", help="few draws, one round: shows that it works")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    draws, rounds = (100, 1) if options.fast else (10_000, options.rounds)
    with_scipy = importlib.util.find_spec("scipy") is not None
    print(f"| job | found | ranklens ms | scipy ms ({draws} draws) | scipy / ranklens |")
    print("| --- | --- | ---: | ---: | ---: |")
    for name, deltas in samples().items():
        result = exact_p_value(deltas)
        found = f"p = {result.p_value:.3g} ± {result.p_error:.1g}, {result.step}"
        peer = scipy_flips(deltas, draws) if with_scipy else None
        print_row(f"p-value, {name}", found, lambda deltas=deltas: exact_p_value(deltas), peer, rounds)
    for name, deltas in interval_samples().items():
        low, high = exact_interval(deltas)
        peer = scipy_resamples(deltas, draws) if with_scipy else None
        job: Job = lambda deltas=deltas: exact_interval(deltas)  # noqa: E731
        print_row(f"interval, {name}", f"[{low:.5f}, {high:.5f}]", job, peer, rounds)
    if not with_scipy:
        print("\nNot installed, so not in the table: scipy")


if __name__ == "__main__":
    main()
