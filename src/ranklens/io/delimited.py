"""CSV and TSV: by the columnar reader, and record by record where that gives up.

The columnar reader knows no line numbers and stops at the first record that is too long. Whatever it refuses,
and every search for the line of a bad row, goes through Python's csv module, which knows both.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np
import polars as pl

from ranklens.core.errors import DataError
from ranklens.core.spreadsheet import NEUTRALISED
from ranklens.io.columns import Chosen, ColumnMap, choose_columns
from ranklens.io.faults import Fault, Faults
from ranklens.io.layout import Layout
from ranklens.io.pairs import Extract
from ranklens.io.tables import extract_frame
from ranklens.io.text import Text

_HEAD = 1 << 16


def read_delimited(
    text: Text, separator: str, header: bool, layout: Layout, columns: ColumnMap | None, faults: Faults
) -> Extract:
    """Read separated values with quotes.

    Without a header the columns are query, document and number; in a run of four columns the third is the
    rank.
    """
    first = _first_record(text, separator, faults)
    if header or columns:
        names = first if header else [str(place) for place in range(len(first))]
        chosen = choose_columns(names, layout, columns, faults.file)
    else:
        chosen = _by_position(len(first), layout, faults)
    frame, lines = _columnar(text, separator, header, chosen), None
    if frame is None:
        frame, lines = _by_record(text, separator, header, chosen, len(first), faults)

    def line_of(row: int) -> int:
        return lines[row] if lines is not None else _line_of(text, separator, row + header, faults)

    frame = frame.rename(dict(zip(frame.columns, layout.fields, strict=True)))
    extract = extract_frame(frame, chosen, layout, faults, line_of, restored)
    if not header and not columns and len(first) == 3 and layout.kind == "run":
        return _ranks_as_scores(extract, faults)
    return extract


def restored(ids: pl.Series) -> pl.Series:
    """Take the apostrophe off ids that were written so that no spreadsheet runs them."""
    marked = ids.str.contains(NEUTRALISED)
    return ids.str.slice(1).zip_with(marked, ids) if marked.any() else ids


def _by_position(n_columns: int, layout: Layout, faults: Faults) -> Chosen:
    if n_columns == 3:
        return Chosen(0, 1, 2)
    if n_columns == 4:
        return Chosen(0, 1, 3) if layout.kind == "run" else Chosen(*layout.positions)
    if layout.kind == "run" and n_columns == 6:
        return Chosen(*layout.positions)
    example = "{'query': 0, 'document': 1, '" + layout.value + "': 2}"
    why = (
        f"there is no header, and {n_columns} columns have no usual meaning; say which with columns={example}"
    )
    raise faults.error(Fault(why, 1))


def _columnar(text: Text, separator: str, header: bool, chosen: Chosen) -> pl.DataFrame | None:
    try:
        frame = pl.read_csv(bytes(text.content()), separator=separator, has_header=header, infer_schema=False)
    except pl.exceptions.PolarsError:
        return None
    empty = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if empty.any():
        if int(empty.sum()) != _blank_lines(text):
            return None
        frame = frame.filter(~empty)
    return pl.DataFrame([frame.to_series(place).alias(str(i)) for i, place in enumerate(chosen.positions)])


def _blank_lines(text: Text) -> int:
    newline = np.flatnonzero(text.array[text.begin - 1 : text.end] == 10)
    return int(np.count_nonzero(np.diff(newline) == 1))


def _by_record(
    text: Text, separator: str, header: bool, chosen: Chosen, width: int, faults: Faults
) -> tuple[pl.DataFrame, list[int]]:
    rows, lines = [], []
    for line, record in _of_width(_records(text, separator, faults), separator, width, faults):
        rows.append([record[place] for place in chosen.positions])
        lines.append(line)
    schema = dict.fromkeys("012", pl.String)
    return pl.DataFrame(rows[header:], schema=schema, orient="row"), lines[header:]


def read_records(text: Text, separator: str, width: int, faults: Faults, *, header: bool) -> list[list[str]]:
    """Read all records behind the header; records that have not `width` fields are faults."""
    records = _of_width(_records(text, separator, faults), separator, width, faults)
    return [record for _, record in records][header:]


def _of_width(
    records: Iterator[tuple[int, list[str]]], separator: str, width: int, faults: Faults
) -> Iterator[tuple[int, list[str]]]:
    for line, record in records:
        if len(record) == width:
            yield line, record
        else:
            found = Fault(f"{len(record)} columns, and {width} are expected", line, separator.join(record))
            faults.found(1, lambda _, found=found: found)  # type: ignore[misc]


def _records(text: Text, separator: str, faults: Faults) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record begins, and its fields; blank lines are no records."""
    try:
        content = str(text.content(), "utf-8")
    except UnicodeDecodeError as error:
        position = text.begin + error.start
        why = "the line is not valid UTF-8; convert the file to UTF-8"
        raise faults.error(Fault(why, text.line_number(position), text.line_at(position))) from error
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator, strict=True)
    line = 1
    try:
        for record in reader:
            if record:
                yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise faults.error(Fault(f"the quotes are not closed or not doubled ({error})", line)) from error


def _first_record(text: Text, separator: str, faults: Faults) -> list[str]:
    """Read the first record from the first lines; from all where its quotes go on behind them."""
    _, last = next(text.blocks(_HEAD))
    try:
        return next(_records(Text.of(text[text.begin : last]), separator, faults))[1]
    except (DataError, StopIteration):
        return next(_records(text, separator, faults))[1]


def _line_of(text: Text, separator: str, index: int, faults: Faults) -> int:
    return next(line for i, (line, _) in enumerate(_records(text, separator, faults)) if i == index)


def _ranks_as_scores(extract: Extract, faults: Faults) -> Extract:
    """Recognise a third column that counts 1, 2, 3, … in each query: MS MARCO's ranks, the best first."""
    pairs = extract.pairs
    order = np.argsort(pairs.query, kind="stable")
    query, values = pairs.query[order], pairs.values[order]
    head = np.concatenate((np.ones(min(1, len(query)), dtype=bool), query[1:] != query[:-1]))
    expected = np.where(head, 1.0, np.concatenate((np.zeros(1), values[:-1]))[: len(values)] + 1.0)
    if not len(values) or (values != expected).any():
        return extract
    faults.note("the third column counts 1, 2, 3, … in every query and was read as ranks, 1 being the best")
    return extract.negated()
