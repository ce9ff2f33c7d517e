"""``ranklens demo``: the whole job on a collection made from a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ranklens.cli import options as opt
from ranklens.cli.failures import UseError

if TYPE_CHECKING:
    from ranklens.cli.document import Document
    from ranklens.cli.group import Session
    from ranklens.core import ComparisonResult
    from ranklens.core.evaluation import Evaluation
    from ranklens.io.synthetic import DemoCollection

MEASURES = ("nDCG@10", "AP", "RR")
MEASURE = MEASURES[0]
MEASURING = {
    "missing": "zero",
    "score_precision": "float64",
    "depth": None,
    "judged_only": False,
    "rel": 1,
    "on_error": "raise",
}
TESTING = {
    "method": "auto",
    "alternative": "two-sided",
    "alpha": 0.05,
    "n_resamples": 10_000,
    "n_permutations": 10_000,
    "min_queries": 20,
    "correction": "bh",
    "family": "measure",
    "all_pairs": False,
}

EPILOG = """\b
Examples:
  ranklens demo
  ranklens demo --write demo && ranklens compare demo/qrels.txt demo/*.run
"""


@click.command(epilog=EPILOG)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Another collection.")
@click.option("--write", metavar="DIR", help="Also write the collection as files into a new folder DIR.")
@opt.delivering(("table", "json", "markdown"))
@opt.common
@click.pass_obj
def command(session: Session, /, **options: Any) -> None:
    """Measure and compare five systems of known quality, and say what the numbers mean.

    Needs no file: the collection is made from a seed, and is the same on every machine.
    """
    from ranklens.cli.compared import compare_runs
    from ranklens.cli.measured import json_frame
    from ranklens.core.files import check_new, new_folder
    from ranklens.io import demo_collection
    from ranklens.metrics import evaluate_many

    delivery = opt.delivery(options)
    target = Path(options["write"]) if options["write"] is not None else None
    if options["write"] == "":
        raise UseError("--write: the name of the folder is empty")
    if target is not None:
        check_new(target)
    opt.choose_backend(options["backend"])
    collection = demo_collection(options["seed"])
    chosen = {**MEASURING, **TESTING, "seed": options["seed"]}
    evaluations = evaluate_many(collection.runs, collection.qrels, MEASURES)
    against_first = compare_runs(session, {name: evaluations[name] for name in evaluations}, {}, chosen)
    ends = {name: evaluations[name] for name in (_first(evaluations), _last(evaluations))}
    by_segment = compare_runs(session, ends, collection.segments, {**chosen, "correction": "bh"})
    if target is not None:
        with new_folder(target) as folder:
            collection.write(folder)
    document = demo_document(collection, evaluations, against_first, by_segment, target)
    delivery.send(document, json_frame(session, "demo", None, options) if delivery.format == "json" else {})


def demo_document(
    collection: DemoCollection,
    evaluations: Mapping[str, Evaluation],
    against_first: Sequence[ComparisonResult],
    by_segment: Sequence[ComparisonResult],
    folder: Path | None,
) -> Document:
    """Return the five steps of the demo."""
    from ranklens.cli import demo_words as words
    from ranklens.cli.compared import comparison_tables, how_told, visible_effects
    from ranklens.cli.counting import count_notes, counts
    from ranklens.cli.document import Document
    from ranklens.cli.eval import means_table
    from ranklens.cli.verdict import segment_verdict, verdict

    shown = [row for row in against_first if row.metric == MEASURE]
    slices = [row for row in by_segment if row.segment is not None and row.metric == MEASURE]
    visible = visible_effects(shown, evaluations, TESTING)
    return Document(
        sections=[
            Document(title="1. A collection", notes=words.collection_notes(collection)),
            Document(
                title="2. Measure it",
                tables=[means_table(MEASURES, evaluations)],
                notes=count_notes(evaluations, MEASURING),
            ),
            Document(
                title=f"3. Compare every system with {_first(evaluations)}",
                headline=verdict(shown, visible, 0.8),
                tables=comparison_tables(shown, []),
                notes=how_told(shown),
            ),
            Document(title="4. What that says", notes=words.in_words(shown, visible)),
            Document(
                title="5. Look at the segments before you ship",
                headline=segment_verdict(slices),
                tables=comparison_tables([], slices),
                notes=words.on_segments(slices),
            ),
            Document(title="6. The same on your own files", notes=words.commands(folder, collection.seed)),
        ],
        payload={
            "seed": collection.seed,
            "runs": {
                name: {**counts(e), "means": {r.metric: r.mean for r in e.metrics}}
                for name, e in evaluations.items()
            },
            "comparisons": [row.to_dict() for row in [*against_first, *slices]],
            "written": None if folder is None else str(folder),
        },
    )


def _first(names: Mapping[str, Any]) -> str:
    return next(iter(names))


def _last(names: Mapping[str, Any]) -> str:
    return list(names)[-1]
