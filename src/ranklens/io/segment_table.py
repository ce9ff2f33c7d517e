"""Segment tables as columns of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from ranklens.core.errors import DataError, UnknownNameError
from ranklens.io.columns import spelled
from ranklens.io.delimited import read_records, restored
from ranklens.io.faults import Faults
from ranklens.io.formats import fields_of, first_line, is_columnar, is_number, read_columnar
from ranklens.io.layout import QRELS, RUN
from ranklens.io.sources import holds_bytes, load, suffix_of

_QUERY = RUN.spellings["query"]
_SURELY_IDS = tuple(name for name in _QUERY if name not in ("topic", "query", "q"))
_NOT_FIELDS = ("rank", "tag", "q0", "iteration", *RUN.spellings["score"], *QRELS.spellings["grade"])


def segment_columns(
    source: Any, file: str, fields: Sequence[str] | None, query: str | None, names: Sequence[str] | None
) -> tuple[list[str], dict[str, list[str | None]]]:
    """Return the query ids of all rows, and the text of each field."""
    frame = _frame(source, file, names)
    columns = frame.columns
    if query is not None and query not in columns:
        raise UnknownNameError("column", query, columns)
    id_column = query or _query_column(columns)
    documents = [columns[place] for place in spelled(columns, RUN.spellings["document"])]
    if fields is None:
        skipped = {id_column, *documents, *(columns[place] for place in spelled(columns, _NOT_FIELDS))}
        if documents:
            skipped.update(name for name in columns if name.strip().lower() in _NOT_FIELDS)
        fields = [name for name in columns if name not in skipped]
    for field in fields:
        if field not in columns:
            raise UnknownNameError("segment field", field, columns)
    if frame.get_column(id_column).null_count():
        row = int(frame.get_column(id_column).is_null().arg_max() or 0)
        raise DataError("the query id is missing", file=file, line=row + 1)
    return _texts(frame, id_column), {field: _texts(frame, field) for field in fields}


def _query_column(columns: Sequence[str]) -> str:
    places = spelled(columns, _SURELY_IDS)
    if not places and spelled(columns, RUN.spellings["document"]):
        places = spelled(columns, _QUERY)
    return columns[places[0]] if places else columns[0]


def _texts(frame: pl.DataFrame, column: str) -> list[Any]:
    return restored(frame.get_column(column).cast(pl.String)).to_list()


def _frame(source: Any, file: str, names: Sequence[str] | None) -> pl.DataFrame:
    if not holds_bytes(source):
        if isinstance(source, pl.DataFrame):
            return source
        return pl.DataFrame({
            str(name): source[name].tolist() for name in source.columns
        }, strict=False) if hasattr(source, "iloc") else pl.DataFrame(source)  # fmt: skip
    text = load(source, file)
    faults = Faults(file, "raise")
    if is_columnar(text):
        frame: pl.DataFrame = read_columnar(text, faults)
        return frame
    line = first_line(text)
    if suffix_of(file) in (".jsonl", ".ndjson") or line.startswith("{"):
        return pl.read_ndjson(bytes(text.content()), infer_schema_length=None)
    separator = max("\t,;", key=line.count)
    header = list(names) if names is not None else fields_of(line, separator)
    if names is None and not spelled(header, _QUERY) and is_number(header[0]):
        why = f"no header, it seems (the first cell is {header[0]!r}); name the columns with names=[...]"
        raise DataError(why, file=file, line=1, text=line)
    rows = read_records(text, separator, len(header), faults, header=names is None)
    return pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")
