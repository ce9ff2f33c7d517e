"""Coalitions that share players as evenly as they can.

Least squares are most accurate where every two players are together in the same number of coalitions as any
other two. Drawn coalitions come near that only when there are many of them, so players are exchanged between
a coalition and its complement as long as it helps. Sizes stay, and since all players are then renamed at
random, every coalition of a size remains equally likely.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PASSES = 3
"""How often each coalition is looked at; the third time still helps, the eighth no longer does."""

FEW = 24
"""Coalitions a player up to which they are spread; more of them are even enough as they are."""

SLICE = 8192
"""Elements of a matrix that are multiplied at once: for more BLAS wakes all cores each time, and where others
need these, it waits for them ten times as long as one takes."""

SCALE = 16.0
"""Weights are rounded to integers, so that all sums are exact, and the choices the same everywhere."""

Members = NDArray[np.bool_]
Floats = NDArray[np.float64]


def spread_evenly(members: Members, movable: NDArray[np.bool_]) -> Members:
    """Exchange players so that Σ over coalitions of w x x' comes close to a multiple of 1 off its diagonal.

    Parameters
    ----------
    members : bool array, shape (n, k)
        Different coalitions; x is -1 for the members of one and 1 for the others, w = 1 / (s (k - s)).
    movable : bool array, shape (n,)
        The coalitions that may change.

    Returns
    -------
    bool array, shape (n, k)
        Different coalitions of the same sizes.
    """
    n, k = members.shape
    if n > FEW * k:
        return members
    signs = 1.0 - 2.0 * members
    size = members.sum(axis=1)
    weights = np.rint(SCALE * k * k / (size * (k - size)))
    height = max(1, SLICE // k)
    slices = np.zeros((-(-k // height), height, k))
    together = slices.reshape(-1, k)[:k]
    together[:] = (signs * weights[:, None]).T @ signs
    np.fill_diagonal(together, 0.0)
    taken = {row.tobytes() for row in np.packbits(members, axis=1)}
    for _ in range(PASSES):
        for row in np.flatnonzero(movable).tolist():
            pull = (slices @ signs[row]).reshape(-1)[:k]
            _exchange(signs[row], float(weights[row]), pull, together, taken)
    return signs < 0.0


def _exchange(x: Floats, weight: float, pull: Floats, together: Floats, taken: set[bytes]) -> None:
    """Make the best exchange of one coalition, if it helps and gives a new coalition.

    `pull` is ``together @ x``.
    """
    low = x < 0.0
    inside = int(np.argmin(np.where(low, pull, np.inf)))
    outside = int(np.argmax(np.where(low, -np.inf, pull)))
    both = together[inside, outside]
    # The change of the sum of squares off the diagonal, over 8 w.
    if pull[inside] - pull[outside] - 2.0 * both + 2.0 * weight * (len(x) - 2) >= 0.0:
        return
    before = np.packbits(low).tobytes()
    low[inside], low[outside] = False, True
    after = np.packbits(low).tobytes()
    # The complement of a half is another half, which asks for the same scores.
    if after in taken or np.packbits(~low).tobytes() in taken:
        return
    taken.remove(before)
    taken.add(after)
    change = 2.0 * weight * x
    for player, step in ((inside, change), (outside, -change)):
        together[player, :] += step
        together[:, player] += step
        together[player, player] = 0.0
    together[inside, outside] = together[outside, inside] = both
    x[inside], x[outside] = 1.0, -1.0
