"""Prove and time the device paths on one accelerator, beside the rate of its own matrix products.

Every array library that sees the device is checked (known random words, types, full products, transfers to
the host, the same decisions as numpy on the processor) and timed. It needs no network and is made to take at
most six minutes on a data-centre GPU: what would start too late is left out and named, and what takes too
long is stopped. Rows are printed as they are found, and kept in a file with `--json`. Without an accelerator
`--cpu` runs the same on the processor's backends, which shows that the script works and says nothing about a
GPU.
Run: python benchmarks/gpu_check.py [--fast] [--cpu] [--minutes N] [--json FILE] [--backends NAME ...]
"""

from __future__ import annotations

import argparse
import functools
import importlib
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _device_checks import QUIET, Report, run_checks, within
from numpy.typing import NDArray

import ranklens as rl
from ranklens.arrays import Backend, is_array, memory_budget, open_backend, to_host
from ranklens.core import MissingDependencyError
from ranklens.explain import CallableAdapter, adapt, pairwise_many

# Or JAX would take most of the card's memory from the others.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

Job = Callable[[], Any]
Floats = NDArray[np.float64]

GIB = 2**30
K = 12


@dataclass(frozen=True)
class Sizes:
    """Products of `side`, a batch (comparisons, queries, draws), evaluations (runs, queries, depth), ..."""

    side: int
    batch: tuple[int, int, int]
    exact: tuple[int, int]
    runs: tuple[int, int, int]
    pairs: int
    slice_of: int
    budget: int


FULL = Sizes(8192, (10_000, 7000, 10_000), (10_000, 500), (100, 200, 100), 1000, 50, 8 * GIB)
FAST = Sizes(128, (12, 60, 100), (12, 50), (3, 10, 10), 8, 3, GIB // 4)


def backends(names: list[str], on_cpu: bool) -> Iterator[Backend]:
    """Open the libraries that see an accelerator, or the processor's."""
    for name in names:
        try:
            found = _torch(on_cpu) if name == "torch" else open_backend(name)
        except MissingDependencyError as error:
            print(f"- {name}: {error}")
            continue
        if found.on_accelerator != on_cpu:
            yield found
        else:
            print(f"- {name}: sees no such device")


def _torch(on_cpu: bool) -> Backend:
    backend = open_backend("torch")
    torch = importlib.import_module("torch")
    if not on_cpu and torch.accelerator.is_available():
        # Torch prefers the processor unless told, and lists go where it prefers.
        torch.set_default_device(torch.accelerator.current_accelerator())
        backend = open_backend("torch")
    return backend


def wait(array: Any) -> None:
    """Wait until the device has computed `array`."""
    if hasattr(array, "block_until_ready"):
        array.block_until_ready()
    elif is_array(array):
        to_host(array[:1, :1])


@functools.lru_cache(maxsize=1)
def factors(side: int) -> NDArray[np.float32]:
    """Return two square matrices."""
    return np.random.default_rng(0).normal(size=(2, side, side)).astype(np.float32)


def product_rate(backend: Backend, kind: str, side: int) -> float:
    """Return the floating operations a second of a square matrix product."""
    with backend.precise():
        left, right = (backend.asarray(x, dtype=getattr(backend.xp, kind)) for x in factors(side))
        return 2.0 * side**3 / median(lambda: wait(left @ right), 3)


def median(job: Job, rounds: int) -> float:
    """Time a warm job."""
    job()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def collection(runs: int, queries: int, depth: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Make judgements and runs."""
    rng = np.random.default_rng(0)
    qrels = {f"q{q}": {f"d{d}": int(rng.integers(0, 4)) for d in range(0, depth, 2)} for q in range(queries)}

    def run() -> dict[str, dict[str, float]]:
        return {
            query: dict(zip(NAMES[:depth], rng.normal(size=depth).tolist(), strict=True)) for query in qrels
        }

    names = [f"run{r}" for r in range(runs)]
    return qrels, {name: rl.Run.from_dict(run(), name=name) for name in names}


NAMES = [f"d{d}" for d in range(1000)]


def network(backend: Backend) -> Any:
    """Return a small network in the library's own arrays, as a model of K features."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(K, 32)) / np.sqrt(K), rng.normal(size=32)
    names = [f"x{i}" for i in range(K)]
    if backend.name == "jax":
        xp = backend.xp
        params = [xp.asarray(first, dtype=xp.float32), xp.asarray(second, dtype=xp.float32)]
        return adapt(lambda p, x: xp.maximum(x @ p[0], 0) @ p[1], names, params=params)
    if backend.name == "torch":
        torch = importlib.import_module("torch")
        layers = (torch.nn.Linear(K, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
        return adapt(torch.nn.Sequential(*layers).to(backend.device), names)
    weights, last = backend.asarray(first), backend.asarray(second)
    return CallableAdapter(lambda x: backend.xp.maximum(x @ weights, 0.0) @ last, names, backend=backend)


def jobs(sizes: Sizes) -> dict[str, tuple[Callable[[Backend, int], Job], int, bool]]:
    """Return what makes each job from a backend and a number of rows, its rows, whether it multiplies."""
    n_rows, n, draws = sizes.batch
    rng = np.random.default_rng(0)
    deltas = rng.normal(0.003, 0.2, (n_rows, n))
    exact = rng.normal(0.02, 0.2, sizes.exact)
    qrels, runs = collection(*sizes.runs)
    a, b = rng.normal(size=(2, sizes.pairs, K)).astype(np.float32)

    def flips(backend: Backend, part: int) -> Job:
        values = backend.asarray(deltas[:part])
        options = {"n_permutations": draws, "n_resamples": 2} | QUIET
        return lambda: rl.compare_deltas(values, **options)

    def both(backend: Backend, part: int) -> Job:
        values = backend.asarray(deltas[:part])
        options = {"n_permutations": draws, "n_resamples": draws} | QUIET
        return lambda: rl.compare_deltas(values, **options)

    def exactly(backend: Backend, part: int) -> Job:
        values = backend.asarray(exact[:part])
        return lambda: rl.compare_deltas(values, method="exact", correction=None)

    def evaluation(backend: Backend, part: int) -> Job:
        some = dict(list(runs.items())[:part])
        return lambda: rl.evaluate_many(some, qrels, ["nDCG@10", "AP", "RR", "P@10"])

    def explanations(backend: Backend, part: int) -> Job:
        model = network(backend)
        return lambda: pairwise_many(model, a[:part], b[:part])

    shape = f"{n_rows:,} comparisons x {n:,} queries"
    return {
        f"flips: {shape} x {draws:,}": (flips, n_rows, True),
        f"flips and resamples: {shape} x {draws:,} each": (both, n_rows, True),
        f"exact p and interval: {sizes.exact[0]:,} x {sizes.exact[1]}": (exactly, sizes.exact[0], False),
        f"evaluate_many: {' x '.join(map(str, sizes.runs))}, 4 measures": (evaluation, len(runs), False),
        f"{sizes.pairs:,} pairwise explanations, k = {K}": (explanations, sizes.pairs, False),
    }


def time_all(found: list[Backend], sizes: Sizes, report: Report, deadline: float, longest: float) -> None:
    """Report the times; numpy does parts of each job."""
    rates = product_rates(found, sizes.side, report)
    print(f"\nnumpy on {os.cpu_count()} cores does two small parts; the rest is extrapolated.")
    report.head("job", "by", "seconds", "numpy / this", "of the product's rate")
    n_rows, n, draws = sizes.batch
    late = []
    for title, (make, whole, is_product) in jobs(sizes).items():
        if time.monotonic() > deadline:
            late.append(title)
            continue
        own = numpy_seconds(make, whole, whole // sizes.slice_of)
        report.row(title, "numpy", f"{own:.3g}", "1", "")
        for backend in found:
            left = deadline - time.monotonic()
            if left <= 0:
                late.append(f"{title} by {backend.name}")
                continue
            with rl.use_backend(backend.name):
                seconds = timed(make, backend, whole, 3 if sizes is FULL else 1, min(left, longest))
            if isinstance(seconds, str):
                report.row(title, backend.name, seconds, "", "")
                continue
            products = 2 if "resamples" in title else 1
            rate = products * 2.0 * n_rows * n * draws / seconds / rates[backend.name]
            share = f"{100 * rate:.0f} %" if is_product else ""
            report.row(title, backend.name, f"{seconds:.3g}", f"{own / seconds:.3g}", share)
    if late:
        print(f"\nLeft out, out of time: {'; '.join(late)}")


def product_rates(found: list[Backend], side: int, report: Report) -> dict[str, float]:
    """Report how fast each library multiplies matrices, without TF32; return the rates in float64."""
    report.head("backend", "product", "TFLOP/s")
    rates = {}
    for backend in found:
        for kind in ("float32", "float64"):
            try:
                rates[backend.name] = product_rate(backend, kind, side)
                found_rate = f"{rates[backend.name] / 1e12:.3g}"
            except Exception as error:
                rates[backend.name], found_rate = math.nan, f"FAILED: {type(error).__name__}: {error}"
            report.row(backend.name, f"{kind}, side {side}", found_rate)
    return rates


def numpy_seconds(make: Callable[[Backend, int], Job], whole: int, part: int) -> float:
    """Extrapolate from two parts of a job, since what is the same for all rows is done once."""
    host = open_backend("numpy")
    once, twice = (median(make(host, size), 1) for size in (part, 2 * part))
    return max(twice, once + (twice - once) * (whole - part) / part)


def timed(
    make: Callable[[Backend, int], Job], backend: Backend, whole: int, rounds: int, longest: float
) -> float | str:
    """Return the seconds of a job, or why it has none."""
    try:
        with within(longest):
            with backend.precise():
                job = make(backend, whole)
            return median(job, rounds)
    except Exception as error:
        return f"FAILED: {type(error).__name__}: {' '.join(str(error).split())[:120]}"


def card() -> str:
    """Return what the driver says of the cards, if it has a tool for that."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return "no nvidia-smi"
    query = [tool, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, timeout=20, check=False).stdout.strip()


def main() -> None:
    """Print the checks and the times; the exit status says whether all checks passed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fast", action="store_true", help="tiny sizes, one round: shows that it works")
    parser.add_argument("--cpu", action="store_true", help="the processor's backends instead of a GPU's")
    parser.add_argument("--minutes", type=float, default=4.5, help="start no job after so many")
    parser.add_argument(
        "--longest", type=float, default=60.0, help="stop a check or job after so many seconds"
    )
    parser.add_argument("--json", type=Path, help="write all rows there")
    parser.add_argument("--backends", nargs="+", default=["cupy", "jax", "torch"])
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    found = list(backends(options.backends, options.cpu))
    if not found and options.fast and not options.cpu:
        print("\nNo accelerator: the processor's backends instead, which says nothing about a GPU.\n")
        found = list(backends(options.backends, True))
    if not found:
        sys.exit("no backend sees an accelerator; --cpu runs the processor's")
    sizes = FAST if options.fast else FULL
    print(f"\nranklens {rl.__version__}: {', '.join(f'{b.name} on {b.device}' for b in found)}; {card()}")
    report = Report(options.json)
    report.head("backend", "check", "found", "seconds")
    with memory_budget(sizes.budget):
        passed = [run_checks(backend, report, deadline, options.longest) for backend in found]
        time_all(found, sizes, report, deadline, options.longest)
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
