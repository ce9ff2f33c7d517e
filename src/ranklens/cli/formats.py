"""A document as aligned text, Markdown, LaTeX, CSV, JSON or trec_eval's columns."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import click

from ranklens.cli.document import Document, Table
from ranklens.core.tables import (
    Cell,
    column_widths,
    is_numeric,
    markdown_text,
    render_table,
    total_width,
    visible,
)
from ranklens.core.widths import text_width, told_apart

SCHEMA_VERSION = 1
WIDEST, WIDEST_CELL = 100, 40
"""Longer sentences are broken on a terminal; longer texts are cut in aligned tables, and nowhere else."""
FORMATS = ("table", "json", "csv", "markdown", "latex", "trec")
_SURROGATE = re.compile("[\ud800-\udfff]")
"""What stands for the bytes of a file name that are not UTF-8; no file of text may hold it."""
_COMPANION = "\ue000"
"""Of the private use area, which `visible` leaves in no text."""


def as_text(document: Document, *, width: int | None = None, style: bool = False) -> str:
    """Return sentences and aligned tables.

    Parameters
    ----------
    document : Document
        What to show.
    width : int, optional
        The columns of the terminal, for tables; sentences are broken there, and at 100 columns at most. By
        default each one is a line, as pipes want it, and a table has all of its columns.
    style : bool
        Whether to print titles and the verdict bold.
    """

    def sentence(text: str) -> str:
        return visible(text) if width is None else _wrapped(visible(text), min(width, WIDEST))

    def bold(text: str) -> str:
        return click.style(text, bold=True) if style else text

    def blocks(part: Document) -> Iterator[str]:
        if part.title is not None:
            yield bold(sentence(part.title))
        yield "\n".join(bold(sentence(line)) for line in part.headline)
        for table in part.tables:
            if table.caption is not None:
                yield sentence(table.caption)
            yield _fitted(replace(table, caption=None), width)
        yield "\n".join(sentence(note) for note in part.notes)
        for section in part.sections:
            yield from blocks(section)

    return _joined(blocks(document))


def as_markdown(document: Document) -> str:
    """Return lists of sentences and pipe tables, sections under headings."""

    def blocks(part: Document) -> Iterator[str]:
        if part.title is not None:
            yield f"### {_markdown(part.title)}"
        yield "\n".join(f"- {_markdown(line)}" for line in part.headline)
        yield from (_table(table, "markdown") for table in part.tables)
        yield "\n".join(f"- {_markdown(note)}" for note in part.notes)
        for section in part.sections:
            yield from blocks(section)

    return _joined(blocks(document))


def as_latex(document: Document) -> str:
    """Return booktabs tables, the sentences above them as comments."""
    comments = [f"% {visible(line)}" for line in (*document.headline, *document.notes)]
    return _joined(("\n".join(comments), *(_table(table, "latex") for table in document.tables)))


def as_csv(document: Document, *, raw: bool = False) -> str:
    """Return the records, text that a spreadsheet would run as a formula made harmless unless `raw`."""
    from ranklens.core.spreadsheet import neutralise

    def cell(value: Any) -> Any:
        if isinstance(value, str):
            text = _SURROGATE.sub(lambda found: visible(found[0]), value)
            return text if raw else neutralise(text)
        if isinstance(value, bool):
            return str(value).lower()
        return "" if value is None or _is_not_finite(value) else value

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if document.records:
        writer.writerow([cell(name) for name in document.records[0]])
        writer.writerows([cell(value) for value in record.values()] for record in document.records)
    return stream.getvalue()


def as_json(document: Document, frame: Mapping[str, Any]) -> str:
    """Return `frame` and the payload as JSON; a number that is not finite is null."""
    whole = {"schema_version": SCHEMA_VERSION, **frame, **document.payload}
    text = json.dumps(finite(whole), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def as_trec(document: Document) -> str:
    """Return trec_eval's columns: measure, query or ``all``, value, separated by tabs."""
    return "".join(f"{measure:<22}\t{query}\t{value}\n" for measure, query, value in document.trec)


def finite(value: Any) -> Any:
    """Replace NaN and infinity in nested lists and dictionaries by None.

    Examples
    --------
    >>> finite({"high": float("inf"), "values": [1.0, float("nan")]})
    {'high': None, 'values': [1.0, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if _is_not_finite(value) else value


def _is_not_finite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _table(table: Table, style: str) -> str:
    return render_table(table.header, table.rows, style, caption=table.caption)


def _wrapped(text: str, width: int) -> str:
    """Break a sentence into lines, but not between a symbol and its number, as in ``p 0.03``."""
    tied = re.sub(r"\b([pqn]) (?=\d)", "\\1\N{NO-BREAK SPACE}", text)
    # The wrapper counts characters: one that takes two columns gets a companion.
    wide = tied if tied.isascii() else "".join(c + _COMPANION * (text_width(c) - 1) for c in tied)
    lines = textwrap.fill(wide, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return lines.replace(_COMPANION, "").replace("\N{NO-BREAK SPACE}", " ")


def _fitted(table: Table, width: int | None) -> str:
    """Shorten long texts, and leave out spare columns if the table fits without; else go on below it."""
    table = replace(table, rows=_shortened(table.rows))
    if width is None:
        return _table(table, "table")
    taken = column_widths(table.header, table.rows)
    kept, left_out = list(range(len(taken))), []
    for column in (name for name in table.spare if name in table.header):
        if total_width([taken[j] for j in kept]) > width:
            kept.remove(list(table.header).index(column))
            left_out.append(column)
    if total_width([taken[j] for j in kept]) > width:
        kept, left_out = list(range(len(taken))), []
    text = "\n\n".join(_table(table.only(part), "table") for part in _parts(table, kept, taken, width))
    return f"{text}\n(left out to fit this terminal: {', '.join(left_out)})" if left_out else text


def _parts(table: Table, columns: Sequence[int], taken: Sequence[int], width: int) -> list[list[int]]:
    """Divide the columns of a table that is too wide, the first and all leading texts in each part."""

    def leads(j: int) -> bool:
        return j == columns[0] or not all(row[j] is None or is_numeric(str(row[j])) for row in table.rows)

    heads = list(takewhile(leads, columns))
    parts = [heads]
    for j in columns[len(heads) :]:
        if len(parts[-1]) > len(heads) and total_width([taken[i] for i in (*parts[-1], j)]) > width:
            parts.append(heads)
        parts[-1] = [*parts[-1], j]
    return parts


def _shortened(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Cut long texts, but not where two of a column would look the same."""
    columns = [
        told_apart((c for c in column if isinstance(c, str)), WIDEST_CELL)
        for column in zip(*rows, strict=True)
    ]
    return [
        [found[c] if isinstance(c, str) else c for c, found in zip(row, columns, strict=True)] for row in rows
    ]


def _markdown(text: str) -> str:
    return markdown_text(visible(text))


def _joined(blocks: Iterable[str]) -> str:
    return "\n\n".join(block for block in blocks if block) + "\n"


RENDERERS: Mapping[str, Callable[[Document], str]] = {
    "markdown": as_markdown,
    "latex": as_latex,
    "trec": as_trec,
}
