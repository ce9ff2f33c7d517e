"""What a live leaf pays to the players of its path."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def payoffs(most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return the shares of B-only and of A-only players, each of shape (most + 1, most + 1).

    Entry (p, q) is what a leaf of value 1 pays each of its p players that only B satisfies,
    (p - 1)! q! / (p + q)!, and each of its q that only A satisfies, -p! (q - 1)! / (p + q)!; 0 where there is
    no such player. It is the Shapley value of the game that is 1 when every player of the first kind has
    joined and none of the second.

    References
    ----------
    G. Laberge, Y. Pequignot, "Understanding interventional TreeSHAP: how and why it works", arXiv 2209.15123.
    """
    only_b = np.zeros((most + 1, most + 1))
    only_a = np.zeros((most + 1, most + 1))
    for p in range(most + 1):
        for q in range(most + 1 - p):
            orders = math.comb(p + q, p)
            if p:
                only_b[p, q] = 1 / (p * orders)
            if q:
                only_a[p, q] = -1 / (q * orders)
    return only_b, only_a
