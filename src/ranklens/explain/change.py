"""What changed between two models: which queries, which swaps of documents, which features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Seed, open_backend, seed_of, to_host
from ranklens.core import MetricResult
from ranklens.core.changes import ModelChange, Swap
from ranklens.explain.asking import call_size
from ranklens.explain.crossings import Crossing, crossings, ranked
from ranklens.explain.importance import model_for
from ranklens.explain.method import DEFAULT_ROWS, check_positive
from ranklens.explain.models.base import Model
from ranklens.explain.pairs import pairwise_many
from ranklens.explain.queries import Queries, Stack, query_list, stacked
from ranklens.explain.ranking import Ranker
from ranklens.explain.scoring import Scorer
from ranklens.metrics.names import MeasureLike, parse_measure

Floats = NDArray[np.float64]

MOST_SWAPS = 1000
"""Swaps whose features are explained, unless the caller says otherwise."""

_STATES_AT_ONCE = 2**16


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
    found = query_list(queries)
    parsed = parse_measure(measure)
    models = [model_for(model, found[0].names) for model in (model_a, model_b)]
    sides = [
        _Side.of(model, found, others) for model, others in zip(models, (models[1], models[0]), strict=True)
    ]
    path = _Path.of(sides, parsed)
    effects = _Effects(sides, path)
    how = {"groups": groups, "method": method, "max_rows": max_rows, "batch_rows": batch_rows}
    swaps, features = effects.explained(max_swaps, {**how, "seed": seed_of(seed)})
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


@dataclass(frozen=True, eq=False)
class _Side:
    """One of the models: its documents and their scores."""

    model: Model
    stack: Stack
    scores: Floats

    @classmethod
    def of(cls, model: Model, queries: Any, other: Model) -> _Side:
        backend = model.backend_for(queries[0].features)
        with backend.precise():
            stack = stacked(queries, model.names, others=other.names)
            n = int(stack.starts[-1])
            scorer = Scorer(model, stack, backend, (), call_size(len(model.names)))
            scores = to_host(scorer.originals(np.arange(n), n))[0].astype(np.float64)
        return cls(model, stack, scores)


@dataclass(eq=False)
class _Path:
    """The swaps of all queries that can move the measure, and what each of them moved it by."""

    before: Floats
    after: Floats
    queries: list[int] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    n_crossings: int = 0

    @classmethod
    def of(cls, sides: list[_Side], measure: Any) -> _Path:
        stack = sides[0].stack
        ranker = Ranker(stack, measure, open_backend("numpy"))
        n_queries = len(stack.query_ids)
        found = cls(np.empty(n_queries), np.empty(n_queries))
        for query in range(n_queries):
            span = slice(int(stack.starts[query]), int(stack.starts[query + 1]))
            a, b = (side.scores[span] for side in sides)
            path = crossings(a, b)
            found.n_crossings += len(path)
            effective = _effective(path, stack.grades[span], measure.depth)
            values = _values_on_path(ranker, query, a, path, effective)
            found.before[query], found.after[query] = values[0], values[-1]
            found.queries += [query] * len(effective)
            found.crossings += [path[i] for i in effective]
            found.shares += np.diff(values).tolist()
        return found


def _effective(path: list[Crossing], grades: Floats, depth: int | None) -> list[int]:
    """Return which swaps can move the measure: of different grades, and not below its cutoff."""
    return [
        i
        for i, swap in enumerate(path)
        if grades[swap.risen] != grades[swap.fallen] and (depth is None or swap.rank < depth)
    ]


def _values_on_path(
    ranker: Ranker, query: int, scores: Floats, path: list[Crossing], effective: list[int]
) -> Floats:
    """Return the measure at the start and after each of the `effective` swaps."""
    n = len(scores)
    rank_of = np.empty(n, dtype=np.int64)
    rank_of[ranked(scores)] = np.arange(n)
    states = np.empty((len(effective) + 1, n), dtype=np.int64)
    states[0] = rank_of
    wanted = {i: row for row, i in enumerate(effective, 1)}
    for i, swap in enumerate(path):
        rank_of[swap.risen], rank_of[swap.fallen] = swap.rank, swap.rank + 1
        if i in wanted:
            states[wanted[i]] = rank_of
    # Place r scores -r; the last one is the padding.
    places = np.append(-np.arange(float(n)), -np.inf)
    step = max(1, _STATES_AT_ONCE // n)
    return np.concatenate(
        [
            values[:, 0]
            for start in range(0, len(states), step)
            for values in ranker.values(places, np.asarray([query]), [states[start : start + step]])
        ]
    )


class _Effects:
    """Which features made the swaps."""

    def __init__(self, sides: list[_Side], path: _Path) -> None:
        self._sides = sides
        self._path = path
        self._stack = sides[0].stack

    def explained(
        self, max_swaps: int | None, options: dict[str, Any]
    ) -> tuple[tuple[Swap, ...], dict[str, Floats]]:
        """Return the swaps, largest share first, and the effect of each feature by query."""
        path = self._path
        moving = [i for i, share in enumerate(path.shares) if share != 0.0]
        order = sorted(moving, key=lambda i: (-abs(path.shares[i]), i))
        chosen = order if max_swaps is None else order[:max_swaps]
        labels, parts = self._parts(chosen, options)
        effects = np.zeros((len(labels), len(self._stack.query_ids)))
        swaps = []
        for place, i in enumerate(order):
            found = None
            if place < len(chosen) and not np.isnan(parts[place]).any():
                row = parts[place] * path.shares[i]
                effects[:, path.queries[i]] += row
                found = dict(zip(labels, row.tolist(), strict=True))
            swaps.append(self._swap(i, found))
        return tuple(swaps), dict(zip(labels, effects, strict=True))

    def _parts(self, chosen: list[int], options: dict[str, Any]) -> tuple[list[str], Floats]:
        """Return the features, and the part of each chosen swap that each of them made."""
        starts = self._stack.starts
        first = [int(starts[self._path.queries[i]]) for i in chosen]
        swaps = [self._path.crossings[i] for i in chosen]
        risen = [start + swap.risen for start, swap in zip(first, swaps, strict=True)]
        fallen = [start + swap.fallen for start, swap in zip(first, swaps, strict=True)]
        labels: dict[str, int] = {}
        found = []
        for side in self._sides:
            features = side.stack.host
            found.append(pairwise_many(side.model, features[fallen], features[risen], **options))
            for name in found[-1].names:
                labels.setdefault(name, len(labels))
        a, b = np.zeros((2, len(chosen), len(labels)))
        a[:, [labels[name] for name in found[0].names]] = found[0].contributions
        b[:, [labels[name] for name in found[1].names]] = found[1].contributions
        turn = b - _scale(a, b) * a
        total = turn.sum(axis=1, keepdims=True)
        # Nothing to split where both models tie the documents but for rounding.
        return list(labels), np.divide(turn, total, out=np.full(turn.shape, np.nan), where=total > 0.0)

    def _swap(self, i: int, features: dict[str, float] | None) -> Swap:
        path, stack = self._path, self._stack
        query, crossing = path.queries[i], path.crossings[i]
        start = int(stack.starts[query])
        return Swap(
            query_id=stack.query_ids[query],
            risen=stack.documents[start + crossing.risen],
            fallen=stack.documents[start + crossing.fallen],
            grade_risen=_grade(stack.grades[start + crossing.risen]),
            grade_fallen=_grade(stack.grades[start + crossing.fallen]),
            rank=crossing.rank + 1,
            share=path.shares[i],
            features=features,
        )


def _scale(a: Floats, b: Floats) -> float:
    """Return the λ > 0 that makes Σ abs(b - λ a) least: the median of b / a, weighted by abs(a)."""
    used = a != 0.0
    ratios, weights = b[used] / a[used], np.abs(a[used])
    order = np.argsort(ratios, kind="stable")
    below = np.cumsum(weights[order])
    if below.size:
        median = float(ratios[order][np.searchsorted(below, below[-1] / 2.0)])
        if median > 0.0:
            return median
    sizes = np.abs(a).sum(), np.abs(b).sum()
    return float(sizes[1] / sizes[0]) if min(sizes) > 0.0 else 1.0


def _grade(grade: float) -> float | None:
    return None if np.isneginf(grade) else float(grade)
