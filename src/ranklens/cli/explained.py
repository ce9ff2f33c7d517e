"""The answers of ``ranklens explain``, and what is said of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ranklens.cli.document import Document, Table
from ranklens.cli.failures import UseError
from ranklens.cli.progress import bar
from ranklens.core.explanations import decimals, signed, unsigned
from ranklens.core.presentation import fixed

if TYPE_CHECKING:
    from ranklens.cli.explain_data import Task
    from ranklens.cli.group import Session
    from ranklens.core.changes import ModelChange, Swap
    from ranklens.core.explanations import PairwiseExplanation
    from ranklens.core.importances import ListwiseImportance

UNREALISTIC = (
    "the model is asked about combinations of features that may never occur together; "
    "--groups eases this and does not remove it"
)


def importances(task: Task, session: Session, options: Mapping[str, Any]) -> ListwiseImportance:
    """Shuffle every feature."""
    from ranklens.explain import listwise

    with bar("shuffling", quiet=session.quiet) as progress:
        return listwise(
            task.model,
            task.queries,
            options["measure"],
            groups=task.groups,
            n_repeats=options["n_repeats"],
            seed=options["seed"],
            progress=progress,
        )


def pair(task: Task, session: Session, options: Mapping[str, Any]) -> PairwiseExplanation:
    """Explain the second document of ``--pair`` against the first."""
    from ranklens.explain import pairwise
    from ranklens.explain.queries import stacked

    stack = stacked([_query_of(task.queries, options["pair"])], task.model.names)
    # Dictionaries, unlike arrays, go to the backend that was asked for.
    a, b = (
        dict(zip(task.model.names, stack.host[stack.documents.index(document)].tolist(), strict=True))
        for document in options["pair"]
    )
    how = {name: options[name] for name in ("method", "max_rows", "seed")}
    with bar("scoring", quiet=session.quiet) as progress:
        return pairwise(task.model, a, b, groups=task.groups, **how, progress=progress)


def change(task: Task, session: Session, options: Mapping[str, Any]) -> ModelChange:
    """Explain the second model against the first."""
    from ranklens.explain import explain_change

    how = {name: options[name] for name in ("method", "max_rows", "seed")}
    with bar("explaining swaps", quiet=session.quiet) as progress:
        return explain_change(
            task.model,
            task.other,
            task.queries,
            options["measure"],
            groups=task.groups,
            **how,
            progress=progress,
        )


def _query_of(queries: Sequence[Any], documents: Sequence[str]) -> Any:
    from ranklens.core import UnknownNameError

    if documents[0] == documents[1]:
        raise UseError(f"--pair names the document {documents[0]} twice; name two")
    found = [query for query in queries if set(documents) <= set(query.documents)]
    if len(found) > 1:
        listed = ", ".join(query.query_id for query in found[:3])
        raise UseError(f"{len(found)} queries have both documents ({listed}, …); add --query ID")
    if not found:
        known = [document for query in queries for document in query.documents]
        for document in documents:
            if document not in set(known):
                raise UnknownNameError("document", document, known)
        raise UseError(f"no query has both documents, {documents[0]} and {documents[1]}")
    return found[0]


def importance_document(task: Task, found: ListwiseImportance, options: Mapping[str, Any]) -> Document:
    """Return the table of importances."""
    metric, n_queries = f"{found.measure} drop", found.baseline.n_queries
    query = "query" if n_queries == 1 else "queries"
    rows = [(name, value, found.n_moved(name)) for name, value in found.ranked()]
    table = Table(
        None,
        ["feature", metric, "queries moved"],
        [[name, signed(value, 4), f"{moved}/{n_queries}"] for name, value, moved in _top(rows, options)],
    )
    return Document(
        headline=[
            f"{found.measure} is {fixed(found.baseline.mean)} over {n_queries} {query}, and drops by this "
            "when a feature is shuffled within them"
        ],
        tables=[table],
        notes=[
            *_rest(len(rows), options, "features"),
            *_grouped(task),
            f"{found.n_repeats} shuffles a query, seed {found.seed}; {found.n_model_rows} rows scored",
            UNREALISTIC,
        ],
        records=[{"feature": name, metric: value, "queries_moved": moved} for name, value, moved in rows],
        payload=found.to_dict(),
    )


def pair_document(task: Task, found: PairwiseExplanation, options: Mapping[str, Any]) -> Document:
    """Return the table of contributions."""
    a, b = options["pair"]
    digits = decimals(found.contributions.values())
    errors = found.standard_errors
    rows = []
    for name, value in found.ranked():
        row = {
            "feature": name,
            "A": task.shown(name, found.values_a.get(name)),
            "B": task.shown(name, found.values_b.get(name)),
            "contribution": value,
        }
        rows.append({**row, "standard_error": errors[name]} if errors is not None else row)
    cells = [
        [
            row["feature"],
            *(_value(row[side]) for side in ("A", "B")),
            signed(row["contribution"], digits),
            *([unsigned(row["standard_error"], digits)] if errors is not None else []),
        ]
        for row in _top(rows, options)
    ]
    header = ["feature", "A", "B", "contribution", *(["std. error"] if errors is not None else [])]
    how = "exact" if found.exact else f"sampled, seed {found.seed}"
    return Document(
        headline=[
            f"{b} (B) is scored {unsigned(found.score_b, digits)} and {a} (A) "
            f"{unsigned(found.score_a, digits)}: "
            f"the contributions sum to {signed(found.delta, digits)}"
        ],
        tables=[Table(None, header, cells)],
        notes=[
            *_rest(len(rows), options, "features"),
            *_grouped(task),
            f"Shapley values of the step from A to B, {how} ({found.method}); "
            f"{found.n_model_rows} rows scored",
            UNREALISTIC,
        ],
        records=rows,
        payload={"document_a": a, "document_b": b, **found.to_dict()},
    )


def change_document(found: ModelChange, options: Mapping[str, Any]) -> Document:
    """Return the tables of queries, swaps and features."""
    headline, moved, features = str(found).splitlines()[0], found.moved(), found.ranked()
    before, after = found.before.per_query, found.after.per_query
    queries = [[q, fixed(before[q]), fixed(after[q]), signed(value, 4)] for q, value in moved]
    swaps = [
        [s.query_id, s.risen, _grade(s.grade_risen), s.fallen, _grade(s.grade_fallen), s.rank,
         signed(s.share, 4), _main_feature(s)]
        for s in found.swaps
    ]  # fmt: skip
    names = ["query", "risen", "grade", "fallen", "grade", "rank", "share", "most by"]
    notes = [
        f"{found.n_swaps} pairs of documents changed places, {len(found.swaps)} with an effect on "
        f"{found.measure}; the shares of a query sum to its change, and the features to the mean change",
    ]
    notes[:0] = [
        note
        for n, what in ((len(queries), "queries"), (len(swaps), "swaps"), (len(features), "features"))
        for note in _rest(n, options, what)
    ]
    if found.n_explained < len(found.swaps):
        notes.append(f"{signed(found.unexplained, 4)} comes from smaller swaps that were not explained")
    return Document(
        headline=[headline],
        tables=[
            Table("Queries that moved", ["query", "before", "after", "change"], _top(queries, options)),
            Table("Swaps of documents", names, _top(swaps, options)),
            Table(
                "Features",
                ["feature", f"{found.measure} change"],
                [[name, signed(value, 4)] for name, value in _top(features, options)],
            ),
        ],
        notes=[*notes, UNREALISTIC],
        records=[
            {key: value for key, value in swap.to_dict().items() if key != "features"} for swap in found.swaps
        ],
        payload=found.to_dict(),
    )


def _top(rows: Sequence[Any], options: Mapping[str, Any]) -> Sequence[Any]:
    return rows[: options["top"]] if options["top"] else rows


def _rest(n: int, options: Mapping[str, Any], what: str) -> list[str]:
    hidden = n - options["top"] if options["top"] else 0
    return [f"and {hidden} smaller {what} (--top 0 shows all)"] if hidden > 0 else []


def _grouped(task: Task) -> list[str]:
    """Say in full who is in a group; a cell of a table may be cut."""
    return [f"one group: {', '.join(group)}" for group in task.groups or ()]


def _value(value: Any) -> str | None:
    return f"{value:.6g}" if isinstance(value, float) else value if value is None else str(value)


def _grade(grade: float | None) -> str | None:
    return None if grade is None else f"{grade:g}"


def _main_feature(swap: Swap) -> str | None:
    """Name the feature that did most for the swap; others may have done more against it."""
    if not swap.features:
        return None
    parts = swap.features
    name = max(parts, key=lambda feature: math.copysign(parts[feature], parts[feature] * swap.share))
    return f"{name} {signed(parts[name], 4)}"
