"""Read a run of a million rows into columns with polars, pyarrow and pandas: why the reader is what it is.

Each cell is a fresh process that imports the library and reads the file, ids as text: the median seconds and
the largest resident set. TREC text is with single blanks here, the only kind that these libraries can read;
ranklens reads it with numpy.
Run: python benchmarks/table_readers.py [--fast] [--rounds N]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

POLARS = "import polars as pl; text = {'query_id': pl.String, 'doc_id': pl.String}; "
ARROW = "import pyarrow as pa; text = {'query_id': pa.string(), 'doc_id': pa.string()}; "
PANDAS = "import pandas as pd; text = {'query_id': str, 'doc_id': str}; "
RANKLENS = "import ranklens; ranklens.read_run(path)"
TREC = "['query_id', 'q0', 'doc_id', 'rank', 'score', 'tag']"
JOBS: dict[str, dict[str, str]] = {
    "trec": {
        "polars": POLARS + f"pl.read_csv(path, separator=' ', has_header=False, new_columns={TREC})",
        "pyarrow": ARROW
        + f"from pyarrow import csv; csv.read_csv(path, csv.ReadOptions(column_names={TREC}), "
        + "csv.ParseOptions(delimiter=' '), csv.ConvertOptions(column_types=text))",
        "pandas": PANDAS + f"pd.read_csv(path, sep=' ', header=None, names={TREC}, dtype=text)",
        "ranklens": RANKLENS,
    },
    "csv": {
        "polars": POLARS + "pl.read_csv(path, schema_overrides=text)",
        "pyarrow": ARROW
        + "from pyarrow import csv; "
        + "csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=text))",
        "pandas": PANDAS + "pd.read_csv(path, dtype=text)",
        "ranklens": RANKLENS,
    },
    "jsonl": {
        "polars": POLARS + "pl.read_ndjson(path)",
        "pyarrow": ARROW + "from pyarrow import json; json.read_json(path)",
        "pandas": PANDAS + "pd.read_json(path, lines=True, dtype=text)",
        "ranklens": RANKLENS,
    },
    "parquet": {
        "polars": POLARS + "pl.read_parquet(path)",
        "pyarrow": ARROW + "from pyarrow import parquet; parquet.read_table(path)",
        "pandas": PANDAS + "pd.read_parquet(path, engine='pyarrow')",
        "ranklens": RANKLENS,
    },
}
# What has to be installed for each.
DISTRIBUTIONS = {
    "polars": ("polars", "polars-runtime-32"),
    "pyarrow": ("pyarrow",),
    "pandas": ("pandas", "python-dateutil", "pyarrow"),
    "ranklens": ("ranklens",),
}


def make_files(folder: Path, n_queries: int, n_documents: int) -> None:
    """Write one run in each format."""
    import numpy as np
    import polars as pl

    generator = np.random.default_rng(0)
    n = n_queries * n_documents
    ranks = np.tile(np.arange(1, n_documents + 1), n_queries)
    frame = pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(n_queries) + 100_000, n_documents).astype(str),
            "doc_id": [f"D{d:08d}" for d in generator.integers(0, 10**8, n)],
            "score": np.round(30.0 - np.log(ranks) - generator.random(n), 6),
        }
    )
    frame.write_csv(folder / "run.csv")
    frame.write_ndjson(folder / "run.jsonl")
    frame.write_parquet(folder / "run.parquet")
    extra = {"q0": pl.lit("Q0"), "rank": pl.Series(ranks), "tag": pl.lit("bench")}
    columns = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
    frame.with_columns(**extra).select(columns).write_csv(
        folder / "run.trec", separator=" ", include_header=False, float_precision=6
    )


def measure(job: str, path: Path) -> tuple[float, float]:
    """Run one fresh process; return its seconds and its largest resident set in MB."""
    start = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", f"path = {str(path)!r}; {job}"]) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {job}")
    unit = 1 if sys.platform == "darwin" else 1024
    return time.perf_counter() - start, usage.ru_maxrss * unit / 2**20


def installed_megabytes(library: str) -> float:
    """Return what the library's distributions take on the disk (without numpy, which all need)."""
    found = 0
    for name in DISTRIBUTIONS[library]:
        try:
            files = importlib.metadata.files(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        found += sum(file.size or 0 for file in files)
    return found / 2**20


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--fast", action="store_true", help="a small file, one round: shows that the script works"
    )
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    size, rounds = ((20, 50), 1) if options.fast else ((1000, 1000), options.rounds)
    libraries = [name for name in DISTRIBUTIONS if importlib.util.find_spec(name) is not None]
    print(f"| format | {' | '.join(f'{name} s | MB' for name in libraries)} |")
    print(f"| --- | {' | '.join('---: | ---:' for _ in libraries)} |")
    with tempfile.TemporaryDirectory() as name:
        # A process inherits the largest resident set of the one that started it: this one stays small.
        maker = multiprocessing.get_context("spawn").Process(target=make_files, args=(Path(name), *size))
        maker.start()
        maker.join()
        for form in JOBS:
            path = Path(name) / f"run.{form}"
            found: dict[str, list[tuple[float, float]]] = {library: [] for library in libraries}
            for turn in range(rounds + 1):
                for library in libraries:
                    result = measure(JOBS[form][library], path)
                    if turn or options.fast:  # the first turn fills the disk cache
                        found[library].append(result)
            cells = [
                f"{statistics.median(row[0] for row in rows):.2f} | {max(row[1] for row in rows):.0f}"
                for rows in found.values()
            ]
            print(f"| {form} | {' | '.join(cells)} |", flush=True)
    sizes = (f"{name} {installed_megabytes(name):.0f}" for name in libraries if name != "ranklens")
    print(f"\nOn the disk, MB: {', '.join(sizes)}")


if __name__ == "__main__":
    main()
