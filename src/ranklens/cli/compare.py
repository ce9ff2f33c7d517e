"""``ranklens compare``: the verdict on two runs or many, and a gate for builds."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ranklens.cli import options as opt
from ranklens.cli.failures import UseError
from ranklens.cli.measure_words import MeasuringCommand, measures_of
from ranklens.cli.sampling import read_sampling, sampling

if TYPE_CHECKING:
    from ranklens.cli.group import Session

DEFAULT_MEASURES = ("nDCG@10",)

EPILOG = """\b
Examples:
  ranklens compare qrels.txt bm25.run dense.run -m nDCG@10 AP RR
  ranklens compare qrels.txt runs/*.run --all-pairs --method exact -m nDCG@10
  ranklens compare qrels.txt old.run new.run --weights traffic.csv:views \\
    --clusters traffic.csv:session --margin 0.01 --alternative greater
  ranklens compare qrels.tsv prod.parquet new.parquet -m nDCG@10 RR@10 \\
    --segments queries.csv:locale,device \\
    --fail-if 'delta(nDCG@10) < -0.01 and q(nDCG@10) < 0.05' \\
    --format markdown --output "$GITHUB_STEP_SUMMARY" --append

\b
The language of --fail-if (exit code 4 when a condition holds for a run):
  delta relative p q mean_a mean_b low high n wins ties losses
      a number of the comparison; delta and relative are run minus baseline,
      relative = delta / |mean_a|, low and high the ends of the interval.
      delta(nDCG@10) names the measure. A bare name is that of the measure
      named elsewhere in the condition, or of each measure in turn.
  < <= > >= == !=   + - * /   and or not   ( )
  segment(locale=de) and delta(nDCG@10) < -0.02 and p(nDCG@10) < 0.05
      the terms that "and" joins with segment(...) speak of that segment,
      all others of all queries; segment(locale=*) stands for each value in
      turn, and a value with blanks or parentheses is quoted: (locale="a b").
A condition that found nothing to test (no such queries, or fewer than
--min-queries) ends with code 3, never with 0.
"""


@click.command(cls=MeasuringCommand, epilog=EPILOG)
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="BASELINE RUN...")
@opt.measures(DEFAULT_MEASURES)
@click.option("--all-pairs", is_flag=True, help="Compare every pair of runs, not each with the first.")
@click.option(
    "--segments", metavar="FILE[:FIELD,...]", help="Also compare by segment: a table of query_id, field, ..."
)
@click.option(
    "--segment-names", metavar="NAME,...", help="Column names of a table of segments that has no header line."
)
@click.option(
    "--correction",
    type=click.Choice(["bh", "by", "holm", "maxt", "none"]),
    default="bh",
    show_default=True,
    help="q-values within each family: Benjamini-Hochberg or -Yekutieli, Holm, max-T, or none.",
)
@click.option(
    "--family",
    type=click.Choice(["measure", "pair", "segment field", "all"]),
    default="measure",
    show_default=True,
    help="What is corrected together: all rows of a measure, of a pair of runs, of both, or all.",
)
@opt.testing
@sampling
@click.option(
    "--fail-if",
    multiple=True,
    metavar="CONDITION",
    help="Exit with code 4 if this holds (see below); repeatable.",
)
@opt.measuring
@opt.delivering(("table", "json", "csv", "markdown", "latex"))
@opt.common
@click.pass_obj
def command(session: Session, /, **options: Any) -> int:
    """Compare each RUN with the BASELINE (the first run) on the judgements QRELS.

    Differences are RUN minus BASELINE, over the same queries. A run is a file, or NAME=FILE.
    """
    from ranklens.cli.compared import compare_runs, comparison_document
    from ranklens.cli.gating import Gate
    from ranklens.cli.inputs import check_segments, find_inputs, read_segments_of
    from ranklens.cli.measured import canonical_name, json_frame, measure_runs

    delivery = opt.delivery(options)
    inputs = find_inputs(options["qrels"], options["runs"], options["segments"])
    if len(inputs.runs) < 2:
        raise UseError(
            f"compare needs at least two runs, got {inputs.runs[0].path} alone; to measure it use eval"
        )
    gate = Gate(options["fail_if"])
    canonical = partial(canonical_name, rel=options["rel"])
    names = measures_of(options, DEFAULT_MEASURES)
    measures = list(dict.fromkeys(canonical(name) for name in names))
    columns = options["segment_names"].split(",") if options["segment_names"] else None
    segments = read_segments_of(inputs, columns)
    gate.resolve(measures, canonical, segments, corrected=options["correction"] != "none")
    design, tables = read_sampling(options)
    inputs = dataclasses.replace(inputs, more=tuple(tables))
    evaluations = measure_runs(session, inputs, measures, options)
    check_segments(inputs, segments, evaluations)
    rows = compare_runs(session, evaluations, segments, options, design)
    gate.check(rows)
    document = comparison_document(rows, evaluations, gate, options)
    frame = json_frame(session, "compare", inputs, options) if delivery.format == "json" else {}
    delivery.send(document, frame)
    return gate.close(seen=delivery.is_read)
