"""NumPy's own way through two kernels: chunks that stay in cache, buffers that are used again.

What they add up is what the array-API bodies in `ranklens.kernels` add up; they are several times faster than
those because the standard has neither ``out=`` nor unchecked gathers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays.streams import Purpose, fill_words

BYTE_VALUES = 256
_BYTES = 8
_BYTE_SHIFTS = tuple(np.array(8 * byte, dtype=np.uint64) for byte in range(_BYTES))
_BYTE_MASK = np.array(BYTE_VALUES - 1, dtype=np.uint64)
_HALF_MASK = np.array(2**32 - 1, dtype=np.uint64)
_HALF = np.array(32, dtype=np.uint64)
_COLUMNS_AT_ONCE = 8

Floats = NDArray[Any]


def add_table_sums(tables: Floats, seed: int, start: int, first_column: int, sums: Floats) -> None:
    """Add to `sums` (resamples start ...) what the flips of the tables' queries give.

    `tables` has shape (pieces, 256): the signed sums of 8 queries each, from those of `first_column` on.
    """
    n_pieces, n = tables.shape[0], sums.shape[0]
    word = np.empty(n, dtype=np.uint64)
    index = np.empty(n, dtype=np.uint64)
    places = index.view(np.int64)
    part = np.empty(n, dtype=sums.dtype)
    for piece in range(n_pieces):
        column, byte = divmod(piece, _BYTES)
        if byte == 0:
            fill_words(word, seed, start, first_column + column, Purpose.FLIPS)
        np.right_shift(word, _BYTE_SHIFTS[byte], out=index)
        np.bitwise_and(index, _BYTE_MASK, out=index)
        tables[piece].take(places, out=part, mode="wrap")
        np.add(sums, part, out=sums)


def add_resampled(values: Floats, seed: int, start: int, sums: Floats) -> None:
    """Add to `sums` (resamples start ...) the values that their draws pick, two draws a word."""
    n, length = values.shape[0], sums.shape[0]
    bound = np.array(n, dtype=np.uint64)
    drawn = np.empty((_COLUMNS_AT_ONCE, length), dtype=np.uint64)
    index = np.empty((2, _COLUMNS_AT_ONCE, length), dtype=np.uint64)
    picked = np.empty((2 * _COLUMNS_AT_ONCE, length), dtype=values.dtype)
    for column in range(0, n // 2, _COLUMNS_AT_ONCE):
        k = min(_COLUMNS_AT_ONCE, n // 2 - column)
        for row in range(k):
            fill_words(drawn[row], seed, start, column + row, Purpose.RESAMPLES)
        pair = index[:, :k] if k == _COLUMNS_AT_ONCE else np.empty((2, k, length), dtype=np.uint64)
        np.bitwise_and(drawn[:k], _HALF_MASK, out=pair[0])
        np.right_shift(drawn[:k], _HALF, out=pair[1])
        np.multiply(pair, bound, out=pair)
        np.right_shift(pair, _HALF, out=pair)
        _add_picked(values, pair.reshape(2 * k, length), picked[: 2 * k], sums)
    if n % 2:
        fill_words(drawn[0], seed, start, n // 2, Purpose.RESAMPLES)
        last = (drawn[:1] & _HALF_MASK) * bound >> _HALF
        _add_picked(values, last, picked[:1], sums)


def add_resampled_wide(values: Floats, seed: int, start: int, sums: Floats) -> None:
    """Do the same for more than 2^16 values, whose draws take a whole word each."""
    n, length = values.shape[0], sums.shape[0]
    bound = np.array(n, dtype=np.uint64)
    drawn = np.empty((1, length), dtype=np.uint64)
    carry = np.empty((1, length), dtype=np.uint64)
    picked = np.empty((1, length), dtype=values.dtype)
    for column in range(n):
        fill_words(drawn[0], seed, start, column, Purpose.RESAMPLES)
        np.bitwise_and(drawn, _HALF_MASK, out=carry)
        np.multiply(carry, bound, out=carry)
        np.right_shift(carry, _HALF, out=carry)
        np.right_shift(drawn, _HALF, out=drawn)
        np.multiply(drawn, bound, out=drawn)
        np.add(drawn, carry, out=drawn)
        np.right_shift(drawn, _HALF, out=drawn)
        _add_picked(values, drawn, picked, sums)


def _add_picked(values: Floats, index: NDArray[np.uint64], picked: Floats, sums: Floats) -> None:
    values.take(index.view(np.int64), out=picked, mode="wrap")
    np.add(sums, np.add.reduce(picked, axis=0), out=sums)
