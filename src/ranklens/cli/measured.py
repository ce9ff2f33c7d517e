"""Measure the runs of a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ranklens import __version__
from ranklens.cli import options as opt
from ranklens.cli.progress import bar

if TYPE_CHECKING:
    from ranklens.cli.group import Session
    from ranklens.cli.inputs import Inputs
    from ranklens.core.evaluation import Evaluation


def measure_runs(
    session: Session, inputs: Inputs, measures: Sequence[str], options: Mapping[str, Any]
) -> Mapping[str, Evaluation]:
    """Read and measure every run with the command's options, in one batch."""
    from ranklens.metrics import evaluate, evaluate_many

    opt.choose_backend(options["backend"])
    chosen = opt.pick(options, opt.MEASURING)
    if len(inputs.runs) == 1:
        run = inputs.runs[0]
        return {run.name: evaluate(run.path, inputs.qrels.path, measures, **chosen)}
    with bar("measuring", quiet=session.quiet) as progress:
        return evaluate_many(inputs.paths, inputs.qrels.path, measures, progress=progress, **chosen)


def canonical_name(name: str, rel: float) -> str:
    """Return the name that a measure has in results, given the default relevance threshold."""
    from ranklens.metrics import parse_measure

    return parse_measure(name).with_default_rel(rel).name


def json_frame(
    session: Session, command: str, inputs: Inputs | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what JSON says about a command: version, arguments, options, files with hashes, warnings."""
    from ranklens.arrays import current_backend

    files = set(opt.DELIVERING) | {"backend", "qrels", "runs", "segments", "write"}
    return {
        "ranklens": __version__,
        "command": command,
        "arguments": list(session.arguments),
        "backend": current_backend().name,
        "inputs": inputs.to_list() if inputs is not None else [],
        "options": {name: value for name, value in options.items() if name not in files},
        "warnings": list(session.warnings),
    }
