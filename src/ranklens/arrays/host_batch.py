"""NumPy's own way through a batch of comparisons: products into buffers that are used again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays.budget import cut, rows_within
from ranklens.arrays.host_draws import DrawnCounts
from ranklens.arrays.streams import Purpose, words

Floats = NDArray[np.float64]
WordsOf = Callable[[range], NDArray[np.uint64]]

_FLOAT_BYTES = 8
_BLOCK = 512
_COUNTED_BLOCK = 1024
# Words, their indices, integer and floating counts of one resample.
_COUNT_COPIES = 4
_WORD_BITS = 64
_ROWS_AT_ONCE = 1024


def flipped_parts(
    values: NDArray[Any], words_of: WordsOf, resamples: range, block: int | None = None
) -> Iterator[tuple[slice, range, NDArray[Any]]]:
    """Yield the sums of the flipped among `values` (rows, n), some rows and some resamples at a time.

    `words_of` gives the words (columns, resamples) of some resamples. The array (rows, resamples) that comes
    with a slice of rows is a buffer: the next item overwrites it.
    """
    n_rows, n = values.shape
    rows = min(n_rows, _ROWS_AT_ONCE)
    row_bytes = 2 * _FLOAT_BYTES * (n + rows)
    length = block or rows_within(row_bytes, min(len(resamples), _BLOCK), share=0.25)
    bits, sums = np.empty((length, n), dtype=values.dtype), np.empty(rows * length, dtype=values.dtype)
    for some in cut(resamples, length):
        flips = bits[: len(some)]
        unpack_bits(words_of(some), flips)
        for part in cut(range(n_rows), rows):
            out = sums[: len(part) * len(some)].reshape(len(part), len(some))
            np.matmul(values[part.start : part.stop], flips.T, out=out)
            yield slice(part.start, part.stop), some, out


def unpack_bits(drawn: NDArray[np.uint64], bits: NDArray[Any]) -> None:
    """Write the bits, lowest first, of words (columns, m) into `bits` (m, n) as zeros and ones."""
    by_resample = np.ascontiguousarray(drawn.T, dtype="<u8").view(np.uint8)
    np.copyto(bits, np.unpackbits(by_resample, axis=1, count=bits.shape[1], bitorder="little"))


def flip_words(seed: int, n: int) -> WordsOf:
    """Return the words of the sign flips of `n` queries."""
    n_columns = -(-n // _WORD_BITS)
    return lambda some: words(seed, some.start, some.stop, n_columns, Purpose.FLIPS)


def count_true(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count along the last axis, eight flags at a time."""
    total = np.bitwise_count(np.packbits(flags, axis=-1)).sum(axis=-1, dtype=np.int64)
    return np.asarray(total, dtype=np.int64)


def drawn_sums(values: NDArray[Any], seed: int, resamples: range) -> NDArray[Any]:
    """Return the sums (rows, resamples) of what is drawn among `values` (rows, n), of their type.

    How often each query is drawn is multiplied with all rows.
    """
    n_rows, n = values.shape
    sums = np.empty((n_rows, len(resamples)), dtype=values.dtype)
    length = rows_within(_COUNT_COPIES * _FLOAT_BYTES * n, min(len(resamples), _COUNTED_BLOCK), share=0.25)
    counts_of = DrawnCounts(seed, n, length, values.dtype)
    for some in cut(resamples, length):
        first = some.start - resamples.start
        np.matmul(values, counts_of(some).T, out=sums[:, first : first + len(some)])
    return sums
