"""Standard streams that the caller closed."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys


class ClosedStream(io.TextIOBase):
    """Stands for a standard output that is closed: whoever writes to it gets an error of one line."""

    encoding = "utf-8"

    def __init__(self, name: str) -> None:
        self._name = name

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "Closed by the caller; name a file with --output", self._name)


def open_closed_streams() -> None:
    """Put something in place of every standard stream that is closed.

    Python has None for such a stream. Its descriptor is taken first: the next file that is opened would get
    it, and whatever a library prints would end up in that file.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = ClosedStream("standard output")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
