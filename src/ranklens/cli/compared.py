"""Compare measured runs, and say what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ranklens.cli import options as opt
from ranklens.cli.counting import count_notes, counts
from ranklens.cli.document import Document, Table
from ranklens.cli.progress import bar
from ranklens.cli.verdict import MOST_SENTENCES, segment_verdict, verdict
from ranklens.core import ComparisonResult
from ranklens.core.comparison_text import comparison_cells, how_made, notes
from ranklens.core.evaluation import Evaluation

if TYPE_CHECKING:
    from ranklens.cli.gating import Gate
    from ranklens.cli.group import Session

POWER = 0.8
"""The probability of seeing a difference that the verdict speaks of."""
Segments = Mapping[str, Mapping[str, str]]


def compare_runs(
    session: Session, evaluations: Mapping[str, Evaluation], segments: Segments, options: Mapping[str, Any]
) -> list[ComparisonResult]:
    """Compare with the first run, or all pairs; the rows of all queries first, then those of the segments."""
    from ranklens.stats import compare_many

    chosen = opt.pick(options, opt.TESTING)
    chosen["correction"] = None if options["correction"] == "none" else options["correction"]
    chosen["family"] = options["family"]
    chosen["baseline"] = None if options["all_pairs"] else next(iter(evaluations))
    with bar("comparing", quiet=session.quiet) as progress:
        return list(compare_many(evaluations, segments=segments or None, progress=progress, **chosen))


def comparison_document(
    rows: Sequence[ComparisonResult],
    evaluations: Mapping[str, Evaluation],
    gate: Gate,
    options: Mapping[str, Any],
) -> Document:
    """Return the verdict, the tables, the counts and how the numbers were made."""
    overall = [row for row in rows if row.segment is None]
    by_segment = [row for row in rows if row.segment is not None]
    visible = visible_effects(overall, evaluations, options)
    return Document(
        headline=[*verdict(overall, visible, POWER), *segment_verdict(by_segment), *gate.lines()],
        tables=comparison_tables(overall, by_segment),
        notes=[*how_made(rows), *count_notes(evaluations, options), *_paired(overall), *notes(rows)],
        records=[row.to_dict() for row in rows],
        payload={
            "seed": options["seed"],
            "runs": {name: counts(evaluation) for name, evaluation in evaluations.items()},
            "comparisons": [_with_sight(row, visible) for row in rows],
            "gate": gate.to_dict(),
        },
    )


def comparison_tables(
    overall: Sequence[ComparisonResult], by_segment: Sequence[ComparisonResult]
) -> list[Table]:
    """Return a table of all queries, and one by segment for each measure and pair of two runs."""
    pairs = {(row.run_a, row.run_b) for row in overall}
    tables = [_table(_pair_caption(overall) if len(pairs) == 1 else None, overall)]
    for metric in dict.fromkeys(row.metric for row in by_segment):
        rows = [row for row in by_segment if row.metric == metric]
        tables.append(_table(f"{metric} by segment", rows, without=("measure",)))
    return tables


def visible_effects(
    rows: Sequence[ComparisonResult], evaluations: Mapping[str, Evaluation], options: Mapping[str, Any]
) -> dict[tuple[str, str, str], float]:
    """Return the difference that each comparison would show with a probability of 0.8.

    Only for so few rows that each has its own sentence: nobody reads it for thousands.
    """
    from ranklens.stats import minimum_detectable_effect, paired_deltas, standard_deviation

    visible = {}
    for row in rows if len(rows) <= MOST_SENTENCES else ():
        if row.tested:
            a, b = (evaluations[run][row.metric].per_query for run in (row.run_a, row.run_b))
            sd = standard_deviation(paired_deltas(a, b, min_queries=options["min_queries"])[1])
            effect = minimum_detectable_effect(sd, row.n_queries, alpha=row.alpha, power=POWER)
            visible[row.run_a, row.run_b, row.metric] = effect
    return visible


def _table(caption: str | None, rows: Sequence[ComparisonResult], without: Sequence[str] = ()) -> Table:
    header, cells = comparison_cells(rows)
    dropped = {*without, *(("A", "B") if len({(row.run_a, row.run_b) for row in rows}) == 1 else ())}
    kept = [j for j, name in enumerate(header) if name not in dropped]
    return Table(caption, [header[j] for j in kept], [[row[j] for j in kept] for row in cells])


def _pair_caption(rows: Sequence[ComparisonResult]) -> str:
    return f"A = {rows[0].run_a}, B = {rows[0].run_b}"


def _paired(rows: Sequence[ComparisonResult]) -> list[str]:
    apart = [row for row in rows if row.n_only_a or row.n_only_b]
    if not apart:
        return []
    worst = max(apart, key=lambda row: row.n_only_a + row.n_only_b)
    return [
        f"queries of one run only, left out of the comparison: {worst.run_a} {worst.n_only_a}, "
        f"{worst.run_b} {worst.n_only_b}" + (" (the most of any pair)" if len(apart) > 1 else "")
    ]


def _with_sight(row: ComparisonResult, visible: Mapping[tuple[str, str, str], float]) -> dict[str, Any]:
    sight = visible.get((row.run_a, row.run_b, row.metric)) if row.segment is None else None
    return row.to_dict() | {"visible_effect": sight}
