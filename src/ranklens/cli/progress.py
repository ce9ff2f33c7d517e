"""A progress bar on standard error, on a terminal only, for work that takes a while."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import click

PATIENCE_S = 0.5
"""Work that is done sooner shows no bar."""
REDRAWN_S = 0.1
"""Steps that follow each other faster are not drawn one by one."""
Progress = Callable[[int, int], None]


@contextlib.contextmanager
def bar(label: str, *, quiet: bool) -> Iterator[Progress | None]:
    """Give a callback ``(done, total)`` that moves a bar; None where nobody would see it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    start = drawn = time.monotonic()
    with contextlib.ExitStack() as stack:
        shown: list[Any] = []

        def move(done: int, total: int) -> None:
            nonlocal drawn
            now = time.monotonic()
            if not shown and done < total and now - start >= PATIENCE_S:
                new = click.progressbar(length=total, label=label, file=sys.stderr, show_pos=True)
                shown.append(stack.enter_context(new))
            if shown and (done == total or now - drawn >= REDRAWN_S):
                drawn = now
                shown[0].update(done - shown[0].pos)

        yield move
