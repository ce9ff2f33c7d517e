"""``ranklens explain``: why a model ranks so."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ranklens.cli import options as opt

if TYPE_CHECKING:
    from ranklens.cli.document import Document
    from ranklens.cli.group import Session

EPILOG = """\b
Examples:
  ranklens explain model.txt test.letor -m nDCG@10 --groups auto
  ranklens explain model.txt test.letor --query 18219 --pair GX004 GX010 --plot why.svg
  ranklens explain old.txt test.csv --compare-with new.txt --columns query=qid,document=sku,grade=rel
"""

METHODS = ("auto", "exact", "tree", "antithetic", "orders", "regression")


def _data_options(function: Any) -> Any:
    for add in reversed(
        (
            click.option(
                "--allow-pickle",
                is_flag=True,
                help="Load a pickled model, which runs whatever code is in it: only files that you trust.",
            ),
            click.option(
                "--names", metavar="FILE|NAME,...", help="The features, where the files do not name them."
            ),
            click.option("--query-sizes", metavar="FILE", help="Documents of each query, a number a line."),
            click.option(
                "--first",
                type=click.IntRange(0, 1),
                help="Number of the model's first feature in DATA; 0 for a model that LightGBM or XGBoost "
                "trained on such a file by itself. Default: found.",
            ),
            click.option(
                "--missing",
                type=click.Choice(["zero", "nan"]),
                help="What a feature that a line of DATA leaves out is. Default: nan for a model of XGBoost, "
                "which reads such files so, else zero.",
            ),
            click.option(
                "--columns", type=opt.Columns(), help="Columns of a table: query=,document=,grade=."
            ),
            click.option(
                "--categories",
                type=click.Choice(["values", "codes"]),
                help="What DATA holds of pandas' categories that the model was trained on: themselves, or "
                "their codes 0, 1, ... Default: found.",
            ),
        )
    ):
        function = add(function)
    return function


def _only_one(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> str:
    """Return the measure; of two, click itself would take the last without a word."""
    if len(value) > 1:
        raise click.BadParameter(f"features are explained for one measure; got {' and '.join(value)}")
    return value[0]


def _warn_of_idle(options: Mapping[str, Any], *, table: bool) -> None:
    """Warn of each option that was given and has no effect on the question."""
    pair, change = options["pair"] is not None, options["compare_with"] is not None
    of_importances = "it is for the importances of features, without --pair and --compare-with"
    of_letor, of_models = "it is for LETOR files, and DATA is a table", "it is for --pair and --compare-with"
    idle = {
        "measure": (pair, "it is not for --pair, which explains the score"),
        "n_repeats": (pair or change, of_importances),
        "method": (not pair and not change, of_models),
        "max_rows": (not pair and not change, of_models),
        "threshold": (options["groups"] != "auto", "it is for --groups auto"),
        "columns": (not table, "it is for tables, and DATA is a LETOR file"),
        "first": (table, of_letor),
        "missing": (table, of_letor),
        "query_sizes": (table, of_letor),
    }
    context = click.get_current_context()
    for name, (is_idle, why) in idle.items():
        if is_idle and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            warnings.warn(f"--{name.replace('_', '-')} has no effect here: {why}", stacklevel=2)


@click.command(epilog=EPILOG)
@click.argument("model")
@click.argument("data")
@click.option(
    "-m",
    "--measure",
    multiple=True,
    default=["nDCG@10"],
    show_default=True,
    callback=_only_one,
    help="What the features shall move.",
)
@click.option("--query", metavar="ID", help="The query of --pair, or the only one to look at.")
@click.option("--pair", nargs=2, metavar="A B", help="Why is document B scored above (or below) document A?")
@click.option("--compare-with", metavar="MODEL", help="Why does the measure differ with this model?")
@click.option(
    "--groups",
    metavar="auto|A+B,...",
    help="Features that change together: correlated ones (auto), or these; a name that holds + or , in "
    "double quotes.",
)
@click.option(
    "--threshold",
    type=opt.FiniteRange(0, 1, min_open=True),
    default=0.8,
    show_default=True,
    help="Least |Spearman's rho| for --groups auto.",
)
@click.option("--n-repeats", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--method", type=click.Choice(METHODS), default="auto", show_default=True)
@click.option("--max-rows", type=click.IntRange(min=2), default=4096, show_default=True, help="For a pair.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Rows of a table; 0: all. CSV and JSON hold all.",
)
@click.option("--plot", metavar="FILE", help="Draw it: .png or .svg.")
@_data_options
@opt.delivering(("table", "json", "csv", "markdown", "latex"))
@opt.common
@click.pass_obj
def command(session: Session, /, **options: Any) -> None:
    """Explain the rankings that MODEL makes of DATA.

    By default: how much the measure drops when a feature is shuffled within the queries. With --pair: how
    much each feature moved the score from one document to another. With --compare-with: which queries, swaps
    of documents and features make the difference between two models.

    MODEL is a file of LightGBM, XGBoost, CatBoost, RankLib or ONNX. DATA is a LETOR (SVMlight) file (- for
    standard input), or a table (CSV, TSV, Parquet) with a column for each feature.
    """
    from ranklens.cli import explained
    from ranklens.cli.explain_data import Task, is_table
    from ranklens.cli.measured import json_frame
    from ranklens.cli.pictures import check_picture, draw

    delivery = opt.delivery(options)
    if options["pair"] and options["compare_with"]:
        raise click.UsageError("--pair and --compare-with are two questions; ask one at a time")
    _warn_of_idle(options, table=is_table(options["data"]))
    if options["plot"] is not None:
        check_picture(options["plot"])
    opt.choose_backend(options["backend"])
    task = Task.of(options)
    found: Any
    document: Document
    if options["pair"]:
        found = explained.pair(task, session, options)
        document = explained.pair_document(task, found, options)
    elif options["compare_with"]:
        found = explained.change(task, session, options)
        document = explained.change_document(found, options)
    else:
        found = explained.importances(task, session, options)
        document = explained.importance_document(task, found, options)
    if options["plot"] is not None:
        draw(found, options["plot"], options["top"], task.title(options["pair"]))
    frame: dict[str, Any] = {}
    if delivery.format == "json":
        frame = {**json_frame(session, "explain", None, options), "inputs": task.inputs()}
    delivery.send(document, frame)
