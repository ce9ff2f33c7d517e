"""Which coalitions the regression looks at: paired with their complements, drawn without replacement.

A coalition's statistical leverage depends on its size alone and is, over all coalitions of a size, the same
for every size (Musco & Witter 2025, "Provably accurate Shapley value estimation via leverage score
sampling"). So every size gets the same number of coalitions, small sizes all that they have, and each drawn
one stands for its share of its size. A few coalitions are then made to share their players evenly.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Purpose, words
from ranklens.arrays.compile import steady_rows
from ranklens.explain.calibrating import calibrated
from ranklens.explain.dealing import dealt_coalitions, random_orders
from ranklens.explain.spreading import spread_evenly
from ranklens.kernels.coalition_regression import Fit, fitted

PARTS = 20
"""Parts of the sample whose scatter gives the standard errors."""

LISTED = 4
"""Times as many coalitions as are drawn, up to which all are listed."""

SEEN = 1024
"""Coalitions that the interactions are fitted to: more cost more than they bring."""

MANY = 2**1000
"""Coalitions beyond which it no longer matters how many there are; a float holds it."""

Members = NDArray[np.bool_]


@dataclass(frozen=True)
class CoalitionSample:
    """Coalitions of at most half of the players, and how contributions follow from their scores.

    Attributes
    ----------
    members : bool array, shape (n, k)
    fit : Fit
    n_parts : int
        Coalition i belongs to part i mod `n_parts`.
    """

    members: Members
    fit: Fit
    n_parts: int


def n_coalition_pairs(k: int) -> int:
    """Return how many pairs of complementary coalitions there are, the empty and the full one left out."""
    return int(2 ** (k - 1)) - 1


@functools.lru_cache(maxsize=4)
def sample_coalitions(k: int, n_pairs: int, seed: int) -> CoalitionSample:
    """Draw `n_pairs` coalitions of k players, each of which stands for itself and its complement."""
    members = drawn_coalitions(k, n_pairs, seed)
    size = members.sum(axis=1)
    total = np.asarray([pairs_of_size(k, s) for s in range(1, k // 2 + 1)], dtype=np.float64)[size - 1]
    fraction = np.bincount(size)[size] / total
    # The coalitions of a size, of which there are C(k, s), have the weight 1 / (C(k, s) s (k - s)) each.
    weights = np.where(2 * size == k, 0.5, 1.0) / (np.bincount(size)[size] * size * (k - size))
    weights /= weights.mean()
    n_parts = min(PARTS, len(members))
    # A size that was drawn completely has no sampling error.
    spread = np.sqrt(1.0 - fraction)
    fit = fitted(
        members.astype(np.float64),
        weights,
        spread,
        n_seen=n_seen(k, len(members)),
        n_parts=n_parts,
    )
    fit = calibrated(fit, members, weights, fraction, seed, n_parts)
    for array in (members, *fit):
        array.flags.writeable = False
    return CoalitionSample(members, fit, n_parts)


def drawn_coalitions(k: int, n_pairs: int, seed: int) -> Members:
    """Return `n_pairs` different coalitions, those first that the interactions are fitted to."""
    shares = allocation(k, min(n_pairs, n_coalition_pairs(k)))
    listed = {size for size, n in shares.items() if pairs_of_size(k, size) <= LISTED * n}
    sizes = np.repeat(list(shares), list(shares.values()))
    dealt = sizes[~np.isin(sizes, list(listed))]
    orders = random_orders(k, 1 + -(-int(dealt.sum()) // k), seed)
    found = dealt_coalitions(dealt, orders[1:])
    of_sizes = [
        draw_size(k, size, n, seed) if size in listed else topped_up(found[dealt == size], size, seed)
        for size, n in shares.items()
    ]
    complete = [size for size, n in shares.items() if n == pairs_of_size(k, size)]
    members = spread_evenly(np.concatenate(of_sizes), ~np.isin(sizes, complete))[:, orders[0]]
    seen = np.arange(n_seen(k, len(members))) * len(members) // n_seen(k, len(members))
    return np.concatenate([members[seen], np.delete(members, seen, axis=0)])


def n_seen(k: int, n: int) -> int:
    """Return how many of n coalitions the interactions are fitted to."""
    # One of few lengths, as programs that are compiled for each want it.
    return min(n, max(SEEN, steady_rows(2 * k)))


def topped_up(members: Members, size: int, seed: int) -> Members:
    """Replace coalitions of one size that are there twice."""
    n, k = members.shape
    if 2 * size == k:
        members = members ^ ~members[:, :1]
    once = distinct(members)
    return once if len(once) == n else distinct(np.concatenate([once, draw_size(k, size, n, seed)]))[:n]


def pairs_of_size(k: int, size: int) -> int:
    """Return how many coalitions of `size` there are, at most `MANY`, a pair of complements counted once."""
    logarithm = math.lgamma(k + 1) - math.lgamma(size + 1) - math.lgamma(k - size + 1)
    if logarithm > math.log(MANY) + 2.0:
        return MANY
    return min(MANY, math.comb(k, size) // (2 if 2 * size == k else 1))


def allocation(k: int, n_pairs: int) -> dict[int, int]:
    """Share `n_pairs` evenly among the sizes 1 to k // 2 (half of k counts half), none beyond what it has."""
    sizes = range(1, k // 2 + 1)
    claim = {size: 0.5 if 2 * size == k else 1.0 for size in sizes}
    given: dict[int, int] = {}
    left = n_pairs
    for size in sorted(sizes, key=lambda size: pairs_of_size(k, size) / claim[size]):
        open_claims = sum(claim[other] for other in sizes if other not in given)
        given[size] = min(pairs_of_size(k, size), round(left * claim[size] / open_claims))
        left -= given[size]
    return {size: given[size] for size in sizes if given[size]}


def draw_size(k: int, size: int, n_drawn: int, seed: int) -> Members:
    """Draw different coalitions of one size, all of which are equally likely."""
    total = pairs_of_size(k, size)
    if total <= LISTED * n_drawn:
        listed = every_coalition(k, size)
        keys = words(seed, 0, total, range(size, size + 1), Purpose.COALITIONS)[0]
        return listed[np.argsort(keys, kind="stable")[:n_drawn]]
    found = np.empty((0, k), dtype=np.bool_)
    start = 0
    while len(found) < n_drawn:
        stop = start + n_drawn + n_drawn // 2 + 8
        # Player j of draw i has the word (k i + j, size), so that a size is one run of words.
        keys = words(seed, start * k, stop * k, range(size, size + 1), Purpose.COALITIONS)
        found = distinct(np.concatenate([found, smallest(keys.reshape(-1, k), size)]))
        start = stop
    return found[:n_drawn]


def smallest(keys: NDArray[np.uint64], size: int) -> Members:
    """Mark the `size` smallest keys of each row; of two halves, the one that has the first player."""
    chosen = np.argpartition(keys, size - 1, axis=1)[:, :size]
    members = np.zeros(keys.shape, dtype=np.bool_)
    np.put_along_axis(members, chosen, True, axis=1)
    return members ^ ~members[:, :1] if 2 * size == keys.shape[1] else members


def every_coalition(k: int, size: int) -> Members:
    """List the coalitions of one size; of two halves only the one with the first player."""
    half = 2 * size == k
    listed = list(itertools.combinations(range(half, k), size - half))
    chosen = np.asarray(listed, dtype=np.int64).reshape(len(listed), size - half)
    members = np.zeros((len(chosen), k), dtype=np.bool_)
    np.put_along_axis(members, chosen, True, axis=1)
    members[:, :half] = True
    return members


def distinct(members: Members) -> Members:
    """Keep the first of equal rows, in their order."""
    packed: Any = np.packbits(members, axis=1)
    whole_rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, first = np.unique(whole_rows, return_index=True)
    return members[np.sort(first)]
