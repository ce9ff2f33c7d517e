"""The bytes of a source, with room on both sides for reading eight of them at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

MARGIN = 16
NEWLINE = 10
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Text:
    """A byte buffer whose content lies between `begin` and `end`, newline bytes before and behind it.

    Positions are positions in the whole buffer, so that loading eight bytes at (or ending at) any position of
    the content stays inside. A UTF-8 byte order mark is not part of the content.
    """

    __slots__ = ("_storage", "array", "begin", "end")

    def __init__(self, storage: bytearray, size: int) -> None:
        self._storage = storage
        self.begin = MARGIN
        if storage.startswith(_BYTE_ORDER_MARK, MARGIN):
            self.begin += len(_BYTE_ORDER_MARK)
        self.end = MARGIN + size
        storage[self.begin - 1] = storage[self.end] = NEWLINE
        self.array: NDArray[np.uint8] = np.frombuffer(storage, dtype=np.uint8)
        if b"\r" in storage and storage.find(b"\n", self.begin, self.end) < 0:
            self.array[self.array == 13] = NEWLINE

    @classmethod
    def of(cls, data: bytes | bytearray | memoryview) -> Text:
        """Copy `data` into a buffer with margins."""
        storage = bytearray(len(data) + 2 * MARGIN)
        storage[MARGIN : MARGIN + len(data)] = data
        return cls(storage, len(data))

    def __getitem__(self, span: slice) -> bytes:
        return bytes(self._storage[span])

    def content(self) -> memoryview:
        """Return the content without the margins and without a byte order mark, not copied."""
        return memoryview(self._storage)[self.begin : self.end]

    def line_number(self, position: int) -> int:
        """Return the number, counted from 1, of the line that `position` lies in."""
        return int(np.count_nonzero(self.array[self.begin : position] == NEWLINE)) + 1

    def line_at(self, position: int) -> str:
        """Return the line that `position` lies in, without its end."""
        first = self._storage.rfind(b"\n", self.begin - 1, position) + 1
        last = self._storage.find(b"\n", position, self.end + 1)
        return self[first:last].decode("utf-8", "backslashreplace").rstrip("\r")

    def blocks(self, size: int) -> Iterator[tuple[int, int]]:
        """Cut the content into spans of whole lines of about `size` bytes; each ends behind a newline."""
        first = self.begin
        while first < self.end:
            last = self._storage.rfind(b"\n", first, min(first + size, self.end + 1)) + 1
            if last <= first:
                last = self._storage.find(b"\n", first, self.end + 1) + 1
            yield first, last
            first = last


def words_at(array: NDArray[np.uint8], position: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Load the eight bytes at each position as a number, the first byte lowest."""
    every = np.ndarray((array.size - 7,), dtype="<u8", buffer=array, strides=(1,))
    return every[position].astype(np.uint64, copy=False)
