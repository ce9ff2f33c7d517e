"""A progress bar on standard error, on a terminal only."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

import click

Progress = Callable[[int, int], None]


@contextlib.contextmanager
def bar(label: str, *, quiet: bool) -> Iterator[Progress | None]:
    """Give a callback ``(done, total)`` that moves a bar; None where nobody would see it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with contextlib.ExitStack() as stack:
        shown: list[click._termui_impl.ProgressBar[int]] = []

        def move(done: int, total: int) -> None:
            if not shown:
                new = click.progressbar(length=total, label=label, file=sys.stderr, show_pos=True)
                shown.append(stack.enter_context(new))
            shown[0].update(done - shown[0].pos)

        yield move
