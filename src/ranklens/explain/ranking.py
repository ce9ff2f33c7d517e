"""From the scores of documents to the measure of their ranking, as `ranklens.evaluate` computes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, compiled, cut, rows_within
from ranklens.core import DataError
from ranklens.explain.queries import Stack
from ranklens.kernels.measures_batch import MeasureBatch
from ranklens.kernels.shuffles import ranked_grades
from ranklens.metrics.definitions import Measure

Array = Any
Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

# Scores, order, grades, ranks and what a measure makes of them.
_BYTES_PER_ELEMENT = 16 * 8
# One array of a batch should fit the second-level cache of one core.
_CACHED_ELEMENTS = 2**16


@dataclass(frozen=True, eq=False)
class Ranker:
    """Sorts documents by score and measures the rankings.

    Attributes
    ----------
    stack : Stack
    measure : Measure
    backend : Backend
        Where the scores lie.
    """

    stack: Stack
    measure: Measure
    backend: Backend

    def values(self, scores: Array, queries: Indices, slots: Sequence[Indices]) -> Iterator[Array]:
        """Measure rankings of some queries.

        Parameters
        ----------
        scores : array, shape (m + 1,)
            The last one is minus infinity.
        queries : int64 array, shape (rows,)
            Positions in the stack.
        slots : sequence of int64 arrays, each of shape (repeats, n)
            Where the score of each document of a row's query is found among `scores`; the documents come in
            the stack's order, all with the same number of repeats.

        Yields
        ------
        array, shape (repeats, some rows)
            For consecutive rows.
        """
        n_repeats = slots[0].shape[0]
        widest = _power_of_two(max(slot.shape[1] for slot in slots))
        for some in cut(range(len(slots)), self._rows_at_once(n_repeats * widest, len(slots))):
            few = slots[some.start : some.stop]
            yield self._measured(scores, queries[some.start : some.stop], few, n_repeats)

    def listed(self, query: int, grades: Array, ranks: Array) -> Array:
        """Measure rankings of one query from the judged documents that they list.

        Parameters
        ----------
        query : int
            Position in the stack.
        grades, ranks : arrays, shape (rankings, width)
            Of the judged documents, best first; no others lie within the measure's cutoff.

        Returns
        -------
        array, shape (rankings,)
        """
        n, shape = int(self.stack.sizes[query]), (grades.shape[0], 1)
        pool = self._pool(np.asarray([query]), 1)
        retrieved = np.full(shape, float(n))
        batch = self._laid_out(grades[:, None, :], ranks[:, None, :], retrieved, pool, n)
        return self._checked(self.measure(batch), shape)[:, 0]

    def _rows_at_once(self, n_elements: int, most: int) -> int:
        fitting = rows_within(_BYTES_PER_ELEMENT * n_elements, most)
        if self.backend.name in ("numpy", "array_api_strict"):
            fitting = min(fitting, max(1, _CACHED_ELEMENTS // n_elements))
        return fitting

    def _measured(self, scores: Array, queries: Indices, slots: Sequence[Indices], n_repeats: int) -> Array:
        n_rows = len(slots)
        # The same few shapes again and again, for compilers' sake.
        padded = _power_of_two(n_rows) if self.backend.name == "jax" else n_rows
        width = _power_of_two(max(slot.shape[1] for slot in slots))
        index = np.full((n_repeats, padded, width), scores.shape[0] - 1, dtype=np.int64)
        grades = np.full((padded, width), -np.inf)
        for row, (query, slot) in enumerate(zip(queries.tolist(), slots, strict=True)):
            index[:, row, : slot.shape[1]] = slot
            start, stop = self.stack.starts[query], self.stack.starts[query + 1]
            grades[row, : slot.shape[1]] = self.stack.grades[start:stop]
        batch = self._batch(scores, index, grades, queries)
        return self._checked(self.measure(batch), (n_repeats, padded))[:, :n_rows]

    def _checked(self, answer: Any, shape: tuple[int, int]) -> Array:
        result = self.backend.asarray(answer)
        if tuple(result.shape) != shape:
            raise DataError(
                f"the measure {self.measure.name} gave an array of shape {tuple(result.shape)}; it must give "
                f"one value for each run and query of the batch, shape {shape}"
            )
        return result

    def _batch(
        self, scores: Array, index: Indices, grades: NDArray[np.float64], queries: Indices
    ) -> MeasureBatch:
        xp, to_device = self.backend.xp, self.backend.asarray
        sizes = self.stack.sizes[queries]
        compact = bool(
            np.isneginf(grades).sum(axis=1)[: len(queries)].sum() > (grades.shape[1] - sizes).sum()
        )
        depth = index.shape[2]
        if self.measure.depth is not None:
            depth = min(depth, _power_of_two(max(1, self.measure.depth)))
        flat = xp.take(scores, to_device(index.reshape(-1)), axis=0)
        sort = compiled(ranked_grades, self.backend, static=("depth", "compact"))
        ranked = sort(xp.reshape(flat, index.shape), to_device(grades), depth=depth, compact=compact)
        pool = self._pool(queries, grades.shape[0])
        retrieved = np.zeros((index.shape[0], grades.shape[0]))
        retrieved[:, : len(queries)] = sizes
        return self._laid_out(ranked.grades, ranked.ranks, retrieved, pool, grades.shape[1])

    def _laid_out(
        self, grades: Array, ranks: Array, retrieved: Floats, pool: Floats, deepest: int
    ) -> MeasureBatch:
        to_device = self.backend.asarray
        positions = np.arange(1.0, max(deepest, pool.shape[1]) + 1.0)
        return MeasureBatch(
            grades=grades,
            ranks=ranks,
            n_retrieved=to_device(retrieved),
            pool=to_device(pool),
            positions=to_device(positions),
            logs=to_device(np.log2(positions + 1.0)),
            max_grade=self.stack.max_grade,
        )

    def _pool(self, queries: Indices, padded: int) -> NDArray[np.float64]:
        pools = [self.stack.pools[query] for query in queries.tolist()]
        pool = np.full((padded, _power_of_two(max(len(grades) for grades in pools))), -np.inf)
        for row, grades in zip(pool, pools, strict=False):
            row[: len(grades)] = grades
        return pool


def _power_of_two(n: int) -> int:
    return 1 << max(0, int(n) - 1).bit_length()
