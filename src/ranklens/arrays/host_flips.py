"""NumPy's own way through the sign flips of one comparison: tables of signed sums, looked up by words.

What it adds up is what the array-API bodies in `ranklens.kernels.flips` add up. Vectors are as long as the
resamples of a call allow, since many short calls cost more than they compute; tables are made of few columns
at a time, so that they are looked up while they are still in the cache.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays.budget import cut, rows_within
from ranklens.arrays.streams import Purpose, Words, fill_words

Floats = NDArray[np.float64]

_FLOAT_BYTES = 8
_WORD_BITS = 64
_LONGEST = 12_288
# A word, an index, a looked-up value, and the newly drawn words.
_STEP_COPIES = 4
_TABLE_COPIES = 2
_COLUMNS_AT_ONCE = 16
_FEW = 256
# Making long tables pays when they are looked up often.
_MANY = 2048


class _Pieces(NamedTuple):
    """How a word is cut into indices of tables.

    `firsts` are the pieces' first bits, and `places` (pieces, bits) all of them, place 64 standing for none.
    The signs (k, 2^k) of the lower and the upper bits of a piece give the sums of either under all flips by
    a product.
    """

    firsts: tuple[int, ...]
    shifts: tuple[Words, ...]
    masks: tuple[Words, ...]
    places: NDArray[np.int64]
    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, *widths: int) -> _Pieces:
        firsts = tuple(itertools.accumulate(widths[:-1], initial=0))
        bit = np.arange(widths[0])
        places = np.where(bit < np.array(widths)[:, None], np.array(firsts)[:, None] + bit, _WORD_BITS)
        shifts = tuple(np.array(first, dtype=np.uint64) for first in firsts)
        masks = tuple(np.array(2**width - 1, dtype=np.uint64) for width in widths)
        half = (widths[0] + 1) // 2
        return cls(firsts, shifts, masks, places, _signs(half), _signs(widths[0] - half))

    @property
    def table_shape(self) -> tuple[int, int]:
        """The shape of the tables of one column."""
        return len(self.firsts), 2 ** self.places.shape[1]

    def tables(self, values: Floats, out: Floats) -> Floats:
        """Write the signed sums of `values` into `out`; return those of their columns, by piece and index."""
        whole, rest = divmod(len(values), _WORD_BITS)
        padded = np.zeros((whole + (rest > 0), _WORD_BITS + 1))
        padded[:whole, :_WORD_BITS] = values[: len(values) - rest].reshape(whole, _WORD_BITS)
        padded[whole:, :rest] = values[len(values) - rest :]
        groups = padded[:, self.places]
        half = len(self.lower)
        low, high = groups[..., :half] @ self.lower, groups[..., half:] @ self.upper
        tables = out[: len(padded)]
        np.add(high[..., :, None], low[..., None, :], out=tables.reshape(*high.shape, -1))
        return tables


def _signs(bits: int) -> Floats:
    """Return the signs (bits, 2^bits) of all flips: index b flips the bits that are set in b."""
    flipped = (np.arange(2**bits) >> np.arange(bits)[:, None]) & 1
    return np.where(flipped, -1.0, 1.0)


_SHORT, _LONG = _Pieces.of(10, 10, 10, 10, 10, 10, 4), _Pieces.of(11, 11, 11, 11, 10, 10)


class _Buffers(NamedTuple):
    """A word, an index and a looked-up sum for each resample; allocated once, as fresh memory is slow."""

    word: Words
    picked: Words
    found: Floats

    @classmethod
    def of(cls, length: int) -> _Buffers:
        return cls(np.empty(length, np.uint64), np.empty(length, np.uint64), np.empty(length))

    def within(self, length: int) -> _Buffers:
        return _Buffers(self.word[:length], self.picked[:length], self.found[:length])


def flipped_sums_of_one(values: Floats, seed: int, resamples: range) -> Iterator[Floats]:
    """Yield the sums of `values` (n,) under the signs of some resamples at a time, in their order.

    The tables of some columns are kept while all blocks of resamples look their sums up in them.
    """
    n, m = len(values), len(resamples)
    pieces = _LONG if n > _FEW and m >= _MANY else _SHORT
    columns = range(-(-n // _WORD_BITS))
    table_bytes = _TABLE_COPIES * _FLOAT_BYTES * math.prod(pieces.table_shape)
    at_once = rows_within(table_bytes, min(len(columns), _COLUMNS_AT_ONCE), share=0.5)
    length = rows_within(_FLOAT_BYTES * _STEP_COPIES, min(m, _LONGEST), share=0.25)
    buffers, out = _Buffers.of(length), np.empty((at_once, *pieces.table_shape))
    for some in cut(resamples, rows_within(_FLOAT_BYTES, m, share=0.125)):
        sums = np.zeros(len(some))
        for chunk in cut(columns, at_once):
            own = values[_WORD_BITS * chunk.start : _WORD_BITS * chunk.stop]
            tables = pieces.tables(own, out)
            for block in cut(some, length):
                looking = buffers.within(len(block))
                for column, of_column in zip(chunk, tables, strict=True):
                    fill_words(looking.word, seed, block.start, column, Purpose.FLIPS)
                    left = n - _WORD_BITS * column
                    _add_column(pieces, of_column, left, looking, sums[block.start - some.start :])
        yield sums


def _add_column(pieces: _Pieces, tables: Floats, left: int, buffers: _Buffers, sums: Floats) -> None:
    """Add to the first `sums` what the words in the buffers flip, the column having `left` values, or all."""
    word, index, found = buffers
    total, places, last = sums[: len(found)], index.view(np.int64), pieces.shifts[-1]
    for first, shift, mask, table in zip(pieces.firsts, pieces.shifts, pieces.masks, tables, strict=True):
        if first >= left:
            break
        if first:
            np.right_shift(word, shift, out=index)
        if shift is not last:
            np.bitwise_and(index if first else word, mask, out=index)
        table.take(places, out=found, mode="wrap")
        np.add(total, found, out=total)
