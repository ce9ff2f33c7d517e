"""Sums of differences drawn with replacement, and their order statistics.

Draw d of a resample is the low (d even) or the high half u of word d div 2, and picks the difference at
floor(u · n / 2^32); past n = 2^16 it takes the whole word d, and picks floor(u · n / 2^64).
"""

from __future__ import annotations

from typing import Any

from ranklens.arrays import device_of, namespace

WIDE_FROM = 2**16 + 1
"""The sample size from which on a draw takes a whole word."""

_HALF = 32
_HALF_MASK = 2**32 - 1


def n_word_columns(n: int) -> int:
    """Return how many words a resample of `n` draws takes."""
    return n if n >= WIDE_FROM else -(-n // 2)


def drawn_indices(words: Any, n: Any, wide: bool) -> Any:
    """Return what int64 `words` (columns, m) pick among `n` differences, shape (draws, m).

    `wide` says that a draw takes a whole word. Otherwise a column's low half comes before its high half.
    """
    xp = namespace(words)
    low = words & _HALF_MASK
    high = (words >> _HALF) & _HALF_MASK
    if wide:
        return (high * n + ((low * n) >> _HALF)) >> _HALF
    halves = xp.stack([low, high], axis=1)
    return (xp.reshape(halves, (2 * words.shape[0], words.shape[1])) * n) >> _HALF


def picked_sums(values: Any, words: Any, n: Any, first_draw: Any, wide: bool) -> Any:
    """Sum the values (..., n or more) that `words` (columns, m) pick among the first n, shape (..., m).

    `first_draw` is the number of the words' first draw; draws from number n on are left out.
    """
    xp = namespace(values)
    indices = drawn_indices(words, n, wide)
    draw = xp.arange(indices.shape[0], dtype=xp.int64, device=device_of(values)) + first_draw
    flat = xp.take(values, xp.reshape(indices, (-1,)), axis=-1)
    picked = xp.reshape(flat, (*values.shape[:-1], *indices.shape))
    return xp.sum(xp.where((draw < n)[:, None], picked, 0.0), axis=-2)


def extremes_and_sum(values: Any, n: Any) -> Any:
    """Return the smallest and largest of the first `n` of `values`, and the sum of all, shape (3,)."""
    xp = namespace(values)
    place = xp.arange(values.shape[0], dtype=xp.int64, device=device_of(values))
    first = xp.where(place < n, values, values[0])
    return xp.stack([xp.min(first), xp.max(first), xp.sum(values)])


def order_statistics(sums: Any, ranks: tuple[int, ...]) -> Any:
    """Return the elements of these ranks (0 is the smallest) along the last axis, shape (..., len(ranks))."""
    xp = namespace(sums)
    ordered = xp.sort(sums, axis=-1)
    return xp.stack([ordered[..., rank] for rank in ranks], axis=-1)
