"""JSON lines by the columnar reader, and JSON files of nested objects.

Where the columnar reader gives up, or leaves a cell empty (some of its versions do that with mixed types),
the lines are read one by one: slower, but it tells what is wrong and where.
"""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from ranklens.io.columns import ColumnMap, choose_columns
from ranklens.io.faults import Fault, Faults
from ranklens.io.layout import Layout
from ranklens.io.mappings import extract_columns, read_mapping
from ranklens.io.pairs import Extract
from ranklens.io.tables import extract_frame, selected
from ranklens.io.text import Text


def read_jsonl(text: Text, layout: Layout, columns: ColumnMap | None, faults: Faults) -> Extract:
    """Read one object a line."""
    content = bytes(text.content())
    try:
        frame = pl.read_ndjson(content, infer_schema_length=None)
        part, chosen = selected(frame, layout, columns, faults)
    except (pl.exceptions.PolarsError, RuntimeError):
        return _line_by_line(content, layout, columns, faults)
    if any(part.null_count().row(0)):
        return _line_by_line(content, layout, columns, faults)

    def line_of(row: int) -> int:
        lines = (number for number, line in enumerate(content.split(b"\n"), 1) if line.strip())
        return next(number for i, number in enumerate(lines) if i == row)

    return extract_frame(part, chosen, layout, faults, line_of)


def _line_by_line(content: bytes, layout: Layout, columns: ColumnMap | None, faults: Faults) -> Extract:
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    broken: list[tuple[int, bytes]] = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        record = _object(line)
        if record is None:
            broken.append((number, line))
            if faults.stops:
                break
        else:
            records.append(record)
            lines.append(number)
    extract = _of_records(records, lines, layout, columns, faults)
    for number, line in broken:
        _report(faults, number, line)
    return extract


def _of_records(
    records: list[dict[str, Any]], lines: list[int], layout: Layout, columns: ColumnMap | None, faults: Faults
) -> Extract:
    if not records:
        return extract_columns([], [], [], layout, faults)
    names = list(records[0])
    chosen = choose_columns(names, layout, columns, faults.file)
    query, document, value = ([record.get(names[place]) for record in records] for place in chosen.positions)
    extract = extract_columns(query, document, value, layout, faults, lines)
    return extract.negated() if chosen.is_rank else extract


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _report(faults: Faults, number: int, line: bytes) -> None:
    text = line.decode("utf-8", "backslashreplace").strip()
    faults.found(1, lambda _: Fault("the line is not a JSON object", number, text))


def read_json(text: Text, layout: Layout, columns: ColumnMap | None, faults: Faults) -> Extract:
    """Read ``{query: {document: number}}``, a list of objects, or one object a line."""
    content = bytes(text.content()).strip()
    try:
        data = json.loads(content)
    except ValueError as error:
        if b"\n" in content:
            return read_jsonl(text, layout, columns, faults)
        raise faults.error(Fault(f"the file is not JSON ({error})")) from error
    if isinstance(data, dict) and all(isinstance(found, dict) for found in data.values()):
        return read_mapping(data, layout, faults)
    if isinstance(data, dict) and b"\n" not in content:
        return read_jsonl(text, layout, columns, faults)
    if isinstance(data, list) and data and all(isinstance(item, dict) for item in data):
        part, chosen = selected(pl.from_dicts(data, infer_schema_length=None), layout, columns, faults)
        return extract_frame(part, chosen, layout, faults, lambda row: row + 1)
    form = f"{{query: {{document: {layout.value}}}}}"
    raise faults.error(Fault(f"a JSON file holds {form} or a list of objects; this one does not"))
