"""What was left out on each side: the counts that every table of measures comes with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ranklens.core.evaluation import Evaluation

_MOST_LISTED = 4


def counts(evaluation: Evaluation) -> dict[str, int]:
    """Return the counts of one run, fit for JSON."""
    return {
        "n_queries": evaluation.n_queries,
        "n_without_relevant": evaluation.n_without_relevant,
        "n_not_retrieved": evaluation.n_not_retrieved,
        "n_unjudged": evaluation.n_unjudged,
    }


def count_notes(evaluations: Mapping[str, Evaluation], options: Mapping[str, Any]) -> list[str]:
    """Return sentences on the queries that were measured, and on those that were not."""
    first = next(iter(evaluations.values()))
    scored = "scored 0" if options["missing"] == "zero" else "left out"
    missing = {name: e.n_not_retrieved for name, e in evaluations.items()}
    unjudged = {name: e.n_unjudged for name, e in evaluations.items()}
    return [
        f"queries measured: {_each({name: e.n_queries for name, e in evaluations.items()})}; "
        f"without a relevant document: {first.n_without_relevant}",
        f"judged but not answered ({scored}): {_each(missing)}; "
        f"answered but not judged (not measured): {_each(unjudged)}",
        *_unusual(options),
    ]


def _each(values: Mapping[str, int]) -> str:
    """Say a count once where it is the same for all runs, else run by run, or its range for many runs."""
    distinct = set(values.values())
    if len(distinct) == 1:
        return f"{distinct.pop()}{' in every run' if len(values) > 2 else ''}"
    if len(values) <= _MOST_LISTED:
        return ", ".join(f"{name} {value}" for name, value in values.items())
    worst = max(values, key=lambda name: values[name])
    return f"{min(distinct)} to {max(distinct)} ({worst})"


def _unusual(options: Mapping[str, Any]) -> list[str]:
    """Say which options changed what a measure means."""
    said = {
        "score_precision": ("float64", "scores compared as {}"),
        "depth": (None, "rankings cut at rank {}"),
        "judged_only": (False, "unjudged documents taken out"),
        "rel": (1, "relevant from grade {}"),
    }
    changed = [text.format(options[name]) for name, (usual, text) in said.items() if options[name] != usual]
    return ["; ".join(changed)] if changed else []
