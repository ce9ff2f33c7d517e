"""What changed between two models: which queries, which swaps of documents, which features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ranklens.arrays import Seed, seed_of
from ranklens.core import DataError, MetricResult, ModelError
from ranklens.core.changes import ModelChange
from ranklens.explain.change_features import Effects
from ranklens.explain.change_path import Path, Side
from ranklens.explain.importance import model_for
from ranklens.explain.method import DEFAULT_ROWS, check_positive
from ranklens.explain.models.base import Model
from ranklens.explain.models.watched import Progress
from ranklens.explain.queries import Queries, judged_queries
from ranklens.io.query_features import QueryFeatures
from ranklens.metrics.names import MeasureLike, parse_measure

MOST_SWAPS = 1000
"""Swaps whose features are explained, unless the caller says otherwise."""


def explain_change(
    model_a: Any,
    model_b: Any,
    queries: Queries,
    measure: MeasureLike,
    *,
    groups: Iterable[Iterable[str]] | None = None,
    max_swaps: int | None = MOST_SWAPS,
    method: str = "auto",
    max_rows: int = DEFAULT_ROWS,
    batch_rows: int | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> ModelChange:
    """Say why a measure differs between two models.

    Three questions, each answered by parts that sum to the answer of the one before:

    1. Which queries moved? The change of a query is the measure of B's ranking minus that of A's.
    2. Which swaps of documents made the difference there? Let the scores go straight from A's to B's.
       Every two documents that the models order differently then change places once, as neighbours (see
       `ranklens.explain.crossings`), and the share of the swap is the measure after it minus the measure
       before it. The shares of a query sum to its change, for any measure, since each swap starts where the
       one before ended. Rescaling the scores of either model changes no share.
    3. Which features made those swaps? Where document j rises above document i, the difference of their
       scores s(j) - s(i) turned from negative in A to positive in B. `pairwise` splits it among the
       features, in each model; feature f made the part

           c_f = (φ_f(B) - λ φ_f(A)) / (Δ(B) - λ Δ(A))

       of the turn, where φ_f are the contributions and Δ their sums. The parts sum to 1, and times the share
       to the share; a feature that held the swap back has a negative part. λ brings A's scores to the scale
       of B's: it is the number that leaves the contributions changed least, Σ abs(φ_f(B) - λ φ_f(A)) over
       the swaps and features, so that a feature which both models use alike, but for the scale, made none.
       (Where that number is not positive, the models have little in common, and λ is the ratio of the sizes
       of their contributions.)

    Parameters
    ----------
    model_a, model_b : Model or object
        See `adapt`. They may have different features: a feature that a model lacks contributes 0 to it. Then
        the queries need names.
    queries : iterable of QueryFeatures
    measure : str, Measure or callable
        Such as ``"nDCG@10"``.
    groups : iterable of iterables of str, optional
        Features that change together, as in `pairwise`; both models must have them.
    max_swaps : int or None, default 1000
        Explain the features of this many swaps, those with the largest shares; None for all. The result says
        what share is left unexplained.
    method, max_rows, batch_rows, seed
        As in `pairwise`, for each swap.
    progress : callable, optional
        Called as ``progress(done, total)`` with the swaps that are split among the features, each counted
        once for either model.

    Returns
    -------
    ModelChange

    Raises
    ------
    DataError
        When there is no query, or one lacks a feature.
    ModelError
        When a model raises, or answers with anything but one finite score a row.

    Examples
    --------
    >>> from ranklens.explain import QueryFeatures, adapt
    >>> old = adapt(lambda x: x[:, 0], ["bm25", "clicks"])
    >>> new = adapt(lambda x: x[:, 0] + x[:, 1], ["bm25", "clicks"])
    >>> query = QueryFeatures.of("q1", ["a", "b"], [[2.0, 0.0], [1.0, 3.0]], {"a": 0, "b": 1})
    >>> print(explain_change(old, new, [query], "RR"))
    RR 0.5000 → 1.0000, change +0.5000 over 1 query: 1 rose, 0 fell, 0 stayed
    queries: q1 +0.5000
    1 swap of documents, 1 with an effect on the measure:
    q1: b (grade 1) rose above a (grade 0) to rank 1: +0.5000 (clicks +0.5000)
    features, mean over the queries:
    clicks +0.5000
    bm25 +0.0000
    """
    if max_swaps is not None:
        check_positive("max_swaps", max_swaps)
    if batch_rows is not None:
        check_positive("batch_rows", batch_rows)
    found = judged_queries(queries)
    parsed = parse_measure(measure)
    models = [model_for(model, found) for model in (model_a, model_b)]
    sides = [_side(name, model, found, models, batch_rows) for name, model in zip("ab", models, strict=True)]
    _require_names(models, found)
    path = Path.of(sides, parsed)
    effects = Effects(sides, path)
    how = {"groups": groups, "method": method, "max_rows": max_rows, "batch_rows": batch_rows}
    swaps, features = effects.explained(max_swaps, {**how, "seed": seed_of(seed)}, progress)
    ids, name = sides[0].stack.query_ids, parsed.name
    return ModelChange(
        measure=name,
        before=MetricResult.from_arrays(name, ids, path.before),
        after=MetricResult.from_arrays(name, ids, path.after),
        change=MetricResult.from_arrays(f"{name} change", ids, path.after - path.before),
        swaps=swaps,
        features={
            label: MetricResult.from_arrays(f"{name} change", ids, row) for label, row in features.items()
        },
        n_swaps=path.n_crossings,
    )


def _require_names(models: Sequence[Model], queries: Sequence[QueryFeatures]) -> None:
    """Raise a `DataError` where columns without names would be other features to the other model."""
    if models[0].names == models[1].names:
        return
    for query in queries:
        if query.names is None:
            raise DataError(
                f"the models have different features, and the columns of query {query.query_id!r} have no "
                "names, so that they would be one thing to one model and another to the other; name them"
            )


def _side(
    name: str, model: Model, queries: list[QueryFeatures], models: list[Model], batch_rows: int | None
) -> Side:
    try:
        return Side.of(model, queries, models, batch_rows)
    except ModelError as error:
        raise ModelError(f"model_{name}: {error}") from error
