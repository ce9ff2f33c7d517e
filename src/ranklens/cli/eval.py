"""``ranklens eval``: measures of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ranklens.cli import options as opt
from ranklens.cli.measure_words import MeasuringCommand, measures_of

if TYPE_CHECKING:
    from ranklens.cli.document import Document, Table
    from ranklens.cli.group import Session
    from ranklens.core.evaluation import Evaluation

DEFAULT_MEASURES = ("nDCG@10", "AP", "RR")
COUNTED = ("NumRel", "NumRet", "NumRelRet")
"""Measures that trec_eval adds up over the queries, where others are averaged."""

EPILOG = """\b
Examples:
  ranklens eval qrels.txt bm25.run.gz -m nDCG@10 'AP(rel=2)' RR
  ranklens eval qrels.txt old=a.run new=b.parquet -m P@10 --format markdown
  ranklens eval qrels.txt bm25.run -q -m map ndcg_cut_10 --format trec
"""


@click.command(cls=MeasuringCommand, epilog=EPILOG)
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@opt.measures(DEFAULT_MEASURES)
@click.option("-q", "--per-query", is_flag=True, help="Show every query.")
@opt.measuring
@opt.delivering(("table", "json", "csv", "markdown", "latex", "trec"))
@opt.common
@click.pass_obj
def command(session: Session, /, **options: Any) -> None:
    """Measure RUNs against the judgements QRELS.

    A run is a file, or NAME=FILE; `-` is standard input. Measures are written as in ir_measures (nDCG@10,
    AP(rel=2)), trec_eval (ndcg_cut_10, map) or ranx (ndcg@10).
    """
    from ranklens.cli.inputs import find_inputs
    from ranklens.cli.measured import json_frame, measure_runs

    delivery = opt.delivery(options)
    inputs = find_inputs(options["qrels"], options["runs"])
    evaluations = measure_runs(session, inputs, measures_of(options, DEFAULT_MEASURES), options)
    document = eval_document(evaluations, options, per_query=options["per_query"])
    frame = json_frame(session, "eval", inputs, options) if delivery.format == "json" else {}
    delivery.send(document, frame)


def eval_document(
    evaluations: Mapping[str, Evaluation], options: Mapping[str, Any], *, per_query: bool
) -> Document:
    """Return means (and with `per_query` every value) of every run."""
    from ranklens.cli.counting import count_line, count_notes, counts, coverage_warnings
    from ranklens.cli.document import Document

    names = [result.metric for result in next(iter(evaluations.values())).metrics]
    wanted = options["format"]
    table = per_query_table if per_query else means_table
    if per_query:
        rows = [(run, query, values) for run, e in evaluations.items() for query, values in _by_query(e)]
    else:
        rows = [(run, "all", [result.mean for result in e.metrics]) for run, e in evaluations.items()]
    return Document(
        headline=coverage_warnings(evaluations),
        tables=[table(names, evaluations)] if wanted in ("table", "markdown", "latex") else [],
        notes=count_notes(evaluations, options),
        records=[
            {
                "run": run,
                "query_id": query,
                **dict(zip(names, values, strict=True)),
                **counts(evaluations[run]),
            }
            for run, query, values in rows
        ],
        payload={
            "measures": names,
            "runs": {
                run: {
                    **counts(e),
                    "means": {result.metric: result.mean for result in e.metrics},
                    **({"per_query": _nested(e)} if per_query else {}),
                }
                for run, e in evaluations.items()
            },
        },
        trec=_trec(evaluations, per_query) if wanted == "trec" else [],
        aside=count_line(evaluations),
    )


def _by_query(evaluation: Evaluation) -> list[tuple[str, list[float]]]:
    columns = [result.values.tolist() for result in evaluation.metrics]
    queries = evaluation.metrics[0].query_ids
    return [(query, list(values)) for query, *values in zip(queries, *columns, strict=True)]


def _nested(evaluation: Evaluation) -> dict[str, dict[str, float]]:
    return {
        result.metric: {q: float(v) for q, v in result.per_query.items()} for result in evaluation.metrics
    }


def means_table(names: Sequence[str], evaluations: Mapping[str, Evaluation]) -> Table:
    """Return a row of means for each run."""
    from ranklens.cli.document import Table
    from ranklens.core.presentation import fixed

    cells = [[run, *(fixed(e[name].mean) for name in names)] for run, e in evaluations.items()]
    return Table(None, ["run", *names], cells)


def per_query_table(names: Sequence[str], evaluations: Mapping[str, Evaluation]) -> Table:
    """Return a row for each query, and the means below them; the run is named where there are several."""
    from ranklens.cli.document import Table
    from ranklens.core.presentation import fixed

    several = len(evaluations) > 1
    rows = []
    for run, e in evaluations.items():
        lines = [
            [query, *(shown(name, value) for name, value in zip(names, values, strict=True))]
            for query, values in _by_query(e)
        ]
        lines.append(["all", *(fixed(e[name].mean) for name in names)])
        rows += [[run, *line] if several else line for line in lines]
    return Table(None, [*(["run"] if several else []), "query", *names], rows)


def shown(measure: str, value: float) -> str:
    """Return a value with four decimals, counts of documents as they are."""
    from ranklens.core.presentation import fixed

    whole = measure.partition("(")[0] in COUNTED and value == int(value)
    return str(int(value)) if whole else fixed(value)


def _trec(evaluations: Mapping[str, Evaluation], per_query: bool) -> list[tuple[str, str, str]]:
    from ranklens.core.tables import visible

    lines = []
    for run, evaluation in evaluations.items():
        names = [result.metric for result in evaluation.metrics]
        called = _trec_names(names)
        lines.append(("runid", "all", visible(run)))
        if per_query:
            for query, values in _by_query(evaluation):
                _check_word(query)
                told = zip(names, values, strict=True)
                lines += [(called[name], visible(query), shown(name, value)) for name, value in told]
        lines.append(("num_q", "all", str(evaluation.n_queries)))
        for result in evaluation.metrics:
            counted = result.metric.partition("(")[0] in COUNTED
            total = float(result.values.sum()) if counted else result.mean
            lines.append((called[result.metric], "all", shown(result.metric, total)))
    return lines


def _check_word(query: str) -> None:
    """Raise DataError for a query id that readers of trec_eval's columns would take for two columns."""
    from ranklens.core import DataError

    if any(character.isspace() for character in query):
        raise DataError(
            f"query id {query!r} holds a blank, which trec_eval's columns cannot; use --format csv or json"
        )


def _trec_names(names: Sequence[str]) -> dict[str, str]:
    """Return trec_eval's name of each measure, unless two would have the same (``AP`` and ``AP(rel=2)``)."""
    from ranklens.metrics import trec_eval_name

    called = {name: trec_eval_name(name) for name in names}
    every = list(called.values())
    return {name: told if every.count(told) == 1 else name for name, told in called.items()}
