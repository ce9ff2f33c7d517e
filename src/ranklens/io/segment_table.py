"""Segment tables as columns of text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from ranklens.core.errors import DataError, DataWarning, UnknownNameError
from ranklens.core.user_line import warn_user
from ranklens.io.columns import spelled
from ranklens.io.delimited import read_records, restored
from ranklens.io.faults import Fault, Faults
from ranklens.io.formats import (
    check_encoding,
    fields_of,
    first_line,
    is_blank,
    is_columnar,
    is_number,
    read_columnar,
)
from ranklens.io.layout import QRELS, RUN
from ranklens.io.sources import holds_bytes, load, suffix_of
from ranklens.io.text import Text

_QUERY = RUN.spellings["query"]
_SURELY_IDS = tuple(name for name in _QUERY if name not in ("topic", "query", "q"))
_NOT_FIELDS = ("rank", "tag", "q0", "iteration", *RUN.spellings["score"], *QRELS.spellings["grade"])


def segment_columns(
    source: Any, file: str, fields: Sequence[str] | None, query: str | None, names: Sequence[str] | None
) -> tuple[list[str], dict[str, list[str | None]]]:
    """Return the query ids of all rows, and the text of each field."""
    frame = _frame(source, file, names)
    columns = frame.columns
    if not frame.height or not columns:
        raise _empty(file)
    if query is not None and query not in columns:
        raise UnknownNameError("column", query, columns)
    id_column = query or _query_column(columns)
    if query is None and names is None and id_column not in _called_queries(columns):
        why = "no column is called query_id, qid or the like; the query ids were taken from the first one"
        warn_user(f"{file}: {why}, {id_column!r}", DataWarning)
    documents = [columns[place] for place in spelled(columns, RUN.spellings["document"])]
    if fields is None:
        skipped = {id_column, *documents, *(columns[place] for place in spelled(columns, _NOT_FIELDS))}
        if documents:
            skipped.update(name for name in columns if name.strip().lower() in _NOT_FIELDS)
        fields = [name for name in columns if name not in skipped]
    for field in fields:
        if field not in columns:
            raise UnknownNameError("segment field", field, columns)
    if not fields:
        why = f"no column of segments beside the query ids; the columns are {', '.join(columns)}"
        raise DataError(why, file=file)
    if frame.get_column(id_column).null_count():
        row = int(frame.get_column(id_column).is_null().arg_max() or 0)
        raise DataError("the query id is missing", file=file, line=row + 1)
    return _texts(frame, id_column, file), {field: _texts(frame, field, file) for field in fields}


def _query_column(columns: Sequence[str]) -> str:
    places = spelled(columns, _SURELY_IDS)
    if not places and spelled(columns, RUN.spellings["document"]):
        places = spelled(columns, _QUERY)
    return columns[places[0]] if places else columns[0]


def _called_queries(columns: Sequence[str]) -> list[str]:
    return [columns[place] for spelling in _QUERY for place in spelled(columns, (spelling,))]


def _texts(frame: pl.DataFrame, column: str, file: str) -> list[Any]:
    values = frame.get_column(column)
    if values.dtype.is_nested() or values.dtype in (pl.Object, pl.Binary):
        why = f"the cells of column {column!r} are no texts or numbers but of type {values.dtype}"
        raise DataError(f"{why}; a query belongs to one segment of a field", file=file)
    return restored(values.cast(pl.String)).to_list()


def _frame(source: Any, file: str, names: Sequence[str] | None) -> pl.DataFrame:
    if not holds_bytes(source):
        return _of_frame(source, file)
    text = load(source, file)
    faults = Faults(file, "raise")
    if is_columnar(text):
        frame: pl.DataFrame = read_columnar(text, faults)
        return frame
    check_encoding(text, faults)
    if is_blank(text):
        raise _empty(file)
    line = first_line(text)
    if suffix_of(file) in (".jsonl", ".ndjson") or line.startswith("{"):
        return _of_objects(text, faults)
    separator = max("\t,;", key=line.count)
    header = list(names) if names is not None else fields_of(line, separator)
    _check_distinct(header, file)
    if names is None and not spelled(header, _QUERY) and is_number(header[0]):
        why = f"no header, it seems (the first cell is {header[0]!r}); name the columns with names=[...]"
        raise DataError(why, file=file, line=1, text=line)
    rows = read_records(text, separator, len(header), faults, header=names is None)
    return pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")


def _of_frame(source: Any, file: str) -> pl.DataFrame:
    """Take a frame of any library, or rows in a list."""
    if isinstance(source, pl.DataFrame):
        return source
    try:
        if hasattr(source, "iloc") and hasattr(source, "columns"):
            _check_distinct([str(name) for name in source.columns], file)
            columns = {str(name): _pandas_values(source[name]) for name in source.columns}
            return pl.DataFrame(columns, strict=False)
        is_series = hasattr(source, "iloc")
        if (hasattr(source, "__arrow_c_stream__") and not is_series) or isinstance(source, (list, tuple)):
            return pl.DataFrame(source)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"the columns cannot be read ({reason})", file=file) from error
    raise TypeError(
        f"cannot read segments from {type(source).__name__}; "
        "give a path, an open file, bytes, a frame or {field: {query: segment}}"
    )


def _pandas_values(column: Any) -> list[Any]:
    """Return a pandas column's values, None where pandas has any of its marks for a missing one."""
    values = column.tolist()
    missing = column.isna().tolist()
    present = [value for value, gone in zip(values, missing, strict=True) if not gone]
    # A gap makes floats of pandas' integers.
    whole = all(isinstance(value, float) and value.is_integer() for value in present)
    return [
        None if gone else int(value) if whole else value for value, gone in zip(values, missing, strict=True)
    ]


def _of_objects(text: Text, faults: Faults) -> pl.DataFrame:
    try:
        return pl.read_ndjson(bytes(text.content()), infer_schema_length=None)
    except (pl.exceptions.PolarsError, RuntimeError) as error:
        raise faults.error(_first_bad_line(text, str(error).splitlines()[0])) from error


def _first_bad_line(text: Text, reason: str) -> Fault:
    """Find the line that is no JSON object, where one is; the columnar reader does not say."""
    for number, line in enumerate(bytes(text.content()).split(b"\n"), 1):
        if line.strip():
            try:
                good = isinstance(json.loads(line), dict)
            except ValueError:
                good = False
            if not good:
                shown = line.decode("utf-8", "backslashreplace").strip()
                return Fault("the line is not a JSON object", number, shown)
    return Fault(f"the columns cannot be read ({reason})")


def _check_distinct(columns: Sequence[str], file: str) -> None:
    twice = next((name for name in columns if list(columns).count(name) > 1), None)
    if twice is not None:
        raise DataError(f"two columns are called {twice!r}; rename one of them", file=file)


def _empty(file: str) -> DataError:
    return DataError("there are no rows in this table of segments", file=file)
