"""The rankings of two models, and the swaps of documents that lead from one to the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import open_backend, to_host
from ranklens.explain.asking import call_size
from ranklens.explain.crossings import Crossing, crossings, ranked
from ranklens.explain.models.base import Model
from ranklens.explain.queries import Stack, backend_for, stacked
from ranklens.explain.ranking import Ranker
from ranklens.explain.scoring import Scorer
from ranklens.explain.states import values_on_path

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Side:
    """One of the models: its documents and their scores."""

    model: Model
    stack: Stack
    scores: Floats

    @classmethod
    def of(cls, model: Model, queries: Any, models: Sequence[Model], batch_rows: int | None = None) -> Side:
        backend = backend_for(model, queries)
        with backend.precise():
            others = {name for other in models for name in other.names}
            stack = stacked(queries, model.names, others=others)
            n = int(stack.starts[-1])
            scorer = Scorer(model, stack, backend, (), batch_rows or call_size(len(model.names)))
            scores = to_host(scorer.originals(np.arange(n), n))[0].astype(np.float64)
            scorer.again()
            scorer.close()
        return cls(model, stack, scores)


@dataclass(eq=False)
class Path:
    """The swaps of all queries that can move the measure, and what each of them moved it by."""

    before: Floats
    after: Floats
    queries: list[int] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    n_crossings: int = 0

    @classmethod
    def of(cls, sides: list[Side], measure: Any) -> Path:
        stack = sides[0].stack
        ranker = Ranker(stack, measure, open_backend("numpy"))
        n_queries = len(stack.query_ids)
        found = cls(np.empty(n_queries), np.empty(n_queries))
        for query in range(n_queries):
            span = slice(int(stack.starts[query]), int(stack.starts[query + 1]))
            a, b = (side.scores[span] for side in sides)
            path = crossings(a, b)
            found.n_crossings += len(path)
            effective = set(_effective(path, stack.grades[span], measure.depth))
            values = values_on_path(ranker, query, ranked(a), path, effective)
            found.before[query], found.after[query] = values[0], values[-1]
            found.queries += [query] * len(effective)
            found.crossings += [swap for i, swap in enumerate(path) if i in effective]
            found.shares += np.diff(values).tolist()
        return found


def _effective(path: list[Crossing], grades: Floats, depth: int | None) -> list[int]:
    """Return which swaps can move the measure: of different grades, and not below its cutoff."""
    return [
        i
        for i, swap in enumerate(path)
        if grades[swap.risen] != grades[swap.fallen] and (depth is None or swap.rank < depth)
    ]
