"""Evaluate a run of a million lines, beside pytrec_eval's own readers and evaluator: whole processes.

The script makes 1,000 queries with 1,000 documents and 100 judgements each, and writes the run as plain TREC
text, with CRLF, with tabs, with 17-digit scores, and shuffled. Both compute nDCG@10, AP, RR, P@10 and R@100
in fresh processes that take turns; times are medians, memory is the largest resident set.
Run: python benchmarks/read_eval.py [--fast] [--rounds N]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

PEER = """
import sys, pytrec_eval
with open(sys.argv[1]) as stream:
    qrels = pytrec_eval.parse_qrel(stream)
with open(sys.argv[2]) as stream:
    run = pytrec_eval.parse_run(stream)
names = {"ndcg_cut_10": "ndcg_cut.10", "map": "map", "recip_rank": "recip_rank"}
names |= {"P_10": "P.10", "recall_100": "recall.100"}
found = pytrec_eval.RelevanceEvaluator(qrels, set(names.values())).evaluate(run)
for name in names:
    print(name, sum(values[name] for values in found.values()) / len(qrels))
"""
MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@100")
Line = Callable[[str, str, int, float], str]
VARIANTS: dict[str, Line] = {
    "plain": lambda query, document, rank, score: f"{query} Q0 {document} {rank} {score:.6f} bench\n",
    "CRLF": lambda query, document, rank, score: f"{query} Q0 {document} {rank} {score:.6f} bench\r\n",
    "tabs": lambda query, document, rank, score: f"{query}\tQ0\t{document}\t{rank}\t{score:.6f}\tbench\n",
    "17 digits": lambda query, document, rank, score: f"{query} Q0 {document} {rank} {score:.17g} bench\n",
}


def make_files(folder: Path, n_queries: int, n_documents: int) -> None:
    """Write the judgements and one run in each variant."""
    generator = np.random.default_rng(0)
    streams = {name: (folder / f"{name}.run").open("w", newline="") for name in VARIANTS}
    with (folder / "qrels").open("w") as judged:
        for number in range(n_queries):
            query = str(100_000 + number)
            documents = [f"D{d:07d}" for d in generator.choice(5_000_000, n_documents, replace=False)]
            scores = np.sort(generator.gamma(2.0, 5.0, n_documents))[::-1].tolist()
            for name, stream in streams.items():
                rows = zip(documents, range(1, n_documents + 1), scores, strict=True)
                stream.writelines(VARIANTS[name](query, *row) for row in rows)
            pool = [documents[i] for i in generator.choice(n_documents, n_documents // 20, replace=False)]
            pool += [f"E{d}" for d in range(n_documents // 20)]
            judged.writelines(f"{query} 0 {document} {generator.integers(0, 4)}\n" for document in pool)
    for stream in streams.values():
        stream.close()
    lines = (folder / "plain.run").read_text().splitlines(keepends=True)
    generator.shuffle(lines)
    (folder / "shuffled.run").write_text("".join(lines))


def measure(command: Sequence[str]) -> tuple[float, float, str]:
    """Run a process; return its seconds, its largest resident set in MB and its output."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, usage.ru_maxrss * unit / 2**20, output


def commands(folder: Path, variant: str) -> dict[str, list[str]]:
    """Return the command line of each side."""
    files = [str(folder / "qrels"), str(folder / f"{variant}.run")]
    sides = {"ranklens": [sys.executable, "-m", "ranklens", "eval", *files, "-m", *MEASURES]}
    if importlib.util.find_spec("pytrec_eval") is not None:
        sides["pytrec_eval"] = [sys.executable, "-c", PEER, *files]
    return sides


def report(folder: Path, variant: str, rounds: int) -> str:
    """Time both sides in turns and return a row of the table."""
    sides = commands(folder, variant)
    figures: dict[str, list[tuple[float, float, str]]] = {name: [] for name in sides}
    for turn in range(rounds + 1):
        for name, command in sides.items():
            result = measure(command)
            if turn:  # the first turn fills the disk cache
                figures[name].append(result)
    cells = []
    for name in ("ranklens", "pytrec_eval"):
        found = figures.get(name)
        seconds = f"{statistics.median(row[0] for row in found):.3f}" if found else "not installed"
        cells += [seconds, f"{max(row[1] for row in found):.0f}" if found else ""]
    ratio = ""
    if "pytrec_eval" in figures:
        ours, peers = (
            statistics.median(row[0] for row in figures[name]) for name in ("ranklens", "pytrec_eval")
        )
        ratio = f"{ours / peers:.2f}"
    return f"| {variant} | {' | '.join(cells)} | {ratio} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--fast", action="store_true", help="a small file, one round: shows that the script works"
    )
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--make", type=Path, help="only write the files, into this folder")
    options = parser.parse_args()
    if options.make:
        make_files(options.make, *((20, 50) if options.fast else (1000, 1000)))
        return
    rounds = 1 if options.fast else options.rounds
    print("| run | ranklens s | MB | pytrec_eval s | MB | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # In a process of its own: a child's largest resident set counts what its parent held at the fork.
        subprocess.run([sys.executable, *sys.argv, "--make", name], check=True)
        for variant in (*VARIANTS, "shuffled"):
            print(report(folder, variant, rounds), flush=True)


if __name__ == "__main__":
    main()
