"""How far the intervals of a family reach when the dependence of its rows is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Purpose, current_backend, draw_words, to_host
from ranklens.core.comparisons import ComparisonResult
from ranklens.core.errors import UnknownNameError
from ranklens.core.per_query import MetricResult, QueryId
from ranklens.kernels.multipliers import largest_statistics
from ranklens.stats.design import Design
from ranklens.stats.pair import Pair
from ranklens.stats.rows.design_units import QueryDesign
from ranklens.stats.rows.sums import exact_sums
from ranklens.stats.slices import Slice, slices_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FamilyValues:
    """The values by query behind comparisons, and the design of their sample."""

    evaluations: Mapping[str, Any]
    pieces: Mapping[str, Slice]
    design: Design

    @classmethod
    def of(cls, evaluations: Mapping[str, Any], segments: Any, weights: Any, clusters: Any) -> FamilyValues:
        """Take what `compare_many` was given; ValueError for weights and clusters without query ids."""
        design = Design.checked(weights, clusters)
        for name, values in (("weights", design.weights), ("clusters", design.clusters)):
            if values is not None and not isinstance(values, Mapping):
                raise ValueError(f"{name} must map query ids to values, got {type(values).__name__}")
        pieces = {piece.label: piece for piece in slices_of(segments)} if segments is not None else {}
        return cls(evaluations, pieces, design)

    def reach(self, family: Sequence[ComparisonResult], n_permutations: int, seed: int) -> float:
        """Return how many standard errors the intervals of a family reach, to hold together."""
        alternatives = {row.alternative for row in family}
        if len(alternatives) > 1:
            shown = " and ".join(sorted(alternatives))
            raise ValueError(f"a family must be of one alternative, got {shown}; leave evaluations out")
        deltas, mask, queries = self._deltas(family)
        deviations, counts = self._deviations(family, deltas, mask, queries)
        largest = np.sort(_largest(deviations, counts, n_permutations, seed, alternatives.pop()))
        alpha = max(row.alpha for row in family)
        place = math.ceil((1.0 - alpha) * (n_permutations + 1) - 1e-9) - 1
        return float(largest[place]) if place < n_permutations else math.inf

    def _deltas(self, family: Sequence[ComparisonResult]) -> tuple[Floats, NDArray[np.bool_], list[QueryId]]:
        """Return the differences of each row, which are measured, and the queries in their order."""
        pairs = [self._pair(row) for row in family]
        queries = sorted({query for pair in pairs for query in pair.queries}, key=str)
        place = {query: i for i, query in enumerate(queries)}
        deltas, mask = np.zeros((len(pairs), len(queries))), np.zeros((len(pairs), len(queries)), dtype=bool)
        for i, (row, pair) in enumerate(zip(family, pairs, strict=True)):
            inside = [place[query] for query in pair.queries]
            deltas[i, inside], mask[i, inside] = pair.deltas, True
            if row.segment is not None:
                piece = self._piece(row.segment)
                mask[i] &= np.array([query in piece.queries for query in queries])
        return np.where(mask, deltas, 0.0), mask, queries

    def _deviations(
        self,
        family: Sequence[ComparisonResult],
        deltas: Floats,
        mask: NDArray[np.bool_],
        queries: Sequence[QueryId],
    ) -> tuple[Floats, Floats]:
        """Return how far each unit's total lies from the mean times its size, and the numbers of units."""
        units = QueryDesign.of(self.design, queries).union()
        totals, sizes = deltas, mask.astype(np.float64)
        if units is not None:
            totals, sizes = units.totals(totals), units.totals(sizes)
        counts = np.count_nonzero(sizes, axis=1)
        for row, count in zip(family, counts.tolist(), strict=True):
            if count != (row.n_queries if row.n_units is None else row.n_units):
                raise ValueError(
                    f"the comparison of {row.run_b} with {row.run_a} on {row.metric} was made of other "
                    "values, weights or clusters: give those that it was made of, or leave evaluations out"
                )
        away = totals - (exact_sums(totals) / exact_sums(sizes))[:, None] * sizes
        norm = np.sqrt(exact_sums(away * away))[:, None]
        return np.divide(away, norm, out=away, where=norm > 0.0), counts.astype(np.float64)

    def _pair(self, row: ComparisonResult) -> Pair:
        a, b = (self._result(run, row.metric) for run in (row.run_a, row.run_b))
        return Pair.of(a, b, row.run_a, row.run_b)

    def _result(self, run: str, metric: str) -> MetricResult:
        if run not in self.evaluations:
            raise UnknownNameError("run", run, self.evaluations)
        found = self.evaluations[run]
        return found if isinstance(found, MetricResult) else found[metric]

    def _piece(self, label: str) -> Slice:
        if label not in self.pieces:
            raise ValueError(
                f"the row of the segment {label} needs the segments: give segments= as to compare_many, or "
                "leave evaluations out"
            )
        return self.pieces[label]


def _largest(deviations: Floats, counts: Floats, n_permutations: int, seed: int, alternative: str) -> Floats:
    backend = current_backend()
    columns = range(-(-deviations.shape[1] // 64))
    with backend.precise():
        statistics = largest_statistics(
            backend.asarray(deviations),
            backend.asarray(counts),
            lambda some: draw_words(backend, seed, some.start, some.stop, columns, Purpose.FLIPS),
            range(n_permutations),
            alternative,
        )
        (host,) = to_host(statistics)
    return np.asarray(host, dtype=np.float64)
