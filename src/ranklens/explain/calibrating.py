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

WIDE = 128
"""Players beyond which a quarter of the games tells as much, since each has so many errors."""

Floats = NDArray[np.float64]


def calibrated(
    fit: Fit, members: NDArray[np.bool_], weights: Floats, share: Floats, seed: int, n_parts: int
) -> Fit:
    """Return the fit with errors that are right, in the mean of their squares, for random games.

    Parameters
    ----------
    members : bool array, shape (n, k)
    weights : float64 array, shape (n,)
        Of the equations; 1 in the mean.
    share : float64 array, shape (n,)
        Which share of the coalitions of its size are drawn.
    """
    triples, noise = random_games(members, weights, seed)
    drawn = gain_of_all(members)
    # Noise is part of the game: what it adds to the contributions themselves is no error, but for what it
    # adds by the coalitions that were not drawn.
    own = drawn * share[:, None]
    undrawn = np.sum(drawn * drawn, axis=1) * share * (1.0 - share)
    needed = []
    for target, truth, missing in (
        (triples, 0.0, 0.0),
        (noise, noise @ own, len(noise) * NOISE * float(np.sum(undrawn / weights))),
    ):
        found, errors = estimates(target, fit, n_parts=n_parts, k=members.shape[1])
        stated = float(np.sum(errors**2))
        if stated > 0.0:
            needed.append((float(np.sum((found - truth) ** 2)) + missing) / stated)
    factor = math.sqrt(sum(needed) / len(needed)) if needed else 1.0
    if fit.taken.ndim == 2:
        # Of right sides, which are scaled after it.
        return fit._replace(scaled=fit.scaled * factor)
    return fit._replace(
        scaled=fit.scaled * factor, explained=fit.explained * factor, taken=fit.taken * factor
    )


def gain_of_all(members: NDArray[np.bool_]) -> Floats:
    """Return what contributions take of each right side where these are all coalitions: shape (n, k).

    That is 2 k / (C(k, s) s (k - s)) for a member, less s / k of it, with the number drawn for C(k, s).
    """
    k, size = members.shape[1], members.sum(axis=1)
    # A coalition of half of the players stands for its complement, too.
    of_size = np.bincount(size)[size] * np.where(2 * size == k, 2.0, 1.0)
    scale = 2.0 * k / (of_size * size * (k - size))
    found: Floats = scale[:, None] * (members - (size / k)[:, None])
    return found


def random_games(members: NDArray[np.bool_], weights: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return right sides of triples without contributions, and of noise: both of shape (games, n)."""
    n, k = members.shape
    games = GAMES if k <= WIDE else GAMES // 4
    signs, size = 1.0 - 2.0 * members, members.sum(axis=1)
    keys = words(seed, 0, games * k, range(1), Purpose.SYNTHETIC)[0].reshape(games, k)
    players = np.argsort(keys, axis=1, kind="stable")[:, :3]
    bits = words(seed, 0, games, range(1, 2 + n // 64), Purpose.SYNTHETIC)
    flips = np.unpackbits(
        np.ascontiguousarray(bits.T, dtype="<u8").view(np.uint8), axis=1, bitorder="little", count=n
    )
    noise = np.asarray((1.0 - 2.0 * flips) * np.sqrt(NOISE / weights), dtype=np.float64)
    if k < 3:
        return np.zeros_like(noise), noise
    product = signs[:, players[:, 0]] * signs[:, players[:, 1]] * signs[:, players[:, 2]]
    inside = members[:, players[:, 0]] * 1.0 + members[:, players[:, 1]] + members[:, players[:, 2]]
    # What the even share of the sum, -2, and the Shapley values, -2/3 each, explain.
    explained = (1.0 - 2.0 * size / k)[:, None] - 2.0 / 3.0 * (inside - 3.0 * size[:, None] / k)
    return (product - explained).T, noise
