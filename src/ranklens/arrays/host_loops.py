"""NumPy's own way through the resamples of one comparison: chunks that stay in cache, buffers used again.

What it adds up is what the array-API bodies in `ranklens.kernels.resamples` add up; it is several times
faster than those because the standard has neither ``out=`` nor unchecked gathers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays.budget import cut
from ranklens.arrays.streams import Purpose, fill_words

_HALF_MASK = np.array(2**32 - 1, dtype=np.uint64)
_HALF = np.array(32, dtype=np.uint64)
_COLUMNS_AT_ONCE = 8

Floats = NDArray[Any]


def add_resampled(values: Floats, seed: int, start: int, columns: range, sums: Floats) -> None:
    """Add to `sums` (resamples start ...) the values that the draws of some word columns pick, two a word."""
    n, length = values.shape[0], sums.shape[0]
    bound = np.array(n, dtype=np.uint64)
    # Little-endian words are pairs of halves, the low one first, with no shift and no mask.
    drawn = np.empty((_COLUMNS_AT_ONCE, length), dtype="<u8")
    halves = drawn.view("<u4").reshape(_COLUMNS_AT_ONCE, length, 2)
    index = np.empty((_COLUMNS_AT_ONCE, length, 2), dtype=np.uint64)
    picked = np.empty((_COLUMNS_AT_ONCE, length, 2), dtype=values.dtype)
    by_half = np.zeros((length, 2), dtype=values.dtype)
    for few in cut(columns, _COLUMNS_AT_ONCE):
        k = len(few)
        for row, column in zip(drawn[:k], few, strict=True):
            fill_words(row, seed, start, column, Purpose.RESAMPLES)
        np.multiply(halves[:k], bound, out=index[:k])
        np.right_shift(index[:k], _HALF, out=index[:k])
        values.take(index[:k].view(np.int64), out=picked[:k], mode="wrap")
        _add_words(picked[:k], few, n, by_half)
    _add_halves(by_half, sums)


def add_resampled_pairs(
    flat: Floats, n: int, seed: int, start: int, columns: range, pairs: NDArray[np.int64], sums: Floats
) -> None:
    """Do the same for single resamples of single rows, to the last bit.

    `flat` holds rows of `n` values one after the other, and `pairs` (2, m) where a row begins in it, and
    which resample from `start` on is drawn from it.
    """
    begins, resample = pairs[0][:, None], pairs[1]
    bound = np.array(n, dtype=np.uint64)
    drawn = np.empty((_COLUMNS_AT_ONCE, int(resample.max(initial=0)) + 1), dtype="<u8")
    by_half = np.zeros((resample.shape[0], 2), dtype=flat.dtype)
    for few in cut(columns, _COLUMNS_AT_ONCE):
        for row, column in zip(drawn[: len(few)], few, strict=True):
            fill_words(row, seed, start, column, Purpose.RESAMPLES)
        own = drawn[: len(few)].take(resample, axis=1)
        index = own.view("<u4").reshape(len(few), -1, 2) * bound
        np.right_shift(index, _HALF, out=index)
        _add_words(flat.take(index.view(np.int64) + begins), few, n, by_half)
    _add_halves(by_half, sums)


def _add_words(picked: Floats, columns: range, n: int, by_half: Floats) -> None:
    """Add what the words of some columns pick, shape (columns, m, 2), to the sums of both halves, (m, 2)."""
    if 2 * columns.stop > n:
        # The last word of an odd sample gives one draw.
        picked[-1, :, 1] = 0.0
    np.add(by_half, np.add.reduce(picked, axis=0), out=by_half)


def _add_halves(by_half: Floats, sums: Floats) -> None:
    np.add(sums, by_half[:, 0], out=sums)
    np.add(sums, by_half[:, 1], out=sums)


def add_resampled_wide(values: Floats, seed: int, start: int, columns: range, sums: Floats) -> None:
    """Do the same for more than 2^16 values, whose draws take a whole word each."""
    length = sums.shape[0]
    bound = np.array(values.shape[0], dtype=np.uint64)
    drawn = np.empty((_COLUMNS_AT_ONCE, length), dtype=np.uint64)
    carry = np.empty((_COLUMNS_AT_ONCE, length), dtype=np.uint64)
    picked = np.empty((_COLUMNS_AT_ONCE, length), dtype=values.dtype)
    for few in cut(columns, _COLUMNS_AT_ONCE):
        high, low = drawn[: len(few)], carry[: len(few)]
        for row, column in zip(high, few, strict=True):
            fill_words(row, seed, start, column, Purpose.RESAMPLES)
        np.bitwise_and(high, _HALF_MASK, out=low)
        np.multiply(low, bound, out=low)
        np.right_shift(low, _HALF, out=low)
        np.right_shift(high, _HALF, out=high)
        np.multiply(high, bound, out=high)
        np.add(high, low, out=high)
        np.right_shift(high, _HALF, out=high)
        values.take(high.view(np.int64), out=picked[: len(few)], mode="wrap")
        np.add(sums, np.add.reduce(picked[: len(few)], axis=0), out=sums)
