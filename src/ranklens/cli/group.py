"""The group of commands: loads each one when it is used, and turns every end into an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from ranklens import __version__
from ranklens.cli import failures, warned
from ranklens.cli.streams import open_closed_streams

COMMANDS = {
    "demo": "Show the whole job on a generated collection; needs no file.",
    "eval": "Measure runs against judgements.",
    "compare": "Compare runs with a baseline: intervals, p-values, a verdict, a gate.",
    "explain": "Why a model ranks so: features, pairs of documents, changes of models.",
    "power": "How many queries an effect needs, and what effect your queries can see.",
    "doctor": "Show versions, backends and devices, and test known answers.",
}

EPILOG = """\b
Examples:
  ranklens demo
  ranklens eval qrels.txt bm25.run dense.run -m nDCG@10 AP 'RR(rel=2)'
  ranklens compare qrels.txt bm25.run dense.run -m nDCG@10 AP

\b
Exit codes: 0 done; 1 wrong use or configuration; 2 arguments that cannot be
parsed; 3 broken data; 4 a gate failed (--fail-if); 130 interrupted.
"""


@dataclass
class Session:
    """What the options common to all commands set, and the warnings shown so far."""

    debug: bool = False
    quiet: bool = False
    arguments: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)


class CommandGroup(click.Group):
    """Lists its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"ranklens.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from ranklens.core.errors import nearest_names

            near = nearest_names(args[0], COMMANDS) or list(COMMANDS)
            ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(near)}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        session = ctx.ensure_object(Session)
        try:
            with warned.shown_in_one_line(session):
                code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _silence_stdout()
            return failures.BROKEN_PIPE
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            return failures.INTERRUPTED
        return code

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        open_closed_streams()
        arguments = list(sys.argv[1:] if args is None else args)
        session = Session(arguments=tuple(arguments))
        try:
            code = super().main(
                arguments, prog_name or "ranklens", complete_var, standalone_mode=False, obj=session, **extra
            )
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            code = failures.INTERRUPTED
        except click.Abort:
            code = failures.INTERRUPTED
        except Exception as error:
            if session.debug:
                raise
            code = failures.show(error)
        sys.exit(code if isinstance(code, int) else 0)


def _silence_stdout() -> None:
    """Point standard output at nothing, or the interpreter would complain once more when it exits."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


@click.group(
    cls=CommandGroup,
    epilog=EPILOG,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="ranklens")
def ranklens() -> None:
    """Measure rankings, compare them honestly, and understand why.

    Judgements (qrels) come before runs. Runs and judgements are TREC files, CSV, TSV, JSONL, Parquet or
    Feather, compressed or not; `-` is standard input. A run is named by its file, or as NAME=FILE.
    """
