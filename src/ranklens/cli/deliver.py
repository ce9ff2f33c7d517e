"""Send a document to standard output or to a file, in the format that was asked for."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ranklens.cli import formats, warned
from ranklens.cli.document import Document
from ranklens.cli.failures import UseError
from ranklens.core.files import is_replaced, write_text
from ranklens.core.tables import visible

OUTPUTS = ("--output", "--plot", "--write")
STDIN = "-"


@dataclass(frozen=True)
class Delivery:
    """The options ``--format``, ``--output``, ``--append`` and ``--raw-csv``."""

    format: str = "table"
    output: str | None = None
    append: bool = False
    raw_csv: bool = False

    def __post_init__(self) -> None:
        if self.append and self.output is None:
            raise click.UsageError("--append needs --output FILE")
        if self.append and self.format == "json":
            raise click.UsageError("--append would put a second JSON document into a file; name a new file")
        if self.output is not None and self.output != "-":
            check_place("--output", self.output)

    @property
    def is_read(self) -> bool:
        """Whether the sentences of a document appear on a terminal."""
        return self.output is None and sys.stdout.isatty() and self.format in ("table", "markdown")

    def send(self, document: Document, frame: Mapping[str, Any]) -> None:
        """Write the document; `frame` is what JSON says about the whole command."""
        to_terminal = self.output is None and sys.stdout.isatty()
        text = self._render(document, frame, to_terminal)
        if self.format == "trec" and document.aside is not None:
            click.echo(f"note: {visible(document.aside)}", err=True)
        if self.output is None or self.output == "-":
            click.echo(text, nl=False, color=warned.colours(err=False))
        else:
            if self.append and self.format == "csv":
                text = _without_repeated_header(Path(self.output), text)
            write_text(self.output, text, append=self.append)

    def _render(self, document: Document, frame: Mapping[str, Any], to_terminal: bool) -> str:
        if self.format == "json":
            return formats.as_json(document, frame)
        if self.format == "csv":
            return formats.as_csv(document, raw=self.raw_csv)
        if self.format == "table":
            width = shutil.get_terminal_size().columns if to_terminal else None
            return formats.as_text(document, width=width, style=to_terminal and warned.colours(err=False))
        return formats.RENDERERS[self.format](document)


def _without_repeated_header(path: Path, text: str) -> str:
    """Leave the header of CSV out where the file has it already.

    Raises
    ------
    UseError
        When the file has other columns.
    """
    if not path.is_file() or not path.stat().st_size:
        return text
    with path.open(encoding="utf-8", errors="replace", newline="") as old:
        before = next(csv.reader(old), [])
    if before != next(csv.reader(io.StringIO(text)), []):
        raise UseError(f"--append: {path} has other columns; name a new file")
    return text.partition("\n")[2]


def check_place(option: str, output: str) -> None:
    """See before the work begins that its result can be written, and overwrites nothing that is read.

    Every word of the command line may name an input: ``FILE``, ``NAME=FILE`` or ``FILE:COLUMN``.
    """
    path = Path(output)
    if not output:
        raise UseError(f"{option}: the name of the file is empty")
    if path.is_dir():
        raise UseError(f"{option}: {path} is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise UseError(f"{option}: no such folder: {path.parent}; make it first")
    context = click.get_current_context(silent=True)
    if context is None or not path.exists() or not is_replaced(path):
        return
    given = (value for name, value in context.params.items() if f"--{name}" not in OUTPUTS)
    for text in _texts(given):
        if any(_is_same(path, candidate) for candidate in _files_of(text)):
            raise UseError(f"{option}: {path} is an input of this command ({text}); name another file")


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _texts(value)


def _files_of(text: str) -> Iterator[str | int]:
    """Yield what a word of the command line may name; standard input as its descriptor."""
    yield 0 if text == STDIN else text
    for i, character in enumerate(text):
        if character == "=":
            yield 0 if text[i + 1 :] == STDIN else text[i + 1 :]
        elif character == ":":
            yield text[:i]


def _is_same(path: Path, other: str | int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.stat(other))
    except (OSError, ValueError):
        return False
