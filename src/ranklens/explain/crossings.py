"""How one ranking becomes another: the swaps of neighbours on the way, in the order in which they happen."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class Crossing(NamedTuple):
    """A document rises above its neighbour: the positions of both, and the rank (from 0) it takes."""

    risen: int
    fallen: int
    rank: int


def crossings(scores_a: Floats, scores_b: Floats) -> list[Crossing]:
    """Return the swaps of neighbours that turn the ranking by `scores_a` into that by `scores_b`.

    Let the score of each document go straight from the one to the other, (1 - t) a + t b for t from 0 to 1.
    Two documents whose order differs meet once, at t = (a_i - a_j) / ((a_i - a_j) + (b_j - b_i)), as
    neighbours; no others meet. So every pair that the models order differently is one swap. The order of the
    swaps stays the same when either model's scores are shifted, or multiplied by a positive number. Swaps at
    the same moment are taken from the top of the ranking.

    Parameters
    ----------
    scores_a, scores_b : float64 arrays, shape (n,)
        Of documents in the order that breaks ties.

    Examples
    --------
    >>> crossings(np.asarray([3.0, 2.0, 1.0]), np.asarray([1.0, 2.0, 4.0]))
    [Crossing(risen=2, fallen=1, rank=1), Crossing(risen=2, fallen=0, rank=0),
     Crossing(risen=1, fallen=0, rank=1)]
    """
    ranking = ranked(scores_a).tolist()
    final = np.empty(len(ranking), dtype=np.int64)
    final[ranked(scores_b)] = np.arange(len(ranking))
    place, a, b = final.tolist(), scores_a.tolist(), scores_b.tolist()
    waiting: list[tuple[float, int, int, int]] = []

    def meet(rank: int) -> None:
        if not 0 <= rank < len(ranking) - 1:
            return
        upper, lower = ranking[rank], ranking[rank + 1]
        if place[upper] > place[lower]:
            ahead, behind = a[upper] - a[lower], b[lower] - b[upper]
            heapq.heappush(waiting, (ahead / (ahead + behind), rank, upper, lower))

    for rank in range(len(ranking) - 1):
        meet(rank)
    found = []
    while waiting:
        _, rank, upper, lower = heapq.heappop(waiting)
        if ranking[rank] != upper or ranking[rank + 1] != lower:
            continue
        ranking[rank], ranking[rank + 1] = lower, upper
        found.append(Crossing(lower, upper, rank))
        meet(rank - 1)
        meet(rank + 1)
    return found


def ranked(scores: Floats) -> Indices:
    """Return the documents by score descending; those with equal scores stay in their order."""
    return np.argsort(-scores, kind="stable")
