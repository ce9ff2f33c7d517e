"""Which features made the swaps of documents between two models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core.changes import Swap
from ranklens.explain.change_path import Path, Side
from ranklens.explain.models.watched import Progress
from ranklens.explain.pairs import pairwise_many

Floats = NDArray[np.float64]


class Effects:
    """Which features made the swaps."""

    def __init__(self, sides: list[Side], path: Path) -> None:
        self._sides = sides
        self._path = path
        self._stack = sides[0].stack

    def explained(
        self, max_swaps: int | None, options: dict[str, Any], progress: Progress | None = None
    ) -> tuple[tuple[Swap, ...], dict[str, Floats]]:
        """Return the swaps, largest share first, and the effect of each feature by query."""
        path = self._path
        moving = [i for i, share in enumerate(path.shares) if share != 0.0]
        order = sorted(moving, key=lambda i: (-abs(path.shares[i]), i))
        chosen = order if max_swaps is None else order[:max_swaps]
        labels, parts = self._parts(chosen, options, progress)
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

    def _parts(
        self, chosen: list[int], options: dict[str, Any], progress: Progress | None
    ) -> tuple[list[str], Floats]:
        """Return the features, and the part of each chosen swap that each of them made."""
        starts = self._stack.starts
        first = [int(starts[self._path.queries[i]]) for i in chosen]
        swaps = [self._path.crossings[i] for i in chosen]
        risen = [start + swap.risen for start, swap in zip(first, swaps, strict=True)]
        fallen = [start + swap.fallen for start, swap in zip(first, swaps, strict=True)]
        labels: dict[str, int] = {}
        found = []
        for place, side in enumerate(self._sides):
            watch = None if progress is None else _half(progress, place, len(chosen))
            rows = (_rows(side, some) for some in (fallen, risen))
            found.append(pairwise_many(side.model, *rows, **options, progress=watch))
            for name in found[-1].names:
                labels.setdefault(name, len(labels))
        if progress is not None:
            progress(2 * len(chosen), 2 * len(chosen))
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


def _rows(side: Side, documents: list[int]) -> Any:
    """Return the features of some documents: an array where such were given, else columns by name."""
    rows = side.stack.rows(np.asarray(documents, dtype=np.int64))
    if side.stack.from_array and side.model.ordered:
        return rows
    return dict(zip(side.model.names, rows.T, strict=True))


def _half(progress: Progress, side: int, n_swaps: int) -> Progress:
    """Count what is done for one of the two models in swaps, of which there are 2 `n_swaps` in all."""

    def watch(done: int, total: int) -> None:
        progress(n_swaps * side + n_swaps * done // max(total, 1), 2 * n_swaps)

    return watch


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
    return None if grade == -math.inf else float(grade)
