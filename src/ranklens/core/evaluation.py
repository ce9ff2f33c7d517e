"""What measuring runs against judgements gives: by measure, by query, and what was counted on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core import frames
from ranklens.core.errors import UnknownNameError
from ranklens.core.per_query import MetricResult, QueryId, QueryIndex
from ranklens.core.presentation import Presentable, counted, html_table, plain

Segments = Mapping[str, Mapping[QueryId, str]]


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(Presentable):
    """The measures of one run, and the counts without which they would mislead.

    ``evaluation[name]`` finds a measure by any spelling of its name; iterating gives the measures in order.

    Attributes
    ----------
    run : str
        The run's name.
    metrics : tuple of MetricResult
        One for each measure, in the order asked for.
    n_queries : int
        Queries that were measured: every judged query, or with ``missing="skip"`` those the run answers.
    n_without_relevant : int
        Those of them that have no relevant document, and score 0.
    n_unjudged : int
        Queries of the run without judgements, which are left out.
    n_not_retrieved : int
        Judged queries that the run does not answer.
    n_left_out : int
        Rows of the run and of the judgements that could not be read (``on_error="skip"``).
    segments : mapping of field to mapping of query id to value, or None
        What `evaluate` was given, or found in the run.
    missing, score_precision, judged_only, depth, rel
        The options of `ranklens.metrics.evaluate` that were in force.

    Examples
    --------
    >>> from ranklens import evaluate
    >>> found = evaluate({"q1": {"a": 2.0, "b": 1.0}}, {"q1": {"b": 1}}, ["RR", "nDCG@10"])
    >>> found["recip_rank"].mean
    0.5
    >>> found.n_queries, found.n_not_retrieved
    (1, 0)
    """

    run: str
    metrics: tuple[MetricResult, ...]
    n_queries: int
    n_without_relevant: int
    n_unjudged: int
    n_not_retrieved: int
    segments: Segments | None = None
    missing: str = "zero"
    score_precision: str = "float64"
    judged_only: bool = False
    depth: int | None = None
    rel: float = 1.0
    n_left_out: int = 0
    canonical: Callable[[str], str] | None = field(default=None, compare=False)

    def __getitem__(self, name: str) -> MetricResult:
        return self.metrics[position_of(name, tuple(m.metric for m in self.metrics), self.canonical)]

    def __iter__(self) -> Iterator[MetricResult]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    @property
    def coverage(self) -> float:
        """The share of the judged queries that the run answers."""
        n_judged = self.n_queries + (self.n_not_retrieved if self.missing == "skip" else 0)
        return (n_judged - self.n_not_retrieved) / n_judged

    @property
    def means(self) -> dict[str, float]:
        """The mean of each measure, by name."""
        return {metric.metric: metric.mean for metric in self.metrics}

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects, fit for JSON."""
        return {
            "run": self.run,
            "metrics": [metric.to_dict() for metric in self.metrics],
            "n_queries": self.n_queries,
            "n_without_relevant": self.n_without_relevant,
            "n_unjudged": self.n_unjudged,
            "n_not_retrieved": self.n_not_retrieved,
            "n_left_out": self.n_left_out,
            "segments": plain(self.segments),
            "missing": self.missing,
            "score_precision": self.score_precision,
            "judged_only": self.judged_only,
            "depth": self.depth,
            "rel": self.rel,
        }

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame with the column ``query`` and one column for each measure (see `core.frames`)."""
        queries = list(self.metrics[0].query_ids) if self.metrics else []
        values = {metric.metric: metric.values.tolist() for metric in self.metrics}
        return frames.to_frame({"query": queries} | values, library)

    def __str__(self) -> str:
        means = ", ".join(f"{name} {mean:.4f}" for name, mean in self.means.items())
        unread = f"{self.n_left_out} unreadable rows left out; " if self.n_left_out else ""
        absent = "counted as 0" if self.missing == "zero" else "left out"
        queries = counted(self.n_queries, "query", "queries")
        return (
            f"{self.run}: {means} over {queries} ({self.n_without_relevant} without a "
            f"relevant document, {self.n_not_retrieved} not retrieved and {absent}, {self.n_unjudged} not "
            f"judged and left out; {unread}scores compared as {self.score_precision})"
        )

    def _repr_html_(self) -> str:
        return f"{html_table([{'run': self.run} | self.means])}<p>{_counts_note(self)}</p>"


class Evaluations(Mapping[str, Evaluation]):
    """The measures of many runs against the same judgements: a mapping from run name to `Evaluation`.

    Attributes
    ----------
    array : numpy.ndarray, shape (runs, measures, queries)
        Every value, read-only float64. With ``missing="skip"``, NaN where a run does not answer a query.
    measures : tuple of str
        The measures' canonical names.
    query_ids : QueryIndex
        Every judged query, sorted.
    measured : numpy.ndarray of bool, shape (runs, queries)
        Which queries take part in a run's means.

    Examples
    --------
    >>> from ranklens import evaluate_many
    >>> runs = {"one": {"q1": {"a": 1.0}}, "two": {"q1": {"b": 1.0}}}
    >>> found = evaluate_many(runs, {"q1": {"a": 1}}, ["RR", "P@1"])
    >>> found["one"]["RR"].mean, found.array.shape
    (1.0, (2, 2, 1))
    """

    __slots__ = ("_by_run", "array", "measured", "measures", "query_ids")

    def __init__(
        self,
        evaluations: Mapping[str, Evaluation],
        array: NDArray[np.float64],
        measures: tuple[str, ...],
        query_ids: QueryIndex,
        measured: NDArray[np.bool_],
    ) -> None:
        self._by_run = dict(evaluations)
        self.measures = measures
        self.query_ids = query_ids
        self.array = array.view()
        self.measured = measured.view()
        self.array.flags.writeable = False
        self.measured.flags.writeable = False

    def __getitem__(self, run: str) -> Evaluation:
        try:
            return self._by_run[run]
        except KeyError:
            raise UnknownRunError(run, self._by_run) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_run)

    def __len__(self) -> int:
        return len(self._by_run)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects, fit for JSON, by run name."""
        return {run: evaluation.to_dict() for run, evaluation in self._by_run.items()}

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame with the columns ``run``, ``query`` and one for each measure."""
        columns: dict[str, list[Any]] = {"run": [], "query": []}
        for run, evaluation in self._by_run.items():
            queries = list(evaluation.metrics[0].query_ids)
            columns["run"] += [run] * len(queries)
            columns["query"] += queries
            for metric in evaluation:
                columns.setdefault(metric.metric, []).extend(metric.values.tolist())
        return frames.to_frame(columns, library)

    def __str__(self) -> str:
        runs, _, queries = self.array.shape
        judged = counted(queries, "judged query", "judged queries")
        return f"{counted(runs, 'run')} measured by {', '.join(self.measures)} on {judged}"

    def __repr__(self) -> str:
        return f"<Evaluations: {self}>"

    def _repr_html_(self) -> str:
        return html_table([{"run": run} | evaluation.means for run, evaluation in self._by_run.items()])


class UnknownRunError(UnknownNameError, KeyError):
    """No run of that name was measured (also a KeyError, as a mapping's errors are)."""

    def __init__(self, run: str, known: Mapping[str, Evaluation]) -> None:
        super().__init__("run", run, known)

    def __str__(self) -> str:
        return str(self.args[0])


def position_of(name: str, known: tuple[str, ...], canonical: Callable[[str], str] | None = None) -> int:
    """Find a measure by its name: as it stands, then as `canonical` reads it, then in any case.

    Raises
    ------
    UnknownNameError
        When it is none of `known`.
    """
    if name in known:
        return known.index(name)
    read = canonical(name) if canonical is not None else name
    if read in known:
        return known.index(read)
    folded = [candidate.lower() for candidate in known]
    if name.lower() in folded:
        return folded.index(name.lower())
    raise UnknownNameError("measure", name, known, f"measured here: {', '.join(known)}")


def _counts_note(evaluation: Evaluation) -> str:
    return str(evaluation).partition(" over ")[2]
