"""What was left out on each side: the counts that every table of measures comes with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ranklens.core.errors import DataError
from ranklens.core.evaluation import Evaluation

_MOST_LISTED = 4
USUAL_COVERAGE = 0.9
"""A run that answers a smaller share of the judged queries is warned of."""


def counts(evaluation: Evaluation) -> dict[str, int]:
    """Return the counts of one run, fit for JSON."""
    return {
        "n_queries": evaluation.n_queries,
        "n_without_relevant": evaluation.n_without_relevant,
        "n_not_retrieved": evaluation.n_not_retrieved,
        "n_unjudged": evaluation.n_unjudged,
        "n_left_out": evaluation.n_left_out,
    }


def paired_counts(a: Evaluation, b: Evaluation) -> dict[str, int]:
    """Return the counts of two runs as cells of one record; their queries may differ."""
    sides = {"a": counts(a), "b": counts(b)}
    names = [name for name in sides["a"] if name != "n_queries"]
    return {f"{name}_{side}": found[name] for name in names for side, found in sides.items()}


def coverage_warnings(evaluations: Mapping[str, Evaluation]) -> list[str]:
    """Return a sentence for each run whose mean says little, since many judged queries have no answer."""
    poor = sorted((e.coverage, name) for name, e in evaluations.items() if e.coverage < USUAL_COVERAGE)
    lines = [f"warning: {_coverage(name, evaluations[name])}" for _, name in poor[:_MOST_LISTED]]
    if len(poor) > _MOST_LISTED:
        lines.append(f"warning: {len(poor) - _MOST_LISTED} more runs answer less than {USUAL_COVERAGE:.0%}")
    return lines


def check_coverage(evaluations: Mapping[str, Evaluation], least: float | None) -> None:
    """Raise DataError where a run answers less than the share `least` of the judged queries."""
    name, worst = min(evaluations.items(), key=lambda item: item[1].coverage)
    if least is not None and worst.coverage < least:
        raise DataError(f"{_coverage(name, worst)}; --min-coverage {least:g} was asked for")


def _coverage(name: str, e: Evaluation) -> str:
    n_judged = e.n_queries + (e.n_not_retrieved if e.missing == "skip" else 0)
    n = e.n_not_retrieved
    words = {"zero": ("scores 0", "score 0"), "skip": ("is left out", "are left out")}[e.missing]
    others = f"the other {n} {words[n > 1]}"
    return f"{name} answers {n_judged - e.n_not_retrieved} of {n_judged} judged queries; {others}"


def count_line(evaluations: Mapping[str, Evaluation]) -> str | None:
    """Return, in one line, the counts that are not zero; None where all are."""
    parts = []
    for name, e in evaluations.items():
        told = [f"{label} {value}" for label, value in _labelled(e).items() if value]
        parts += [f"{name}: {', '.join(told)}"] if told else []
    return "; ".join(parts) or None


def _labelled(e: Evaluation) -> dict[str, int]:
    return {
        "judged but not answered": e.n_not_retrieved,
        "answered but not judged": e.n_unjudged,
        "without a relevant document": e.n_without_relevant,
        "unreadable rows left out": e.n_left_out,
    }


def count_notes(evaluations: Mapping[str, Evaluation], options: Mapping[str, Any]) -> list[str]:
    """Return sentences on the queries that were measured, and on those that were not."""
    first = next(iter(evaluations.values()))
    scored = "scored 0" if options["missing"] == "zero" else "left out"
    missing = {name: e.n_not_retrieved for name, e in evaluations.items()}
    unjudged = {name: e.n_unjudged for name, e in evaluations.items()}
    unread = {name: e.n_left_out for name, e in evaluations.items()}
    return [
        f"queries measured: {_each({name: e.n_queries for name, e in evaluations.items()})}; "
        f"without a relevant document: {first.n_without_relevant}",
        f"judged but not answered ({scored}): {_each(missing)}; "
        f"answered but not judged (not measured): {_each(unjudged)}",
        *(
            [f"unreadable rows left out (run and judgements): {_each(unread)}"]
            if any(unread.values())
            else []
        ),
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
