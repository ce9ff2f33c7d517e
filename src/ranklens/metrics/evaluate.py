"""Measure runs against judgements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ranklens.core import UnknownNameError
from ranklens.core.evaluation import Evaluation, Evaluations
from ranklens.io import as_qrels, as_run
from ranklens.metrics.arguments import check_rel
from ranklens.metrics.definitions import Measure
from ranklens.metrics.names import MeasureLike, parse_measures
from ranklens.metrics.ranking import JudgedRanking, judged_pool, judged_ranking
from ranklens.metrics.results import assembled
from ranklens.metrics.slices import as_segments

Measures = MeasureLike | Iterable[MeasureLike]

_CHOICES = {
    "missing": ("zero", "skip"),
    "score_precision": ("float64", "float32"),
    "on_error": ("raise", "skip"),
}


def evaluate(
    run: Any,
    qrels: Any,
    measures: Measures,
    *,
    missing: str = "zero",
    score_precision: str = "float64",
    judged_only: bool = False,
    depth: int | None = None,
    rel: float = 1,
    segments: Any = None,
    on_error: str = "raise",
) -> Evaluation:
    """Measure one run, by query.

    Documents are ranked by score descending, then by document id descending by its UTF-8 bytes, whatever the
    order of the input.

    Parameters
    ----------
    run, qrels : Run, Qrels, or anything that `read_run` and `read_qrels` take
        Retrieved documents with scores, and judged documents with grades.
    measures : str, Measure, function, or several of these
        Such as ``["nDCG@10", "AP(rel=2)", "recip_rank"]``; see `parse_measure`.
    missing : {"zero", "skip"}
        A judged query that the run does not answer scores 0, or takes no part.
    score_precision : {"float64", "float32"}
        The precision in which scores are compared; older trec_eval compares 32-bit floats.
    judged_only : bool
        Remove unjudged documents from the ranking first (trec_eval's -J).
    depth : int, optional
        Look at this many top documents of each query only (trec_eval's -M); `judged_only` takes of these.
    rel : float
        The grade from which a document is relevant (trec_eval's -l), for the measures that have a threshold
        and do not name their own; the names of the results say so.
    segments : Segments, mapping of field to {query: value}, path or frame, optional
        Kept with the result, for a comparison by segment.
    on_error : {"raise", "skip"}
        What to do about rows that cannot be read; see `read_run`.

    Returns
    -------
    Evaluation

    Raises
    ------
    DataError
        When the run and the judgements have no query in common, or cannot be read.
    UnknownNameError, BadMeasureError
        For a measure that does not exist, or not with this cutoff or parameter.

    Examples
    --------
    >>> run = {"q1": {"a": 3.0, "b": 2.0}, "q2": {"c": 1.0}}
    >>> qrels = {"q1": {"b": 1}, "q2": {"c": 2}, "q3": {"d": 1}}
    >>> found = evaluate(run, qrels, ["RR", "nDCG@10"])
    >>> found["RR"].mean, dict(found["RR"].per_query), found.n_not_retrieved
    (0.5, {'q1': 0.5, 'q2': 1.0, 'q3': 0.0}, 1)
    >>> evaluate(run, qrels, "RR", missing="skip")["RR"].mean
    0.75
    """
    run = as_run(run, on_error=on_error)
    found = evaluate_many(
        {run.name: run},
        qrels,
        measures,
        missing=missing,
        score_precision=score_precision,
        judged_only=judged_only,
        depth=depth,
        rel=rel,
        segments=segments,
        on_error=on_error,
    )
    return found[run.name]


def evaluate_many(
    runs: Mapping[str, Any],
    qrels: Any,
    measures: Measures,
    *,
    missing: str = "zero",
    score_precision: str = "float64",
    judged_only: bool = False,
    depth: int | None = None,
    rel: float = 1,
    segments: Any = None,
    on_error: str = "raise",
    progress: Callable[[int, int], None] | None = None,
) -> Evaluations:
    """Measure many runs against the same judgements, in one batch on the current backend.

    Parameters
    ----------
    runs : mapping of name to run
        Each run as in `evaluate`.
    qrels, measures, missing, score_precision, judged_only, depth, rel, segments, on_error
        As in `evaluate`.
    progress : callable, optional
        Called as ``progress(done, total)`` after each run is read and ranked.

    Returns
    -------
    Evaluations
        A mapping from run name to `Evaluation`, with one array of shape (runs, measures, queries).

    Examples
    --------
    >>> runs = {"one": {"q1": {"a": 2.0, "b": 1.0}}, "two": {"q1": {"b": 2.0, "a": 1.0}}}
    >>> found = evaluate_many(runs, {"q1": {"a": 1}}, ["RR"])
    >>> {run: found[run]["RR"].mean for run in found}
    {'one': 1.0, 'two': 0.5}
    """
    if not isinstance(runs, Mapping):
        raise TypeError(f"runs is a mapping of name to run, {{'bm25': run}}, got {type(runs).__name__}")
    if not runs:
        raise ValueError("runs must hold at least one run, got none")
    options = _checked_options(missing, score_precision, on_error, judged_only, depth, rel)
    wanted = _with_rel(parse_measures(measures), options["rel"])
    judgements = as_qrels(qrels, on_error=on_error)
    pool = judged_pool(judgements)
    ranked: list[JudgedRanking] = []
    left_out: list[int] = []
    for name, source in runs.items():
        run = as_run(source, on_error=on_error, name=name)
        ranked.append(
            judged_ranking(
                run, judgements, pool, score_precision=score_precision, depth=depth, judged_only=judged_only
            )
        )
        left_out.append(run.n_left_out + judgements.n_left_out)
        if progress is not None:
            progress(len(ranked), len(runs))
    options |= {"score_precision": score_precision, "judged_only": judged_only, "depth": depth}
    options["segments"] = as_segments(segments)
    return assembled(tuple(runs), ranked, left_out, pool, wanted, options)


def _checked_options(
    missing: str, score_precision: str, on_error: str, judged_only: bool, depth: int | None, rel: float
) -> dict[str, Any]:
    given = {"missing": missing, "score_precision": score_precision, "on_error": on_error}
    for name, value in given.items():
        if value not in _CHOICES[name]:
            raise UnknownNameError(name, value, _CHOICES[name])
    if not isinstance(judged_only, (bool, np.bool_)):
        raise ValueError(f"judged_only must be True or False, got {judged_only!r}")
    if depth is not None and (not isinstance(depth, (int, np.integer)) or depth < 1):
        raise ValueError(f"depth must be a whole number from 1, or None for all, got {depth!r}")
    return {"missing": missing, "rel": check_rel(rel, "evaluate")}


def _with_rel(measures: tuple[Measure, ...], rel: float) -> tuple[Measure, ...]:
    return parse_measures([measure.with_default_rel(rel) for measure in measures])
