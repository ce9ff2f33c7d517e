"""Sampled coalitions as arrays of few shapes, for a program that is compiled once for each.

The rows are A, B, A again, and the sampled coalitions; rows, players and samples that only fill up are at the
ends, and count for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays.compile import steady_rows
from ranklens.explain.leverage import CoalitionSample

ENDS = 3
"""Rows before the sampled ones."""


@dataclass(frozen=True)
class Layout:
    """What a program needs to know about a sample.

    Attributes
    ----------
    members : bool array, shape (rows, players + 1)
        The last column is False: of features that do not change.
    n_rows, k : int
        How many rows and players there really are.
    n_samples : int
        Orders, or pairs of orders, or pairs of coalitions.
    together : int
        Orders of a sample; 0 for pairs of coalitions.
    n_parts : int
    arrays : tuple of arrays
        For orders, the rows after and before each player's turn, shape (orders, players); for coalitions,
        their sizes and the arrays of their `Fit`.
    """

    members: NDArray[np.bool_]
    n_rows: int
    k: int
    n_samples: int
    together: int
    n_parts: int
    arrays: tuple[NDArray[Any], ...]


def regression_layout(sample: CoalitionSample) -> Layout:
    """Lay out pairs of coalitions: each is followed by its complement."""
    n, k = sample.members.shape
    rows, players = steady_rows(n), steady_rows(k)
    both = np.stack([sample.members, ~sample.members], axis=1).reshape(2 * n, k)
    gain, left_out, scaled, explained, taken = sample.fit
    # All are seen, or a number that is steady by itself.
    seen = len(left_out) if len(taken) else rows
    spare = players - k if len(taken) else 0
    if taken.ndim == 2:
        explained = padded(explained, (players, rows - seen))
        taken = padded(taken, (seen, rows - seen))
    else:
        explained = np.pad(explained, ((0, 0), (0, spare), (0, spare)))
        taken = np.pad(taken, ((0, 0), (0, 0), (0, spare)))
    return Layout(
        padded(_with_ends(both), (ENDS + 2 * rows, players + 1)),
        ENDS + 2 * n,
        k,
        n,
        0,
        sample.n_parts,
        (
            padded(sample.members.sum(axis=1).astype(np.float64), (rows,)),
            padded(gain, (rows, players)),
            padded(left_out, (seen, seen)),
            padded(scaled, (rows, players)),
            explained,
            taken,
        ),
    )


def orders_layout(ranks: NDArray[np.int64], interior: NDArray[np.bool_], together: int) -> Layout:
    """Lay out walks one after the other; `ranks` (orders, k) says when each player's turn is."""
    n, k = ranks.shape
    first = ENDS + (k - 1) * np.arange(n)[:, None]
    after = np.where(ranks == k - 1, 1, first + ranks)
    before = np.where(ranks == 0, 0, first + ranks - 1)
    orders, players = together * steady_rows(n // together), steady_rows(k)
    rows = ENDS + steady_rows(n * (k - 1))
    return Layout(
        padded(_with_ends(interior), (rows, players + 1)),
        ENDS + n * (k - 1),
        k,
        n // together,
        together,
        1,
        tuple(padded(place.astype(np.int32), (orders, players)) for place in (after, before)),
    )


def padded(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Fill an array up with zeros at its ends."""
    return np.pad(array, [(0, full - n) for n, full in zip(array.shape, shape, strict=True)])


def _with_ends(members: NDArray[np.bool_]) -> NDArray[np.bool_]:
    k = members.shape[1]
    return np.concatenate(
        [np.zeros((1, k), np.bool_), np.ones((1, k), np.bool_), np.zeros((1, k), np.bool_), members]
    )
