"""Compare measured runs, and say what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ranklens.cli import options as opt
from ranklens.cli.counting import count_notes, counts, coverage_warnings, paired_counts
from ranklens.cli.document import Document, Table
from ranklens.cli.option_names import as_options
from ranklens.cli.progress import bar
from ranklens.cli.verdict import MOST_SENTENCES, segment_verdict, verdict
from ranklens.core import ComparisonResult
from ranklens.core.comparison_text import common_baseline, comparison_cells, how_made, notes
from ranklens.core.evaluation import Evaluation
from ranklens.core.presentation import fixed

if TYPE_CHECKING:
    from ranklens.cli.gating import Gate
    from ranklens.cli.group import Session

POWER = 0.8
"""The probability of seeing a difference that the verdict speaks of."""
Segments = Mapping[str, Mapping[str, str]]


def compare_runs(
    session: Session,
    evaluations: Mapping[str, Evaluation],
    segments: Segments,
    options: Mapping[str, Any],
    design: Mapping[str, Any] = MappingProxyType({}),
) -> list[ComparisonResult]:
    """Compare with the first run, or all pairs; the rows of all queries first, then those of the segments.

    `design` holds the arguments of `compare_many` about the sample of queries.
    """
    from ranklens.stats import compare_many, simultaneous

    chosen = {**opt.pick(options, opt.TESTING), **design}
    chosen["correction"] = None if options["correction"] == "none" else options["correction"]
    chosen["family"] = options["family"]
    chosen["baseline"] = None if options["all_pairs"] else next(iter(evaluations))
    with bar("comparing", quiet=session.quiet) as progress:
        table = compare_many(evaluations, segments=segments or None, progress=progress, **chosen)
    if options.get("simultaneous") is None:
        return list(table)
    if options["simultaneous"] == "bonferroni":
        return list(simultaneous(table))
    drawn: dict[str, Any] = {name: options[name] for name in ("n_permutations", "seed")}
    sample: dict[str, Any] = {name: design.get(name) for name in ("weights", "clusters")}
    return list(simultaneous(table, evaluations, segments=segments or None, **sample, **drawn))


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
        headline=[
            *coverage_warnings(evaluations),
            *verdict(overall, visible, POWER),
            *segment_verdict(by_segment),
            *gate.lines(),
        ],
        tables=comparison_tables(overall, by_segment),
        notes=[
            *how_told(rows),
            *count_notes(evaluations, options),
            *_left_out(rows),
            *map(as_options, notes(rows)),
        ],
        records=[
            row.to_dict() | paired_counts(evaluations[row.run_a], evaluations[row.run_b]) for row in rows
        ],
        payload={
            "seed": options["seed"],
            "measures": list(dict.fromkeys(row.metric for row in overall)),
            "runs": {name: counts(evaluation) for name, evaluation in evaluations.items()},
            "comparisons": [_with_sight(row, visible) for row in rows],
            "gate": gate.to_dict(),
        },
    )


def comparison_tables(
    overall: Sequence[ComparisonResult], by_segment: Sequence[ComparisonResult]
) -> list[Table]:
    """Return the tables of all queries (one a measure for several pairs of runs), and those by segment.

    Segments without any measured query are left to the notes.
    """
    several = len({(row.run_a, row.run_b) for row in overall}) > 1
    groups = _grouped(overall, lambda row: (row.metric,)) if several else [list(overall)]
    tables = [_table(rows, []) for rows in groups if rows]
    measured = [row for row in by_segment if row.n_queries]
    groups = _grouped(measured, lambda row: (row.metric, row.run_a, row.run_b))
    return tables + [_table(rows, [f"{rows[0].metric} by segment"]) for rows in groups]


def how_told(rows: Sequence[ComparisonResult]) -> list[str]:
    """Return how the numbers were made; the captions say already which run is A."""
    lines = how_made(rows)
    return lines[1:] if common_baseline(rows) is not None else lines


def visible_effects(
    rows: Sequence[ComparisonResult], evaluations: Mapping[str, Evaluation], options: Mapping[str, Any]
) -> dict[tuple[str, str, str], float]:
    """Return the difference that each comparison would show with a probability of 0.8.

    Only for so few rows that each has its own sentence: nobody reads it for thousands.
    """
    from ranklens.stats import minimum_detectable_effect, paired_deltas, standard_deviation

    visible = {}
    for row in rows if len(rows) <= MOST_SENTENCES else ():
        if row.tested and row.n_units is None and row.margin is None:
            a, b = (evaluations[run][row.metric].per_query for run in (row.run_a, row.run_b))
            sd = standard_deviation(paired_deltas(a, b, min_queries=options["min_queries"])[1])
            # One tail of a two-sided test at twice the level is the one-sided test.
            alpha = row.alpha if row.alternative == "two-sided" else min(2.0 * row.alpha, 0.999)
            effect = minimum_detectable_effect(sd, row.n_queries, alpha=alpha, power=POWER)
            visible[row.run_a, row.run_b, row.metric] = effect
    return visible


def _grouped(
    rows: Sequence[ComparisonResult], key: Callable[[ComparisonResult], tuple[str, ...]]
) -> list[list[ComparisonResult]]:
    groups: dict[tuple[str, ...], list[ComparisonResult]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.values())


def _table(rows: Sequence[ComparisonResult], caption: list[str]) -> Table:
    """Return the comparisons as a table; what is the same in all rows stands in the caption instead."""
    header, cells = comparison_cells(rows)
    first = rows[0]
    same: dict[str, tuple[set[Any], str]] = {
        "A": ({row.run_a for row in rows}, f"A = {first.run_a}"),
        "B": ({row.run_b for row in rows}, f"B = {first.run_b}"),
        "n": ({row.n_queries for row in rows}, f"n = {first.n_queries} queries"),
    }
    if len(rows) > 1 and len(same["A"][0]) == 1:
        same["mean A"] = ({row.mean_a for row in rows}, f"mean A = {fixed(first.mean_a)}")
    if not caption and len(rows) > 1:
        same = {"measure": ({row.metric for row in rows}, first.metric), **same}
    told = {name: text for name, (values, text) in same.items() if len(values) == 1}
    dropped = {*told, *(["measure"] if caption else [])}
    kept = [j for j, name in enumerate(header) if name not in dropped]
    return Table(
        ", ".join([*caption, *told.values()]),
        [header[j] for j in kept],
        [[row[j] for j in kept] for row in cells],
        spare=("rel.", "w/t/l", "p", "mean A"),
    )


def _left_out(rows: Sequence[ComparisonResult]) -> list[str]:
    """Say which queries and segments took no part."""
    lines = []
    apart = [row for row in rows if row.segment is None and (row.n_only_a or row.n_only_b)]
    if apart:
        worst = max(apart, key=lambda row: row.n_only_a + row.n_only_b)
        lines.append(
            f"queries of one run only, left out of the comparison: {worst.run_a} {worst.n_only_a}, "
            f"{worst.run_b} {worst.n_only_b}" + (" (the most of any pair)" if len(apart) > 1 else "")
        )
    empty = sorted({row.segment for row in rows if row.segment is not None and not row.n_queries})
    if empty:
        more = f" and {len(empty) - MOST_SENTENCES} more" if len(empty) > MOST_SENTENCES else ""
        lines.append(f"segments without a measured query: {', '.join(empty[:MOST_SENTENCES])}{more}")
    return lines


def _with_sight(row: ComparisonResult, visible: Mapping[tuple[str, str, str], float]) -> dict[str, Any]:
    sight = visible.get((row.run_a, row.run_b, row.metric)) if row.segment is None else None
    return row.to_dict() | {"visible_effect": sight}
