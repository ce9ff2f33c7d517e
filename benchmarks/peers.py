"""Render the documentation's table of ratios to scipy, ranx, statsmodels and pytrec_eval, in one run.

The jobs are those of the other scripts, warm and in turns; figures are medians, at the best of scipy's batch
sizes. Loops over scipy are timed on a few comparisons and scaled. The table goes to standard output, as
Markdown, or to the file that --output names, which is there completely or not at all.
Run: python benchmarks/peers.py [--fast] [--rounds N] --output docs/_tables/peers.md
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
from batch import ScipyLoop, Size, deltas_of, runs_of
from exact import interval_samples, samples
from read_eval import commands, make_files, measure
from resampling import (
    SETTING,
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
from ranklens.core.files import write_text
from ranklens.core.presentation import counted
from ranklens.stats.exact.p_value import exact_p_value
from ranklens.stats.ideal.percentile import exact_interval
from ranklens.stats.q_values import Q_VALUES

PEERS = {
    "scipy": "scipy",
    "ranx": "ranx",
    "statsmodels": "statsmodels",
    "pytrec_eval": "pytrec_eval-terrier",
}
"""Modules, and what their distributions are called."""

HEADER = "| job | ranklens ms | peer | peer ms | peer / ranklens |\n| --- | ---: | --- | ---: | ---: |"


class Contest(NamedTuple):
    """A job, the peers that do it too, and how to time all of them for a number of rounds.

    The times, in seconds, come under the names of the peers, behind which a setting may stand; our own come
    under the name ranklens.
    """

    job: str
    peers: tuple[str, ...]
    times: Callable[[int], dict[str, float]]

    def lines(self, rounds: int) -> Iterator[str]:
        """Yield a line of the table for each peer."""
        times = self.times(rounds)
        ours = times.pop("ranklens")
        for peer, theirs in times.items():
            figures = milliseconds(ours), peer, milliseconds(theirs), digits(theirs / ours, 2)
            yield f"| {self.job} | {' | '.join(figures)} |"


def digits(value: float, significant: int) -> str:
    """Return so many significant digits, and all digits before the point."""
    return f"{value:,.0f}" if value >= 10**significant - 0.5 else f"{value:.{significant}g}"


def milliseconds(seconds: float) -> str:
    """Return seconds as milliseconds, to three digits."""
    return digits(1000 * seconds, 3)


def in_turns(job: str, sides: dict[str, Job]) -> Contest:
    """Return the contest of ours, which is named ranklens, and its peers, each at its best setting."""
    peers = dict.fromkeys(name.partition(SETTING)[0] for name in sides if name != "ranklens")
    return Contest(job, tuple(peers), lambda rounds: best_settings(time_in_turns(sides, rounds)))


def singles(draws: int) -> Iterator[Contest]:
    """One pair of runs: flips, resamples, and what replaces both."""
    for n in (50, 6_980):
        yield in_turns(f"sign-flip test, n = {n:,}, {draws:,} flips", flip_jobs(n, draws))
        yield in_turns(f"bootstrap interval, n = {n:,}, {draws:,} resamples", resample_jobs(n, draws))
    if not installed("scipy"):
        return
    for name, deltas in samples().items():
        sides: dict[str, Job] = {"ranklens": lambda deltas=deltas: exact_p_value(deltas)}
        yield in_turns(
            f"exact p, {name}", sides | by_batch(f"scipy, {draws:,} flips", scipy_flips(deltas, draws))
        )
    for name, deltas in interval_samples().items():
        sides = {"ranklens": lambda deltas=deltas: exact_interval(deltas)}
        theirs = scipy_resamples(deltas, draws, lambda: None)
        yield in_turns(f"exact interval, {name}", sides | by_batch(f"scipy, {draws:,} resamples", theirs))


def batches(size: Size) -> Iterator[Contest]:
    """Many comparisons beside loops over scipy."""
    if not installed("scipy"):
        return
    sampling = {"method": "monte-carlo", "n_permutations": size.draws, "n_resamples": size.draws}
    kinds = {"compare_many": (sampling, True), "compare_many, exact": ({"method": "exact"}, False)}
    for name, (options, with_bootstrap) in kinds.items():
        peer = f"scipy, looped, {size.draws:,} flips" + (" and resamples" if with_bootstrap else " alone")

        def times(
            rounds: int, options: object = options, with_bootstrap: bool = with_bootstrap, peer: str = peer
        ) -> dict[str, float]:
            ours, theirs = beside_a_loop(size, options, with_bootstrap, rounds)
            return {"ranklens": ours, peer: theirs}

        yield Contest(f"{name}, {size.comparisons:,} comparisons, {size.queries} queries", (peer,), times)


def beside_a_loop(size: Size, options: object, with_bootstrap: bool, rounds: int) -> tuple[float, float]:
    """Time `compare_many`, and a loop over scipy's calls in turns with it."""
    deltas = deltas_of(size)
    runs = runs_of(deltas)

    def job() -> object:
        return rl.compare_many(runs, baseline="baseline", correction=None, **options)

    ours, loop = [], ScipyLoop(deltas, size.draws, with_bootstrap)
    job()
    for turn in range(rounds):
        ours.append(seconds(job))
        loop.time_some(turn, rounds)
    return statistics.median(ours), loop.seconds_of_all()


def corrections(n: int) -> Iterator[Contest]:
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
        yield in_turns(f"{ours} of {n:,} p-values", sides)


def evaluations(n_queries: int, n_documents: int) -> Iterator[Contest]:
    """Whole processes that read a run and measure it."""
    if not installed("pytrec_eval"):
        return

    def times(rounds: int) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_files(folder, n_queries, n_documents)
            sides = {
                side: command
                for side, command in commands(folder, "plain").items()
                if side in ("ranklens", "pytrec_eval")
            }
            # The first turn fills the disk cache.
            turns = [{side: measure(sides[side])[0] for side in sides} for _ in range(rounds + 1)][1:]
        return {side: statistics.median(turn[side] for turn in turns) for side in sides}

    yield Contest(f"`ranklens eval`, {n_queries * n_documents:,} lines", ("pytrec_eval",), times)


def contests(fast: bool) -> Iterator[Contest]:
    """Yield what the table shows, in its order."""
    yield from singles(100 if fast else 10_000)
    yield from batches(Size(20, 30, 100) if fast else Size(1000, 300, 10_000))
    yield from corrections(100 if fast else 100_000)
    yield from evaluations(*(5, 20) if fast else (1000, 1000))


def provenance(rounds: int) -> str:
    """Say what the figures were made with, and which peers they lack."""
    known = [f"{peer} {version(name)}" for peer, name in PEERS.items() if installed(peer)]
    versions = [f"Python {platform.python_version()}", f"numpy {np.__version__}", *known]
    made = f"One run of {counted(rounds, 'round')} with ranklens {rl.__version__} on {platform.machine()}"
    missing = [peer for peer in PEERS if not installed(peer)]
    lacks = f"\nNot installed, so not in the table: {', '.join(missing)}." if missing else ""
    return f"{made}; {', '.join(versions)}.{lacks}"


def main() -> None:
    """Print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fast", action="store_true", help="little work, one round: shows that it works")
    parser.add_argument("--rows", action="store_true", help="print the jobs and their peers, and time none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the table to this file when it is complete")
    options = parser.parse_args()
    if options.rows:
        for contest in contests(options.fast):
            for peer in contest.peers:
                print(f"| {contest.job} | {peer} |")
        return
    rounds = 1 if options.fast else options.rounds
    table = [HEADER]
    print(HEADER, flush=True)
    for contest in contests(options.fast):
        for line in contest.lines(rounds):
            table.append(line)
            print(line, flush=True)
    below = provenance(rounds)
    print(f"\n{below}")
    if options.output is not None:
        write_text(options.output, "\n".join([*table, "", below, ""]))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
