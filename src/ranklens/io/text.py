"""The bytes of a source, with room on both sides for reading eight of them at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

MARGIN = 16
NEWLINE = 10
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LOOK_BACK = 4096


class Text:
    """A byte buffer whose content lies between `begin` and `end`, newline bytes before and behind it.

    Positions are positions in the whole buffer, so that loading eight bytes at (or ending at) any position of
    the content stays inside. A UTF-8 byte order mark is not part of the content.

    Parameters
    ----------
    array : array of uint8
        The buffer, `MARGIN` bytes longer than the content on each side; it becomes the text's own.
    size : int
        The number of bytes of content.
    """

    __slots__ = ("_view", "array", "begin", "end")

    def __init__(self, array: NDArray[np.uint8], size: int) -> None:
        self.array = array
        self._view = array.data
        self.begin = MARGIN
        self.end = MARGIN + size
        array[:MARGIN] = array[self.end :] = NEWLINE
        if self[self.begin : self.begin + 3] == _BYTE_ORDER_MARK:
            self.begin += 3
            array[MARGIN : self.begin] = NEWLINE
        head = self[self.begin : min(self.begin + _LOOK_BACK, self.end)]
        if b"\r" in head and b"\n" not in head and not (array[self.begin : self.end] == NEWLINE).any():
            array[array == ord("\r")] = NEWLINE

    @classmethod
    def of(cls, data: bytes | bytearray | memoryview) -> Text:
        """Copy `data` into a buffer with margins."""
        array = np.empty(len(data) + 2 * MARGIN, dtype=np.uint8)
        array[MARGIN : MARGIN + len(data)] = np.frombuffer(data, dtype=np.uint8)
        return cls(array, len(data))

    def __getitem__(self, span: slice) -> bytes:
        return bytes(self._view[span])

    def content(self) -> memoryview:
        """Return the content without the margins and without a byte order mark, not copied."""
        return self._view[self.begin : self.end]

    def line_number(self, position: int) -> int:
        """Return the number, counted from 1, of the line that `position` lies in."""
        return int(np.count_nonzero(self.array[self.begin : position] == NEWLINE)) + 1

    def line_at(self, position: int) -> str:
        """Return the line that `position` lies in, without its end."""
        first, last = self._line_start(position), self._line_end(position)
        return self[first:last].decode("utf-8", "backslashreplace").rstrip("\r")

    def blocks(self, size: int) -> Iterator[tuple[int, int]]:
        """Cut the content into spans of whole lines of about `size` bytes; each ends behind a newline."""
        first = self.begin
        while first < self.end:
            last = first + size
            last = self.end if last >= self.end else self._line_start(last)
            if last <= first or last == self.end:
                last = self._line_end(max(last, first)) + 1
            yield first, last
            first = last

    def _line_start(self, position: int) -> int:
        stop = position
        while stop > self.begin:
            start = max(stop - _LOOK_BACK, self.begin - 1)
            at = self[start:stop].rfind(b"\n")
            if at >= 0:
                return start + at + 1
            stop = start
        return self.begin

    def _line_end(self, position: int) -> int:
        start = position
        while (at := self[start : start + _LOOK_BACK].find(b"\n")) < 0:
            start += _LOOK_BACK
        return start + at


def words_at(array: NDArray[np.uint8], position: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Load the eight bytes at each position as a number, the first byte lowest."""
    every = np.ndarray((array.size - 7,), dtype="<u8", buffer=array, strides=(1,))
    return every[position].astype(np.uint64, copy=False)
