"""Which coalitions the regression looks at: paired with their complements, drawn without replacement.

A coalition's statistical leverage depends on its size alone and is, over all coalitions of a size, the same
for every size (Musco & Witter 2025, "Provably accurate Shapley value estimation via leverage score
sampling"). So every size gets the same number of coalitions, small sizes all that they have, and each drawn
one stands for its share of its size.
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

PARTS = 20
"""Parts of the sample that are left out in turn for the standard errors."""

Members = NDArray[np.bool_]


@dataclass(frozen=True)
class CoalitionSample:
    """Coalitions of at most half of the players, and the weights of their equations.

    Attributes
    ----------
    members : bool array, shape (n, k)
    weights : float64 array, shape (3, m), m the next multiple of `n_parts`
        Of the whole sample; of what stays when a part is left out; and what that part loses. A size that was
        drawn completely has no sampling error, so that its coalitions lose nothing.
    n_parts : int
        Coalition i belongs to part i mod `n_parts`.
    """

    members: Members
    weights: NDArray[np.float64]
    n_parts: int

    @property
    def equations(self) -> NDArray[np.float64]:
        """The members as numbers, filled up with rows of zeros to a multiple of `n_parts`."""
        missing = self.weights.shape[1] - len(self.members)
        return np.pad(self.members.astype(np.float64), ((0, missing), (0, 0)))


def n_coalition_pairs(k: int) -> int:
    """Return how many pairs of complementary coalitions there are, the empty and the full one left out."""
    return int(2 ** (k - 1)) - 1


@functools.lru_cache(maxsize=8)
def sample_coalitions(k: int, n_pairs: int, seed: int) -> CoalitionSample:
    """Draw `n_pairs` coalitions of k players, each of which stands for itself and its complement."""
    members, weights, fractions = [], [], []
    for size, n_drawn in allocation(k, min(n_pairs, n_coalition_pairs(k))).items():
        total = pairs_of_size(k, size)
        members.append(draw_size(k, size, n_drawn, seed))
        weights.append(np.full(n_drawn, total / (n_drawn * math.comb(k, size) * size * (k - size))))
        fractions.append(np.full(n_drawn, n_drawn / total))
    found, weight = np.concatenate(members), np.concatenate(weights)
    n_parts = min(PARTS, len(found))
    # Shrinking the changes corrects for the finite number of coalitions.
    spread = np.sqrt(1.0 - np.concatenate(fractions)) / max(n_parts - 1, 1)
    three = np.stack([weight, weight * (1.0 + spread), weight * spread * n_parts]) / weight.sum()
    three = np.pad(three, ((0, 0), (0, -len(found) % n_parts)))
    found.flags.writeable = three.flags.writeable = False
    return CoalitionSample(found, three, n_parts)


def pairs_of_size(k: int, size: int) -> int:
    """Return how many coalitions of `size` there are, a pair of complements counted once."""
    return math.comb(k, size) // (2 if 2 * size == k else 1)


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
    if total <= 4 * n_drawn:
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
