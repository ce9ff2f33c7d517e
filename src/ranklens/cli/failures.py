"""Which exit code an error has, and how it is shown: what is wrong, then what to do, and no traceback."""

from __future__ import annotations

import click

WRONG_USE = 1
BROKEN_DATA = 3
GATE_FAILED = 4
INTERRUPTED = 130
BROKEN_PIPE = 141


class UseError(Exception):
    """The command was used or configured wrongly: exit code 1."""


def exit_code(error: Exception) -> int:
    """Return the exit code of an error that ended a command.

    Examples
    --------
    >>> exit_code(FileNotFoundError())
    1
    """
    from ranklens.cli.gate import NothingTestedError
    from ranklens.core import DataError, InsufficientSampleError

    if isinstance(error, click.ClickException):
        return error.exit_code
    if isinstance(error, (DataError, InsufficientSampleError, NothingTestedError)):
        return BROKEN_DATA
    return WRONG_USE


def show(error: Exception) -> int:
    """Print an error on standard error and return its exit code."""
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    click.echo(f"error: {message(error)}", err=True)
    return exit_code(error)


def message(error: Exception) -> str:
    """Return what is wrong and what to do, on one or two lines."""
    from ranklens.cli.option_names import as_options
    from ranklens.core import RankLensError
    from ranklens.core.tables import visible

    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return visible(f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}")
    text = "\n".join(visible(line) for line in as_options(str(error)).splitlines())
    text += "".join(f"\n{hint}" for argument, hint in _OPTIONS.items() if argument in text)
    if isinstance(error, (RankLensError, ValueError, OSError)) or _is_ours(error):
        return text
    return f"{type(error).__name__}: {text}\nthis is a bug in ranklens; --debug shows where it happened"


# The library names its arguments; on the command line they are options.
_OPTIONS = {
    "columns={": "here: --run-columns or --qrels-columns query=NAME,document=NAME,score=NAME (or grade=NAME)",
    "names=[": "here: --segment-names NAME,...",
    "fields=[": "here: --segments FILE:FIELD,...",
}


def _is_ours(error: Exception) -> bool:
    return type(error).__module__.startswith("ranklens.")
