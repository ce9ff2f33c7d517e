"""Measure the runs of a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ranklens import __version__
from ranklens.cli import options as opt
from ranklens.cli.counting import check_coverage
from ranklens.cli.progress import bar

if TYPE_CHECKING:
    from ranklens.cli.group import Session
    from ranklens.cli.inputs import Inputs
    from ranklens.core.evaluation import Evaluation


def measure_runs(
    session: Session, inputs: Inputs, measures: Sequence[str], options: Mapping[str, Any]
) -> Mapping[str, Evaluation]:
    """Read and measure every run with the command's options, in one batch."""
    from ranklens.io import read_qrels, read_run
    from ranklens.metrics import evaluate_many

    opt.choose_backend(options["backend"])
    runs: Mapping[str, Any] = {run.name: run.path for run in inputs.runs}
    qrels: Any = inputs.qrels.path
    how = {"on_error": options["on_error"]}
    if options["qrels_columns"]:
        qrels = read_qrels(qrels, columns=options["qrels_columns"], **how)
    if columns := options["run_columns"]:
        runs = {name: read_run(path, columns=columns, name=name, **how) for name, path in runs.items()}
    with bar("measuring", quiet=session.quiet) as progress:
        found = evaluate_many(runs, qrels, measures, progress=progress, **opt.pick(options, opt.MEASURING))
    check_coverage(found, options["min_coverage"])
    return found


def canonical_name(name: str, rel: float) -> str:
    """Return the name that a measure has in results, given the default relevance threshold."""
    from ranklens.metrics import parse_measure

    return parse_measure(name).with_default_rel(rel).name


def json_frame(
    session: Session, command: str, inputs: Inputs | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what JSON says about a command: version, arguments, options, files with hashes, warnings."""
    from ranklens.arrays import current_backend

    files = set(opt.DELIVERING) | {"backend", "qrels", "runs", "segments", "write", "plot"}
    return {
        "ranklens": __version__,
        "command": command,
        "arguments": list(session.arguments),
        "backend": current_backend().name,
        "inputs": inputs.to_list() if inputs is not None else [],
        "options": {name: value for name, value in options.items() if name not in files},
        "warnings": list(session.warnings),
    }
