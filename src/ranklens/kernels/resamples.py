"""Sums of differences drawn with replacement, and their order statistics.

Draw d of a resample is the low (d even) or the high half u of word d div 2, and picks the difference at
floor(u · n / 2^32); past n = 2^16 it takes the whole word d, and picks floor(u · n / 2^64).
"""

from __future__ import annotations

from typing import Any

from ranklens.arrays import namespace

WIDE_FROM = 2**16 + 1
"""The sample size from which on a draw takes a whole word."""

_HALF = 32
_HALF_MASK = 2**32 - 1


def n_word_columns(n: int) -> int:
    """Return how many words a resample of `n` draws takes."""
    return n if n >= WIDE_FROM else -(-n // 2)


def drawn_indices(words: Any, n: int) -> Any:
    """Return what int64 `words` (columns, m) pick among `n` differences, shape (draws, m).

    Where two draws share a word, a column's low half comes right before its high half.
    """
    xp = namespace(words)
    low = words & _HALF_MASK
    high = (words >> _HALF) & _HALF_MASK
    if n >= WIDE_FROM:
        return (high * n + ((low * n) >> _HALF)) >> _HALF
    halves = xp.stack([low, high], axis=1)
    return (xp.reshape(halves, (2 * words.shape[0], words.shape[1])) * n) >> _HALF


def picked_sums(values: Any, indices: Any) -> Any:
    """Sum the values (..., n) that `indices` (draws, m) pick, shape (..., m)."""
    xp = namespace(values)
    flat = xp.take(values, xp.reshape(indices, (-1,)), axis=-1)
    return xp.sum(xp.reshape(flat, (*values.shape[:-1], *indices.shape)), axis=-2)


def order_statistics(sums: Any, ranks: tuple[int, ...]) -> Any:
    """Return the elements of these ranks (0 is the smallest) along the last axis, shape (..., len(ranks))."""
    xp = namespace(sums)
    ordered = xp.sort(sums, axis=-1)
    return xp.stack([ordered[..., rank] for rank in ranks], axis=-1)
