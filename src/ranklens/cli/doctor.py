"""``ranklens doctor``: versions, backends and devices found, memory budget, known answers."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import TYPE_CHECKING, Any

import click

from ranklens import __version__
from ranklens.cli import options as opt
from ranklens.cli.failures import WRONG_USE

if TYPE_CHECKING:
    from ranklens.arrays import BackendStatus
    from ranklens.cli.document import Document
    from ranklens.cli.group import Session
    from ranklens.cli.self_test import Check

NEEDED = ("numpy", "polars", "click", "tabulate", "array-api-compat")
OPTIONAL = ("scipy", "pandas", "pyarrow")


@click.command(epilog="\b\nExample:\n  ranklens doctor --format json")
@opt.delivering(("table", "json", "csv", "markdown"))
@opt.common
@click.pass_obj
def command(session: Session, /, **options: Any) -> int:
    """Show versions, backends and devices found and the memory budget, and test known answers.

    The exit code is 1 when an answer is wrong.
    """
    from ranklens.arrays import describe_backends
    from ranklens.cli.measured import json_frame
    from ranklens.cli.self_test import self_test

    delivery = opt.delivery(options)
    opt.choose_backend(options["backend"])
    backends = describe_backends()
    checks = list(self_test([backend.name for backend in backends if backend.usable]))
    document = doctor_document(backends, checks)
    delivery.send(document, json_frame(session, "doctor", None, options) if delivery.format == "json" else {})
    return 0 if all(check.passed for check in checks) else WRONG_USE


def doctor_document(backends: list[BackendStatus], checks: list[Check]) -> Document:
    """Return what was found on this machine."""
    from ranklens.arrays import budget_bytes, current_backend
    from ranklens.cli.document import Document, Table

    failed = [check for check in checks if not check.passed]
    verdict = (
        f"{len(failed)} of {len(checks)} known answers are WRONG" if failed else "all known answers are right"
    )
    versions = {name: _version(name) for name in (*NEEDED, *OPTIONAL)}
    chosen = current_backend()
    return Document(
        headline=[f"ranklens {__version__}: {verdict}"],
        tables=[
            Table("backends", ["backend", "version", "device", "usable"], [_backend(b) for b in backends]),
            Table(
                "known answers", ["check", "backend", "found", "result"], [_answer(check) for check in checks]
            ),
        ],
        notes=[
            f"python {platform.python_version()} on {platform.system()} {platform.machine()}, "
            f"{os.cpu_count()} cores",
            ", ".join(f"{name} {version or 'not installed'}" for name, version in versions.items()),
            f"files are measured with {chosen.name}; temporary arrays: {budget_bytes() // 2**20} MiB at most",
            *(f"{b.name}: {b.why_not}" for b in backends if not b.usable),
            *(f"{c.name} on {c.backend}: expected {c.expected}, found {c.found}" for c in failed),
        ],
        records=[check._asdict() for check in checks],
        payload={
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(),
            "versions": versions,
            "memory_budget": budget_bytes(),
            "backends": [backend._asdict() for backend in backends],
            "checks": [check._asdict() for check in checks],
        },
    )


def _backend(status: BackendStatus) -> list[str | None]:
    return [status.name, status.version, status.device, "yes" if status.usable else "no"]


def _answer(check: Check) -> list[str]:
    shown = check.found if len(check.found) <= 40 else f"{check.found[:33]} ..."
    return [check.name, check.backend, shown, "ok" if check.passed else "WRONG"]


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
