"""How large the errors of a regression are beside what its coalitions say of each other.

How far each score is from what all others say of it shows what the fit leaves unexplained of this very game,
and leaving it out changes the contributions by more than it adds to their errors: the coalitions are few for
what they have to tell, and share their players evenly. How much more depends on the coalitions and hardly on
the game. It is measured on games whose contributions are known: random triples of players, and noise in the
place of larger interactions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Purpose, words
from ranklens.kernels.coalition_regression import NOISE, Fit, estimates

GAMES = 512
"""Random games that are fitted; the factor is known to 2 % then."""

Floats = NDArray[np.float64]


def calibrated(fit: Fit, members: NDArray[np.bool_], weights: Floats, seed: int, n_parts: int) -> Fit:
    """Return the fit with errors that are right, in the mean of their squares, for random games.

    Parameters
    ----------
    members : bool array, shape (n, k)
    weights : float64 array, shape (n,)
        Of the equations; 1 in the mean.
    """
    target = random_games(members, weights, seed)
    found, errors = estimates(target, fit, n_parts=n_parts, k=members.shape[1])
    stated = float(np.sum(errors**2))
    factor = math.sqrt(float(np.sum(found**2)) / stated) if stated > 0.0 else 1.0
    return fit._replace(
        scaled=fit.scaled * factor, explained=fit.explained * factor, taken=fit.taken * factor
    )


def random_games(members: NDArray[np.bool_], weights: Floats, seed: int) -> Floats:
    """Return the right sides of the equations for games without contributions, shape (games, n)."""
    n, k = members.shape
    signs, size = 1.0 - 2.0 * members, members.sum(axis=1)
    keys = words(seed, 0, GAMES * k, range(1), Purpose.SYNTHETIC)[0].reshape(GAMES, k)
    players = np.argsort(keys, axis=1, kind="stable")[:, :3]
    bits = words(seed, 0, GAMES, range(1, 2 + n // 64), Purpose.SYNTHETIC)
    flips = np.unpackbits(
        np.ascontiguousarray(bits.T, dtype="<u8").view(np.uint8), axis=1, bitorder="little", count=n
    )
    noise = np.asarray((1.0 - 2.0 * flips) * np.sqrt(NOISE / weights), dtype=np.float64)
    if k < 3:
        return noise
    product = signs[:, players[:, 0]] * signs[:, players[:, 1]] * signs[:, players[:, 2]]
    inside = members[:, players[:, 0]] * 1.0 + members[:, players[:, 1]] + members[:, players[:, 2]]
    # What the even share of the sum, -2, and the Shapley values, -2/3 each, explain.
    explained = (1.0 - 2.0 * size / k)[:, None] - 2.0 / 3.0 * (inside - 3.0 * size[:, None] / k)
    found: Floats = (product - explained).T + noise
    return found
