"""Coalitions dealt out from random orders, so that every player is in as many of them as any other.

As cards from shuffled packs: each coalition takes the next players of the current order, and when that is
used up, of another one. Coalitions in turn thus share no player as long as an order lasts. Each by itself is
a coalition of its size like any other, all equally likely.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Purpose, words

Members = NDArray[np.bool_]


def random_orders(k: int, n: int, seed: int) -> NDArray[np.int64]:
    """Return `n` random orders of k players, shape (n, k); more of them extend the sequence."""
    # Column 0: coalitions of a size that are drawn one by one have the column of that size.
    keys = words(seed, 0, n * k, range(1), Purpose.COALITIONS)[0].reshape(n, k)
    return np.argsort(keys, axis=1, kind="stable")


def dealt_coalitions(sizes: NDArray[np.int64], orders: NDArray[np.int64]) -> Members:
    """Deal out coalitions of the given sizes, none larger than half of the players.

    Parameters
    ----------
    sizes : int64 array, shape (n,)
    orders : int64 array, shape (at least Σ sizes / k, k)

    Returns
    -------
    bool array, shape (n, k)
    """
    k = orders.shape[1]
    ends = np.cumsum(sizes)
    n_orders = -(-int(sizes.sum()) // k)
    flat = orders[:n_orders].copy()
    for i in range(1, n_orders):
        whole = int(np.searchsorted(ends, i * k, side="left"))
        taken = k * i - int(ends[whole] - sizes[whole])
        if 0 < taken < sizes[whole]:
            flat[i] = _without_repeats(flat[i], flat[i - 1, -taken:], int(sizes[whole]) - taken)
    row = np.repeat(np.arange(len(sizes)), sizes)
    members = np.zeros((len(sizes), k), dtype=np.bool_)
    members[row, flat.reshape(-1)[: len(row)]] = True
    return members


def _without_repeats(order: NDArray[np.int64], before: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Let the first `n` players of an order be none of those `before`, and keep it otherwise."""
    new = ~np.isin(order, before)
    first = new & (np.cumsum(new) <= n)
    return np.concatenate([order[first], order[~first]])
