"""Frames: pandas, polars, pyarrow, and whatever else speaks the Arrow C stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from ranklens.io.columns import Chosen, ColumnMap, choose_columns
from ranklens.io.decimals import parse_decimal
from ranklens.io.faults import Fault, Faults
from ranklens.io.ids import Codes, IdColumn
from ranklens.io.layout import Layout
from ranklens.io.mappings import id_text
from ranklens.io.pairs import Extract, PairTable

LineOf = Callable[[int], int]


def read_frame(source: Any, layout: Layout, columns: ColumnMap | None, faults: Faults) -> Extract:
    """Read the three columns of a frame; rows are counted from 1 in messages."""
    frame, chosen = selected(source, layout, columns, faults)
    return extract_frame(frame, chosen, layout, faults, lambda row: row + 1)


def selected(
    source: Any, layout: Layout, columns: ColumnMap | None, faults: Faults
) -> tuple[pl.DataFrame, Chosen]:
    """Return the query, document and number columns as a polars frame, and how they were chosen."""
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if not isinstance(source, pl.DataFrame) and not hasattr(source, "iloc"):
        source = pl.DataFrame(source)
    names = [str(name) for name in source.columns]
    chosen = choose_columns(names, layout, columns, faults.file)
    if isinstance(source, pl.DataFrame):
        parts = [source.to_series(place) for place in chosen.positions]
    else:
        parts = [_pandas_column(source, place) for place in chosen.positions]
    return pl.DataFrame([part.alias(name) for part, name in zip(parts, layout.fields, strict=True)]), chosen


def _pandas_column(source: Any, place: int) -> pl.Series:
    """Take a pandas column over through Arrow, or value by value where Arrow refuses mixed types."""
    column = source.iloc[:, [place]]
    try:
        return pl.DataFrame(column).to_series(0)
    except Exception as refused:
        values = column.iloc[:, 0].tolist()
        texts = [id_text(value) for value in values]
        if any(text is None and _present(value) for text, value in zip(texts, values, strict=True)):
            raise TypeError(
                f"column {source.columns[place]!r} mixes types; ids are text or integers"
            ) from refused
        return pl.Series(texts, dtype=pl.String)


def _present(value: Any) -> bool:
    return value is not None and value == value


def extract_frame(
    frame: pl.DataFrame,
    chosen: Chosen,
    layout: Layout,
    faults: Faults,
    line_of: LineOf,
    restore: Callable[[pl.Series], pl.Series] | None = None,
) -> Extract:
    """Turn a frame of query, document and number into a table; `restore` is applied to ids."""
    query, document = (_ids(frame.to_series(i), faults) for i in (0, 1))
    numbers = _numbers(frame.to_series(2), layout, faults)
    missing_id = (query.is_null() | (query == "") | document.is_null() | (document == "")).fill_null(True)
    wrong = np.flatnonzero(missing_id.to_numpy() | np.isnan(numbers))

    def text_of(row: int) -> str:
        return ", ".join("" if value is None else str(value) for value in frame.row(row))

    def fault(i: int) -> Fault:
        row = int(wrong[i])
        return Fault(_why(query[row], document[row], frame.item(row, 2), layout), line_of(row), text_of(row))

    faults.found(wrong.size, fault)
    kept = np.delete(np.arange(frame.height), wrong)
    if wrong.size:
        query, document, numbers = query.gather(kept), document.gather(kept), numbers[kept]
    if restore is not None:
        query, document = restore(query), restore(document)
    codes = Codes()
    query_codes = codes.of(id_column(query))
    values = -numbers if chosen.is_rank else numbers
    pairs = PairTable(codes.texts(), query_codes, id_column(document), values)
    return Extract(pairs, lambda row: (line_of(int(kept[row])), text_of(int(kept[row]))))


def id_column(texts: pl.Series) -> IdColumn:
    """Take over the bytes of a String column without nulls."""
    if not len(texts):
        return IdColumn.from_texts([])
    length = texts.str.len_bytes().to_numpy().astype(np.int32)
    return IdColumn.from_bytes(texts.str.join("").item().encode(), length)


def _ids(column: pl.Series, faults: Faults) -> pl.Series:
    """Return ids as text: integers as their digits, categories as their names."""
    kind = column.dtype
    if kind == pl.String:
        return column
    if kind.is_integer() or kind in (pl.Categorical, pl.Enum, pl.Null):
        return column.cast(pl.String)
    hint = "; cast the column to text or integers first" if kind.is_float() else ""
    raise faults.error(Fault(f"the {column.name} column holds {kind}; ids are text or integers{hint}"))


def _numbers(column: pl.Series, layout: Layout, faults: Faults) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return numbers as float64, NaN where there is none."""
    kind = column.dtype
    taken = (pl.String, pl.Null) if layout.kind == "run" else (pl.String, pl.Null, pl.Boolean)
    if not (kind.is_numeric() or kind in taken):
        raise faults.error(Fault(f"the {layout.value} column holds {kind}, and numbers are needed"))
    if kind != pl.String:
        return column.cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
    text = column.str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy().copy()
    for row in np.flatnonzero(np.isnan(numbers)).tolist():
        value = parse_decimal((text[row] or "").encode())
        numbers[row] = np.nan if value is None else value
    return numbers


def _why(query: str | None, document: str | None, number: Any, layout: Layout) -> str:
    if not query or not document:
        return f"the {'document' if query else 'query'} id is missing"
    if number is None or number == "":
        return f"the {layout.value} is missing"
    if number != number or str(number).strip().lower().lstrip("+-") == "nan":
        return f"the {layout.value} is NaN"
    return f"the {layout.value} is not a number"
