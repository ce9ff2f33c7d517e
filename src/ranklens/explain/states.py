"""The measure of a ranking after each of many swaps of neighbours.

A swap changes a rank or two, so the rankings are not sorted anew: what a measure looks at, the judged
documents in their order, is carried from each to the next, and measured in blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ranklens.explain.crossings import Crossing
from ranklens.explain.ranking import Ranker

Floats = NDArray[np.float64]

_ELEMENTS_AT_ONCE = 2**16
"""One array of a block stays in the second-level cache of one core."""


class JudgedOrder:
    """The judged documents of a ranking, in its order, with their ranks.

    Parameters
    ----------
    grades : float64 array, shape (n,)
        Of all documents; -inf for those without a judgement.
    ranking : int array, shape (n,)
        The documents, best first.

    Attributes
    ----------
    grades, ranks : float64 array, shape (judged,)
        Of the judged documents, best first; ranks count from 1. Where there is none, an entry of padding.
    """

    def __init__(self, grades: Floats, ranking: NDArray[np.int64]) -> None:
        ordered = grades[ranking]
        judged = np.flatnonzero(~np.isneginf(ordered))
        self.grades: Floats = ordered[judged]
        self.ranks: Floats = (judged + 1).astype(np.float64)
        if not judged.size:
            # What padding looks like to a measure.
            self.grades, self.ranks = np.asarray([-np.inf]), np.asarray([np.inf])
        self._place: list[int | None] = [None] * len(ranking)
        for place, document in enumerate(ranking[judged].tolist()):
            self._place[document] = place

    def swap(self, risen: int, fallen: int) -> None:
        """Let one document rise above its neighbour."""
        up, down = self._place[risen], self._place[fallen]
        if up is not None and down is not None:
            self._place[risen], self._place[fallen] = down, up
            self.grades[[up, down]] = self.grades[[down, up]]
        elif up is not None:
            self.ranks[up] -= 1.0
        elif down is not None:
            self.ranks[down] += 1.0


def values_on_path(
    ranker: Ranker,
    query: int,
    ranking: NDArray[np.int64],
    path: Sequence[Crossing],
    effective: Collection[int],
) -> Floats:
    """Return the measure of a ranking, and after each of the swaps of a path whose places are `effective`.

    Parameters
    ----------
    ranker : Ranker
        On NumPy.
    query : int
        Position in the stack.
    ranking : int64 array, shape (n,)
        The query's documents, best first, before the first swap.
    path : sequence of Crossing
    effective : set of int

    Returns
    -------
    float64 array, shape (1 + len(effective),)
    """
    start, stop = ranker.stack.starts[query], ranker.stack.starts[query + 1]
    order = JudgedOrder(ranker.stack.grades[start:stop], ranking)
    depth = ranker.measure.depth
    # No deeper judged document can have a rank above the cutoff.
    width = order.grades.size if depth is None else min(order.grades.size, max(1, depth))
    size = max(1, _ELEMENTS_AT_ONCE // width)
    return np.concatenate(
        [
            ranker.listed(query, grades, ranks)
            for grades, ranks in _blocks(_states(order, path, effective), 1 + len(effective), size, width)
        ]
    )


def _states(
    order: JudgedOrder, path: Iterable[Crossing], effective: Collection[int]
) -> Iterator[JudgedOrder]:
    yield order
    for i, swap in enumerate(path):
        order.swap(swap.risen, swap.fallen)
        if i in effective:
            yield order


def _blocks(states: Iterator[JudgedOrder], n: int, size: int, width: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield the grades and ranks of the first `width` judged documents, `size` states at once."""
    for start in range(0, n, size):
        grades, ranks = np.empty((2, min(size, n - start), width))
        for row, state in zip(range(len(grades)), states, strict=False):
            grades[row], ranks[row] = state.grades[:width], state.ranks[:width]
        yield grades, ranks
