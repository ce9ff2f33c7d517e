"""What must hold on a device: known random words, types, full products, few transfers, numpy's decisions.

Each check returns what it found, and raises where that is wrong.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

import ranklens as rl
from ranklens.arrays import Backend, Purpose, to_host, transfer
from ranklens.arrays.philox import ROUNDS, device_words, philox

Job = Callable[[], Any]

# Random123's first vector (all zeros), and the digest of words on both sides of a block's end.
ZEROS = "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b"
GOLDEN = {Purpose.FLIPS: "3620dc3b72b4a7f0", Purpose.RESAMPLES: "2085a25795b03502"}
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
SINGLE_EPS = 2.0**-23
QUIET: dict[str, Any] = {"method": "monte-carlo", "correction": None}


def check_known_answer(backend: Backend) -> str:
    zero = backend.asarray(np.zeros(1, dtype=np.int64))
    keys = np.array([[(step * weyl) % 2**64 for weyl in WEYL] for step in range(ROUNDS)], dtype=np.uint64)
    lanes = to_host(*philox(zero, zero, zero, zero, backend.asarray(keys)))
    found = " ".join(f"{int(lane.view(np.uint64)[0]):016x}" for lane in lanes)
    assert found == ZEROS, found
    return found[:16]


def check_golden_words(backend: Backend) -> str:
    for purpose, digest in GOLDEN.items():
        (made,) = to_host(device_words(backend, 7, 4090, 4106, range(3), purpose))
        found = hashlib.sha256(made.astype("<i8").tobytes()).hexdigest()[:16]
        assert found == digest, f"{purpose.name}: {found}"
    return ", ".join(GOLDEN.values())


def check_types(backend: Backend) -> str:
    array = backend.asarray(np.array([0.5]))
    assert "float64" in str(array.dtype), array.dtype
    assert "int64" in str(backend.asarray(np.array([1])).dtype)
    deltas = np.round(np.random.default_rng(0).normal(0.05, 0.2, 60), 1)
    expected = rl.permutation_test(deltas)
    for kind in ("float32", "float64"):
        single = backend.asarray(deltas, dtype=getattr(backend.xp, kind))
        assert rl.permutation_test(single) == expected, kind
    counts = backend.asarray(np.rint(10 * deltas).astype(np.int64))
    assert rl.permutation_test(counts) == expected, "int64"
    return "float64 inside; float32 and int64 inputs give the same p"


def check_full_products(backend: Backend) -> str:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 512, 512)).astype(np.float32)
    xp = backend.xp
    left, right = (backend.asarray(x, dtype=xp.float32) for x in (a, b))
    (found,) = to_host(left @ right)
    error = np.abs(found - a.astype(np.float64) @ b).max() / np.abs(a).sum(axis=1).max()
    assert error < 64 * SINGLE_EPS, f"float32 products are off by {error:.1e}: TF32?"
    return f"float32 products off by {error:.1e} of their terms (TF32: 1e-4)"


class Report:
    """Rows of tables that are printed as they are found, and kept in a file."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rows: list[list[str]] = []

    def head(self, *names: str) -> None:
        """Begin a table."""
        print(f"\n| {' | '.join(names)} |\n|{' --- |' * len(names)}", flush=True)

    def row(self, *cells: str) -> None:
        """Print a row, and write all so far."""
        print(f"| {' | '.join(cells)} |", flush=True)
        self.rows.append(list(cells))
        if self.path is not None:
            self.path.write_text(json.dumps(self.rows, indent=1), "utf-8")


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in what takes longer, once it comes back to Python."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"not done in {seconds:.0f} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def counted_transfers(backend: Backend) -> Iterator[SimpleNamespace]:
    """Count what comes to the host; what waits for the device in another way raises in JAX and cupy."""
    seen = SimpleNamespace(count=0)

    def counting(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            seen.count += 1
            return function(*args, **kwargs)

        return call

    with contextlib.ExitStack() as stack:
        if backend.name == "jax":
            jax = importlib.import_module("jax")
            stack.enter_context(jax.transfer_guard_device_to_host("disallow"))
            stack.enter_context(mock.patch.object(jax, "device_get", counting(jax.device_get)))
        elif backend.name == "torch":
            kind = importlib.import_module("torch").Tensor
            for name in ("cpu", "item", "tolist", "__bool__", "__int__", "__float__"):
                stack.enter_context(mock.patch.object(kind, name, counting(getattr(kind, name))))
        elif backend.name == "cupy":
            allow = importlib.import_module("cupyx").allow_synchronize

            def fetch(array: Any, fetched: Callable[[Any], Any] = transfer._fetch) -> Any:
                with allow(True):
                    return fetched(array)

            stack.enter_context(allow(False))
            stack.enter_context(mock.patch.object(transfer, "_fetch", counting(fetch)))
        else:
            stack.enter_context(mock.patch.object(transfer, "_fetch", counting(transfer._fetch)))
        yield seen


def synchronised(backend: Backend, job: Job) -> str:
    """Return how often torch itself says that a job waits for CUDA, which sending to it does as well."""
    if backend.name != "torch" or backend.device.type != "cuda":
        return ""
    torch = importlib.import_module("torch")
    torch.set_warn_always(True)
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            job()
    finally:
        torch.cuda.set_sync_debug_mode("default")
        torch.set_warn_always(False)
    return f" (torch: {sum('synchroniz' in str(warning.message) for warning in said)} both ways)"


def check_transfers(backend: Backend) -> str:
    rows = np.random.default_rng(0).normal(0.1, 1.0, (6, 60))
    deltas, batch = backend.asarray(rows[0]), backend.asarray(rows)
    jobs: dict[str, tuple[int, Job]] = {
        "permutation_test": (1, lambda: rl.permutation_test(deltas)),
        "paired_bootstrap": (1, lambda: rl.paired_bootstrap(deltas)),
        "compare_deltas": (1, lambda: rl.compare_deltas(batch, **QUIET)),
        "exact permutation_test": (2, lambda: rl.permutation_test(deltas, method="exact")),
    }
    found = []
    for name, (most, job) in jobs.items():
        job()
        with counted_transfers(backend) as seen:
            job()
        assert seen.count <= most, f"{name}: {seen.count} transfers"
        found.append(f"{name} {seen.count}{synchronised(backend, job)}")
    return ", ".join(found)


def check_decisions(backend: Backend) -> str:
    rng = np.random.default_rng(1)
    rows = rng.normal(0.02, 0.3, (16, 300))
    rows[::2] = np.round(rows[::2], 1)
    mask = np.arange(300) < np.array([300, 200])[np.arange(16) // 8][:, None]
    there, here = backend.asarray(rows), rows
    worst = 0.0
    for options in ({"correction": "maxt"}, {"mask": mask}, {"alternative": "greater"}):
        found, expected = (
            rl.compare_deltas(x, **(QUIET | {"n_resamples": 2000} | options)) for x in (there, here)
        )
        for name in ("p_value", "q_value", "wins", "losses"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
        for name in ("delta", "ci_low", "ci_high"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-10, atol=1e-14)
        worst = max(worst, float(np.abs(found.ci_low - expected.ci_low).max()))
    exact = [rl.compare_deltas(x, method="exact", correction=None).p_value for x in (there, here)]
    np.testing.assert_allclose(exact[0], exact[1], rtol=1e-6, atol=1e-12)
    return f"counts equal; lower ends within {worst:.0e}"


CHECKS: dict[str, Callable[[Backend], str]] = {
    "Random123's known answer": check_known_answer,
    "golden words": check_golden_words,
    "types": check_types,
    "full products": check_full_products,
    "transfers to the host a call": check_transfers,
    "decisions as on the processor": check_decisions,
}


def run_checks(backend: Backend, report: Report, deadline: float, longest: float) -> bool:
    """Add a row for every check; whether all passed."""
    passed = True
    for name, check in CHECKS.items():
        begun = time.monotonic()
        try:
            with within(min(longest, deadline - begun)), backend.precise():
                found = f"ok: {check(backend)}"
        except Exception as error:
            passed, found = False, f"FAILED: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        report.row(backend.name, name, found, f"{time.monotonic() - begun:.1f}")
    return passed
