"""What a command found, before it is known in which format it is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ranklens.core.tables import Cell


@dataclass(frozen=True)
class Table:
    """A table of formatted cells under a caption.

    Where a terminal is too narrow, the columns named in `spare` are left out, the first one first.
    """

    caption: str | None
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    spare: Sequence[str] = ()

    def only(self, columns: Sequence[int]) -> Table:
        """Return the table with the columns at these places alone."""
        rows = [[row[j] for j in columns] for row in self.rows]
        return replace(self, header=[self.header[j] for j in columns], rows=rows)


@dataclass(frozen=True)
class Document:
    """The one answer of a command, from which every format is made.

    Parameters
    ----------
    headline : sequence of str
        Sentences that come first: the verdict.
    tables : sequence of Table
        For people.
    notes : sequence of str
        Sentences that come last: counts, and how the numbers were made.
    records : sequence of dict
        For spreadsheets: one raw record a row, all with the same keys.
    payload : mapping
        For programs: what JSON says beyond what every command says.
    trec : sequence of (measure, query, value)
        For programs that read trec_eval's output.
    aside : str, optional
        What has no place in trec_eval's columns and goes to standard error.
    title : str, optional
        What a section is called.
    sections : sequence of Document
        What follows.
    """

    headline: Sequence[str] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    records: Sequence[Mapping[str, Any]] = ()
    payload: Mapping[str, Any] = field(default_factory=dict)
    trec: Sequence[tuple[str, str, str]] = ()
    aside: str | None = None
    title: str | None = None
    sections: Sequence[Document] = ()
