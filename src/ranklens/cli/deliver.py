"""Send a document to standard output or to a file, in the format that was asked for."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ranklens.cli import atomic, formats, warned
from ranklens.cli.document import Document
from ranklens.cli.failures import UseError

WIDEST = 100


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
        if self.output is not None:
            _check_place(Path(self.output))

    @property
    def is_read(self) -> bool:
        """Whether the sentences of a document appear on a terminal."""
        return self.output is None and sys.stdout.isatty() and self.format in ("table", "markdown")

    def send(self, document: Document, frame: Mapping[str, Any]) -> None:
        """Write the document; `frame` is what JSON says about the whole command."""
        to_terminal = self.output is None and sys.stdout.isatty()
        text = self._render(document, frame, to_terminal)
        if self.output is None or self.output == "-":
            click.echo(text, nl=False, color=warned.colours(err=False))
        else:
            atomic.write_text(Path(self.output), text, append=self.append)

    def _render(self, document: Document, frame: Mapping[str, Any], to_terminal: bool) -> str:
        if self.format == "json":
            return formats.as_json(document, frame)
        if self.format == "csv":
            return formats.as_csv(document, raw=self.raw_csv)
        if self.format == "table":
            width = min(shutil.get_terminal_size().columns, WIDEST) if to_terminal else None
            return formats.as_text(document, width=width, style=to_terminal and warned.colours(err=False))
        return formats.RENDERERS[self.format](document)


def _check_place(path: Path) -> None:
    """See before the work begins that its result can be written."""
    if path.is_dir():
        raise UseError(f"--output: {path} is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise UseError(f"--output: no such folder: {path.parent}; make it first")
