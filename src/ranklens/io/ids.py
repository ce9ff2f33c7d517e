"""A column of text ids, held as slices of one byte buffer: no Python object per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ranklens.io.text import Text, words_at

Rows = NDArray[np.intp]

_KEEP = np.array([(1 << (8 * n)) - 1 for n in range(9)], dtype=np.uint64)
_FACTOR, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
_FINAL, _LAST_SHIFT = np.uint64(0xD6E8FEB86659FD93), np.uint64(32)
_CHUNK = 1 << 15


@dataclass(frozen=True, eq=False)
class IdColumn:
    """Ids as UTF-8 bytes ``array[start : start + length]``, one a row.

    Parameters
    ----------
    array : array of uint8
        The buffer; it has at least eight bytes behind the last id.
    start, length : arrays of int64 and int32, shape (n_rows,)
        Where each id lies.
    """

    array: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int32]

    @classmethod
    def from_texts(cls, texts: Sequence[str]) -> IdColumn:
        """Encode texts into a new buffer."""
        encoded = [text.encode() for text in texts]
        length = np.fromiter(map(len, encoded), dtype=np.int32, count=len(encoded))
        return cls.from_bytes(b"".join(encoded), length)

    @classmethod
    def from_bytes(cls, joined: bytes, length: NDArray[np.int32]) -> IdColumn:
        """Cut `joined` into consecutive ids of the given lengths."""
        text = Text.of(b"\n" + joined)
        start = np.cumsum(length, dtype=np.int64) - length + (text.begin + 1)
        return cls(text.array, start, length)

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def n_words(self) -> int:
        """The number of eight-byte words that hold the longest id."""
        return -(-int(self.length.max(initial=0)) // 8)

    def __getitem__(self, row: int) -> bytes:
        first = int(self.start[row])
        return self.array[first : first + int(self.length[row])].tobytes()

    def take(self, rows: Rows | NDArray[np.bool_] | slice) -> IdColumn:
        """Return the column of these rows over the same buffer."""
        return IdColumn(self.array, self.start[rows], self.length[rows])

    def encoded(self) -> list[bytes]:
        """Return every id as bytes."""
        view = self.array.data
        stop = self.start + self.length
        return [bytes(view[a:b]) for a, b in zip(self.start.tolist(), stop.tolist(), strict=True)]

    def texts(self) -> list[str]:
        """Return every id as text."""
        return [item.decode() for item in self.encoded()]

    def word(self, j: int, rows: Rows | None = None) -> NDArray[np.uint64]:
        """Return bytes 8j to 8j + 7 of each id as a number, first byte lowest, zero behind the id's end."""
        start = self.start if rows is None else self.start[rows]
        length = self.length if rows is None else self.length[rows]
        left = length - 8 * j
        inside = np.minimum(start + 8 * j, self.array.size - 8) if j else start
        return words_at(self.array, inside) & _KEEP.take(left, mode="clip")

    def keys(self) -> NDArray[np.uint64]:
        """Return a 64-bit hash of each id.

        Different ids may share a key (ids of one length up to eight bytes never do), so whoever finds equal
        keys compares the ids.
        """
        keys = np.empty(len(self), dtype=np.uint64)
        for first in range(0, len(self), _CHUNK):
            keys[first : first + _CHUNK] = self.take(slice(first, first + _CHUNK))._keys()
        return keys

    def _keys(self) -> NDArray[np.uint64]:
        key = self.length.astype(np.uint64) * _FACTOR
        for j in range(self.n_words):
            mixed = (key ^ self.word(j)) * _FACTOR
            mixed ^= mixed >> _SHIFT
            key = mixed if j == 0 else np.where(self.length > 8 * j, mixed, key)
        key *= _FINAL
        key ^= key >> _LAST_SHIFT
        return key

    def equal(self, rows: Rows, other: IdColumn, other_rows: Rows) -> NDArray[np.bool_]:
        """Compare the ids at `rows` with those of another column at `other_rows`, pair by pair."""
        same: NDArray[np.bool_] = self.length[rows] == other.length[other_rows]
        for j in range(self.n_words):
            open_ = np.flatnonzero(same & (self.length[rows] > 8 * j))
            if not open_.size:
                break
            same[open_] = self.word(j, rows[open_]) == other.word(j, other_rows[open_])
        return same

    def changes(self) -> NDArray[np.bool_]:
        """Tell which rows differ from the row before; the first row always does."""
        changed = np.ones(len(self), dtype=bool)
        changed[1:] = self.length[1:] != self.length[:-1]
        for j in range(self.n_words):
            word = self.word(j)
            changed[1:] |= word[1:] != word[:-1]
        return changed


class Codes:
    """Gives each distinct id a number, in order of first appearance."""

    def __init__(self) -> None:
        self._table: dict[bytes, int] = {}

    def of(self, column: IdColumn) -> NDArray[np.int32]:
        """Return the code of each row; runs of one id are looked up once."""
        heads = np.flatnonzero(column.changes())
        table = self._table
        codes = [table.setdefault(item, len(table)) for item in column.take(heads).encoded()]
        return np.repeat(np.array(codes, dtype=np.int32), np.diff(heads, append=len(column)))

    def texts(self) -> tuple[str, ...]:
        """Return the distinct ids, in the order of their codes."""
        return tuple(item.decode() for item in self._table)
