"""``ranklens power``: how many queries an effect needs, and what effect these queries can see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ranklens.cli import options as opt
from ranklens.cli.failures import UseError
from ranklens.cli.measure_words import MeasuringCommand, measures_of

if TYPE_CHECKING:
    from ranklens.cli.document import Document
    from ranklens.cli.group import Session
    from ranklens.core.evaluation import Evaluation

DEFAULT_MEASURES = ("nDCG@10",)
Row = dict[str, Any]

EPILOG = """\b
Examples:
  ranklens power --sd 0.2 --n 50            what difference can 50 queries see?
  ranklens power --sd 0.2 --delta 0.02      how many queries does 0.02 need?
  ranklens power qrels.txt a.run b.run -m nDCG@10 AP --delta 0.02
      the same, with the spread and the number of your own queries
"""


@click.command(cls=MeasuringCommand, epilog=EPILOG)
@click.argument("files", nargs=-1, metavar="[QRELS RUN_A RUN_B]")
@opt.measures(DEFAULT_MEASURES)
@click.option("--sd", type=opt.Finite(), help="Standard deviation of the per-query differences.")
@click.option("--n", "n_queries", type=click.IntRange(min=2), help="Number of queries.")
@click.option("--delta", type=opt.Finite(), help="The mean difference that would matter.")
@click.option("--alpha", type=opt.PROPORTION, default=0.05, show_default=True, help="Two-sided level.")
@click.option(
    "--power",
    type=opt.PROPORTION,
    default=0.8,
    show_default=True,
    help="Probability of seeing the difference.",
)
@opt.measuring
@opt.delivering(("table", "json", "csv", "markdown", "latex"))
@opt.common
@click.pass_obj
def command(session: Session, /, **options: Any) -> None:
    """Say how many queries a difference needs, and what difference a number of queries can see.

    Give the spread of the differences (--sd) with --n or --delta; or judgements and two runs, whose spread
    and number of queries are then used.
    """
    from ranklens.cli.measured import json_frame

    delivery = opt.delivery(options)
    inputs = None
    evaluations: Mapping[str, Evaluation]
    if options["files"]:
        rows, inputs, evaluations = _rows_of_runs(session, options)
    else:
        rows, evaluations = [_row_of_numbers(options)], {}
    frame = json_frame(session, "power", inputs, options) if delivery.format == "json" else {}
    document = power_document(rows, options["alpha"], options["power"])
    delivery.send(with_counts(document, evaluations, options) if evaluations else document, frame)


def power_row(
    measure: str | None, sd: float, n: int | None, deltas: Sequence[float | None], alpha: float, power: float
) -> Row:
    """Return what n queries can see, and how many queries the first delta that is given needs."""
    from ranklens.stats import minimum_detectable_effect, required_queries

    delta = next((d for d in deltas if d), None)
    levels = {"alpha": alpha, "power": power}
    return {
        "measure": measure,
        "sd": sd,
        "n_queries": n,
        "visible_effect": None if n is None else minimum_detectable_effect(sd, n, **levels),
        "delta": delta,
        "required_queries": None if delta is None else required_queries(delta, sd, **levels),
        **levels,
    }


def power_document(rows: Sequence[Row], alpha: float, power: float) -> Document:
    """Return the answers as sentences, a table and the formula."""
    from ranklens.cli.document import Document, Table
    from ranklens.core.presentation import fixed

    cells = [
        [
            row["measure"] or "",
            fixed(row["sd"]),
            row["n_queries"],
            fixed(row["visible_effect"]),
            fixed(row["delta"], sign=True),
            row["required_queries"],
        ]
        for row in rows
    ]
    header = ["measure", "sd", "queries", "they can see", "delta", "it needs"]
    skipped = 1 if all(row["measure"] is None for row in rows) else 0
    return Document(
        headline=[line for row in rows for line in _sentences(row)],
        tables=[Table(None, header[skipped:], [line[skipped:] for line in cells])],
        notes=[
            "they can see: the mean difference that so many queries show with the given power; "
            "it needs: the number of queries that show delta",
            f"(z(1 - alpha/2) + z(power)) * sd / sqrt(n), two-sided, alpha {alpha:g}, power {power:g}",
        ],
        records=rows,
        payload={"results": list(rows)},
    )


def with_counts(
    document: Document, evaluations: Mapping[str, Evaluation], options: Mapping[str, Any]
) -> Document:
    """Add what was counted while the two runs were measured."""
    from ranklens.cli.counting import count_notes, counts, coverage_warnings, paired_counts

    pair = paired_counts(*evaluations.values())
    return replace(
        document,
        headline=[*coverage_warnings(evaluations), *document.headline],
        notes=[*document.notes, *count_notes(evaluations, options)],
        records=[{**row, **pair} for row in document.records],
        payload={**document.payload, "runs": {name: counts(e) for name, e in evaluations.items()}},
    )


def _row_of_numbers(options: dict[str, Any]) -> Row:
    if options["sd"] is None:
        raise click.UsageError("give --sd with --n or --delta, or QRELS RUN_A RUN_B")
    if options["n_queries"] is None and options["delta"] is None:
        raise click.UsageError("give --n (what can they see?) or --delta (how many queries does it need?)")
    if options["delta"] == 0:
        raise UseError("--delta must be a difference other than 0: no number of queries shows nothing")
    return power_row(
        None,
        options["sd"],
        options["n_queries"],
        [options["delta"]],
        alpha=options["alpha"],
        power=options["power"],
    )


def _rows_of_runs(
    session: Session, options: dict[str, Any]
) -> tuple[list[Row], Any, Mapping[str, Evaluation]]:
    from ranklens.cli.inputs import find_inputs
    from ranklens.cli.measured import measure_runs
    from ranklens.stats import paired_deltas, standard_deviation

    if len(options["files"]) != 3:
        raise UseError(f"power takes QRELS RUN_A RUN_B, got {len(options['files'])} files")
    if options["sd"] is not None:
        raise UseError("--sd is taken from the runs; give either --sd or files")
    inputs = find_inputs(options["files"][0], options["files"][1:])
    names = measures_of(options, DEFAULT_MEASURES)
    evaluations = measure_runs(session, inputs, names, options)
    a, b = evaluations.values()
    rows = []
    for result in a.metrics:
        deltas = paired_deltas(result.per_query, b[result.metric].per_query)[1]
        observed = float(sum(deltas) / len(deltas))
        rows.append(
            power_row(
                result.metric,
                standard_deviation(deltas),
                options["n_queries"] or len(deltas),
                [options["delta"], observed],
                alpha=options["alpha"],
                power=options["power"],
            )
        )
    return rows, inputs, evaluations


def _sentences(row: Row) -> list[str]:
    from ranklens.core.presentation import fixed

    head = f"{row['measure']}: " if row["measure"] else ""
    lines = []
    if row["visible_effect"] is not None:
        lines.append(
            f"{head}{row['n_queries']} queries can see a mean difference of {fixed(row['visible_effect'])} "
            f"or more ({row['power']:.0%} of the time)."
        )
    if row["required_queries"] is not None:
        lines.append(
            f"{head}a mean difference of {fixed(abs(row['delta']))} needs {row['required_queries']} queries."
        )
    return lines
