"""From the scores of all 2^k coalitions to k Shapley values.

With bit i of T meaning "player i from B", the complement of T is the reversed index, and

    Φ = (V - V[:, ::-1]) @ W,   W[T, i] = (|T| - 1)! (k - |T|)! / k! if i in T, else 0

so that a constant offset of the scores cancels before it is weighted. (Each player's marginal contributions,
Shapley 1953, with v(T without i) counted at the complement of T.)
"""

from __future__ import annotations

import math
from typing import Any

from ranklens.arrays import device_of, namespace

Array = Any

WIDEST_PRODUCT = 12
"""Beyond it W is not built: weighting and folding the halves takes less memory."""


def shapley_values(values: Array, *, k: int) -> Array:
    """Return the contributions, shape (pairs, k), of scores `values`, shape (pairs, 2^k)."""
    sizes = size_weights(values, k)
    if k <= WIDEST_PRODUCT:
        return product(values, coalition_weights(sizes, k))
    xp = namespace(values)
    number = xp.arange(2**k, dtype=xp.int32, device=device_of(values))
    differences = values - xp.flip(values, axis=1)
    return folded(differences * xp.take(sizes, coalition_sizes(number, k)), k)


def product(values: Array, weights: Array) -> Array:
    """Return Φ, shape (pairs, k), of scores (pairs, 2^k) and W (2^k, k)."""
    return (values - namespace(values).flip(values, axis=1)) @ weights


def folded(weighted: Array, k: int) -> Array:
    """Return, for each bit, the sum over the columns whose number has it: (pairs, 2^k) to (pairs, k)."""
    xp = namespace(weighted)
    found = []
    for _ in range(k):
        half = weighted.shape[1] // 2
        low, high = weighted[:, :half], weighted[:, half:]
        found.append(xp.sum(high, axis=1))
        weighted = low + high
    return xp.stack(found[::-1], axis=1)


def coalition_weights(sizes: Array, k: int) -> Array:
    """Return W, shape (2^k, k), from the weight of each size.

    Its upper left corner of shape (2^j, j) belongs to j players, if the sizes' weights do.
    """
    xp = namespace(sizes)
    device = device_of(sizes)
    number = xp.arange(2**k, dtype=xp.int32, device=device)
    weights = xp.take(sizes, coalition_sizes(number, k))
    players = xp.arange(k, dtype=xp.int32, device=device)
    member = (number[:, None] >> players) & 1
    return weights[:, None] * xp.astype(member, sizes.dtype)


def coalition_sizes(number: Array, k: int) -> Array:
    """Count the bits of coalition numbers."""
    size = number & 1
    for bit in range(1, k):
        size = size + ((number >> bit) & 1)
    return size


def size_weights(like: Array, k: int) -> Array:
    """Return (s - 1)! (k - s)! / k! for s = 0 (where it is 0) to k, as an array beside `like`."""
    return namespace(like).asarray(size_weight_list(k), dtype=like.dtype, device=device_of(like))


def size_weight_list(k: int) -> list[float]:
    """Return the numbers of `size_weights`, (s - 1)! (k - s)! / k! being 1 / (s · C(k, s))."""
    return [0.0] + [1.0 / (s * math.comb(k, s)) for s in range(1, k + 1)]
