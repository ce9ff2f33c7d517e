"""Warnings as one line each on standard error, none of them twice."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ranklens.cli.group import Session


@contextlib.contextmanager
def shown_in_one_line(session: Session) -> Iterator[None]:
    """Show warnings as ``warning: ...`` and keep them in the session, for results that record them.

    Warnings for developers (deprecations and the like) stay hidden, as Python hides them. With ``--quiet``
    nothing is printed, but the session still keeps them.
    """

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        from ranklens.cli.option_names import as_options

        text = as_options(" ".join(str(message).split()))
        if text in session.warnings or issubclass(category, _FOR_DEVELOPERS):
            return
        session.warnings.append(text)
        if not session.quiet:
            from ranklens.core.tables import visible

            click.echo(f"{click.style('warning:', fg='yellow')} {visible(text)}", err=True, color=colours())

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


def colours(*, err: bool = True) -> bool:
    """Whether to style what goes to standard error (or output): on a terminal, unless NO_COLOR is set."""
    import os
    import sys

    stream = sys.stderr if err else sys.stdout
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_FOR_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
