"""Which format some bytes are in: the file's name first, the content second."""

from __future__ import annotations

import csv
import io
from typing import Any

from ranklens.io.columns import RANK, ColumnMap, checked_map, knows_header
from ranklens.io.faults import Fault, Faults
from ranklens.io.layout import Layout
from ranklens.io.pairs import Extract
from ranklens.io.sources import suffix_of
from ranklens.io.text import Text
from ranklens.io.trec import read_trec

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_ZIP = b"PK\x03\x04"
_PARQUET, _ARROW_FILE, _ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_SEPARATORS = ("\t", ",", ";")
_SAMPLE = 1 << 16


def read_text(text: Text, file: str, layout: Layout, columns: ColumnMap | None, faults: Faults) -> Extract:
    """Find the format of the content and read it."""
    suffix = suffix_of(file)
    if is_columnar(text):
        from ranklens.io.tables import read_frame

        return read_frame(read_columnar(text, faults), layout, columns, faults)
    check_encoding(text, faults)
    if is_blank(text):
        raise faults.error(Fault(f"there are no rows in this {layout.kind} source"))
    if suffix in (".parquet", ".pq", ".feather", ".arrow", ".ipc"):
        raise faults.error(Fault(f"the file is called {suffix} and does not begin like one"))
    line = first_line(text)
    if suffix in (".jsonl", ".ndjson", ".json") or _begins_json(line, layout):
        from ranklens.io.jsonlines import read_json, read_jsonl

        lines_only = suffix in (".jsonl", ".ndjson")
        return (read_jsonl if lines_only else read_json)(text, layout, columns, faults)
    given = checked_map(columns, layout)
    separator, header = _separation(text, line, suffix, layout, given)
    if separator is not None:
        from ranklens.io.delimited import read_delimited

        return read_delimited(text, separator, header, layout, columns, faults)
    extract = read_trec(text, layout, _positions(layout, given), faults)
    return extract.negated() if RANK in given and layout.value not in given else extract


def is_columnar(text: Text) -> bool:
    """Tell whether the content begins like Parquet or Arrow."""
    return bytes(text.content()[:8]).startswith((_PARQUET, _ARROW_FILE, _ARROW_STREAM))


def read_columnar(text: Text, faults: Faults) -> Any:
    """Read Parquet, a Feather (Arrow) file or an Arrow stream into a polars frame."""
    import polars as pl

    content = io.BytesIO(text.content())
    head = bytes(text.content()[:8])
    try:
        if head.startswith(_PARQUET):
            return pl.read_parquet(content)
        if head.startswith(_ARROW_FILE):
            return pl.read_ipc(content)
        return pl.read_ipc_stream(content)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise faults.error(Fault(f"the columns cannot be read ({reason})")) from error


def check_encoding(text: Text, faults: Faults) -> None:
    """Raise DataError for UTF-16, for a ZIP archive, and for NUL bytes, which no text has."""
    head = bytes(text.content()[:4])
    if head.startswith(_UTF16):
        raise faults.error(Fault("the file is UTF-16; convert it to UTF-8"))
    if head.startswith(_ZIP):
        raise faults.error(Fault("the file is a ZIP archive; unpack it first"))
    for first, last in text.blocks(_SAMPLE):
        if not text.array[first:last].min():
            position = first + int(text.array[first:last].argmin())
            why = "there is a NUL byte, so the file is damaged or no text"
            raise faults.error(Fault(why, text.line_number(position), text.line_at(position)))


def is_blank(text: Text) -> bool:
    """Tell whether the content is empty, or blanks and newlines alone."""
    return not any(text[first:last].strip() for first, last in text.blocks(_SAMPLE))


def first_line(text: Text) -> str:
    """Return the first line that is neither blank nor a comment; empty where there is none."""
    for first, last in text.blocks(_SAMPLE):
        for line in text[first:last].decode("utf-8", "replace").splitlines():
            if line.strip() and not line.startswith("#"):
                return line
    return ""


def fields_of(line: str, separator: str) -> list[str]:
    """Cut one line at the separator, quotes respected; as it is where the quotes go on in the next line."""
    try:
        return next(csv.reader([line], delimiter=separator, strict=True))
    except (csv.Error, StopIteration):
        return line.split(separator)


def _begins_json(line: str, layout: Layout) -> bool:
    """Tell a first line of JSON from one whose query id begins with a bracket."""
    if not line.startswith(("{", "[")):
        return False
    import json

    try:
        return isinstance(json.loads(line), (dict, list))
    except ValueError:
        return not _fits_trec(line, layout)


def _separation(
    text: Text, line: str, suffix: str, layout: Layout, given: dict[str, str | int]
) -> tuple[str | None, bool]:
    """Return the separator and whether there is a header; no separator means TREC's blanks and tabs."""
    for separator in _SEPARATORS:
        if knows_header(fields_of(line, separator), layout, given):
            return separator, True
    by_name = any(isinstance(column, str) for column in given.values())
    tabs = line.count("\t")
    if not given and _fits_trec(line, layout) and not _blanks_between_tabs(text, layout):
        return None, False
    if suffix == ".csv" or by_name or (tabs == 0 and line.count(",") >= 2):
        best = max(_SEPARATORS, key=lambda separator: (line.count(separator), separator == ","))
        headless = not by_name and any(is_number(field) for field in fields_of(line, best))
        return best, not headless
    if given:
        return ("\t", False) if tabs >= max(int(place) for place in given.values()) else (None, False)
    if tabs in (2, 3) or (tabs == len(layout.trec) - 1):
        return "\t", not any(is_number(field) for field in line.split("\t"))
    return None, False


def _fits_trec(line: str, layout: Layout) -> bool:
    n_fields = len(line.split())
    return n_fields == len(layout.trec) or (layout.more_allowed and n_fields > len(layout.trec))


def _blanks_between_tabs(text: Text, layout: Layout) -> bool:
    """Tell whether a sampled line has just the right number of fields between tabs, and a blank in an id.

    Cut at blanks, such a line would give the wrong columns.
    """
    query, document, value = layout.positions
    first, last = next(text.blocks(_SAMPLE))
    for line in text[first:last].decode("utf-8", "replace").splitlines():
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != len(layout.trec) or not all(fields) or line.startswith("#"):
            continue
        if is_number(fields[value]) and (" " in fields[query] or " " in fields[document]):
            return True
    return False


def is_number(field: str) -> bool:
    """Tell whether a field of a first line is a number, so that the line is no header."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def _positions(layout: Layout, given: dict[str, str | int]) -> tuple[int, int, int] | None:
    if not given:
        return None
    by_field = dict(zip(layout.fields, layout.positions, strict=True))
    if RANK in given:
        by_field[layout.value] = int(given[RANK])
    query, document, value = (int(given.get(field, by_field[field])) for field in layout.fields)
    return query, document, value
