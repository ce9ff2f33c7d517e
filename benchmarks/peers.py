"""Render the documentation's table of ratios to scipy, ranx, statsmodels and pytrec_eval, in one run.

The jobs are those of the other scripts, warm and in turns; figures are medians, at the best of scipy's batch
sizes. Loops over scipy are timed on a few comparisons and scaled. The table goes to standard output, as
Markdown.
Run: python benchmarks/peers.py [--fast] [--rounds N] > docs/_tables/peers.md
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from batch import ScipyLoop, Size, deltas_of, runs_of
from exact import interval_samples, samples
from read_eval import commands, make_files, measure
from resampling import (
    Job,
    best_settings,
    by_batch,
    flip_jobs,
    installed,
    resample_jobs,
    scipy_flips,
    scipy_resamples,
    seconds,
    time_in_turns,
)

import ranklens as rl
from ranklens.stats.exact.p_value import exact_p_value
from ranklens.stats.ideal.percentile import exact_interval
from ranklens.stats.q_values import Q_VALUES

PEERS = ("scipy", "ranx", "statsmodels", "pytrec_eval")


class Row(NamedTuple):
    """A job, our seconds, a peer and its seconds."""

    job: str
    ours: float
    peer: str
    theirs: float

    def __str__(self) -> str:
        ratio = self.theirs / self.ours
        shown = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"
        return f"| {self.job} | {1000 * self.ours:.3g} | {self.peer} | {1000 * self.theirs:.3g} | {shown} |"


def in_turns(job: str, sides: dict[str, Job], rounds: int) -> Iterator[Row]:
    """Time ours, which is named ranklens, and its peers, each at its best setting."""
    medians = best_settings(time_in_turns(sides, rounds))
    ours = medians.pop("ranklens")
    yield from (Row(job, ours, *peer) for peer in medians.items())


def singles(draws: int, rounds: int) -> Iterator[Row]:
    """One pair of runs: flips, resamples, and what replaces both."""
    for n in (50, 6_980):
        yield from in_turns(f"sign-flip test, n = {n:,}, {draws:,} flips", flip_jobs(n, draws), rounds)
        yield from in_turns(
            f"bootstrap interval, n = {n:,}, {draws:,} resamples", resample_jobs(n, draws), rounds
        )
    if not installed("scipy"):
        return
    for name, deltas in samples().items():
        sides: dict[str, Job] = {"ranklens": lambda deltas=deltas: exact_p_value(deltas)}
        sides |= by_batch(f"scipy, {draws:,} flips", scipy_flips(deltas, draws))
        yield from in_turns(f"exact p, {name}", sides, rounds)
    for name, deltas in interval_samples().items():
        sides = {"ranklens": lambda deltas=deltas: exact_interval(deltas)}
        sides |= by_batch(f"scipy, {draws:,} resamples", scipy_resamples(deltas, draws, lambda: None))
        yield from in_turns(f"exact interval, {name}", sides, rounds)


def batches(size: Size, rounds: int) -> Iterator[Row]:
    """Many comparisons beside loops over scipy."""
    if not installed("scipy"):
        return
    deltas = deltas_of(size)
    runs = runs_of(deltas)
    sampling = {"method": "monte-carlo", "n_permutations": size.draws, "n_resamples": size.draws}
    kinds = {"compare_many": (sampling, True), "compare_many, exact": ({"method": "exact"}, False)}
    for name, (options, with_bootstrap) in kinds.items():

        def job(options: dict[str, object] = options) -> object:
            return rl.compare_many(runs, baseline="baseline", correction=None, **options)

        ours, loop = [], ScipyLoop(deltas, size.draws, with_bootstrap)
        job()
        for turn in range(rounds):
            ours.append(seconds(job))
            loop.time_some(turn, rounds)
        peer = f"scipy, looped, {size.draws:,} flips" + (" and resamples" if with_bootstrap else " alone")
        title = f"{name}, {size.comparisons:,} comparisons, {size.queries} queries"
        yield Row(title, statistics.median(ours), peer, loop.seconds_of_all())


def corrections(n: int, rounds: int) -> Iterator[Row]:
    """q-values of many p-values."""
    if not installed("statsmodels"):
        return
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(0).random(n).tolist()
    for ours, theirs in (("bh", "fdr_bh"), ("holm", "holm")):
        sides: dict[str, Job] = {
            "ranklens": lambda ours=ours: Q_VALUES[ours](p),
            "statsmodels": lambda theirs=theirs: multipletests(p, method=theirs),
        }
        yield from in_turns(f"{ours} of {n:,} p-values", sides, rounds)


def evaluations(n_queries: int, n_documents: int, rounds: int) -> Iterator[Row]:
    """Whole processes that read a run and measure it."""
    if not installed("pytrec_eval"):
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder, n_queries, n_documents)
        sides = commands(folder, "plain")
        times: dict[str, list[float]] = {side: [] for side in sides}
        for turn in range(rounds + 1):
            for side, command in sides.items():
                elapsed, _, _ = measure(command)
                if turn:  # the first turn fills the disk cache
                    times[side].append(elapsed)
    ours, theirs = (statistics.median(times[side]) for side in ("ranklens", "pytrec_eval"))
    yield Row(f"`ranklens eval`, {n_queries * n_documents:,} lines", ours, "pytrec_eval", theirs)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fast", action="store_true", help="little work, one round: shows that it works")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    fast, rounds = options.fast, 1 if options.fast else options.rounds
    print("| job | ranklens ms | peer | peer ms | peer / ranklens |")
    print("| --- | ---: | --- | ---: | ---: |")
    for rows in (
        singles(100 if fast else 10_000, rounds),
        batches(Size(20, 30, 100) if fast else Size(1000, 300, 10_000), rounds),
        corrections(100 if fast else 100_000, rounds),
        evaluations(*(5, 20) if fast else (1000, 1000), rounds),
    ):
        for row in rows:
            print(row, flush=True)
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, ranklens {rl.__version__}"
    print(f"\nOne run, {platform.machine()}, {versions}.")
    missing = [peer for peer in PEERS if not installed(peer)]
    if missing:
        print(f"Not installed, so not in the table: {', '.join(missing)}.")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
