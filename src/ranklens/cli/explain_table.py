"""Tables of documents with a column for each feature; ids are text, as in runs and judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars

from ranklens.cli.explain_categories import Categories, is_text
from ranklens.cli.failures import UseError
from ranklens.core import DataError
from ranklens.io.columns import spelled
from ranklens.io.delimited import read_records, restored
from ranklens.io.faults import Faults
from ranklens.io.layout import QRELS
from ranklens.io.query_features import QueryFeatures
from ranklens.io.sources import load, suffix_of
from ranklens.io.text import Text

_COLUMNS = {"query": "query_id", "document": "document", "grade": "grade"}
_SHOWN = 12


def table_queries(
    path: str,
    columns: Mapping[str, str | int] | None,
    features: Sequence[str],
    categories: Categories,
    *,
    graded: bool = True,
) -> tuple[QueryFeatures, ...]:
    """Read a table; `columns` says which hold the query, the document and the grade.

    Where `graded` is False the grade may be missing.
    """
    text = load(path, path)
    given = columns or {}
    try:
        if suffix_of(path) in (".parquet", ".pq"):
            frame = polars.read_parquet(bytes(text.content()))
            chosen = _chosen(path, frame.columns, given, features, graded)
        else:
            separator = "\t" if suffix_of(path) == ".tsv" else ","
            names = polars.read_csv(
                bytes(text.content()),
                separator=separator,
                n_rows=0,
                infer_schema=False,
                truncate_ragged_lines=True,
            ).columns
            chosen = _chosen(path, names, given, features, graded)
            texts = [name for name in names if is_text(categories.known.get(name, ()))]
            frame = _delimited(path, text, separator, names, chosen, texts)
    except polars.exceptions.PolarsError as error:
        raise DataError(f"the table cannot be read: {error}", file=path) from error
    if chosen["grade"] not in frame.columns:
        frame = frame.with_columns(polars.lit(None).alias(chosen["grade"]))
    frame = categories.in_frame(frame, path)
    try:
        return QueryFeatures.from_frame(frame, **chosen, features=features)
    except DataError as error:
        raise DataError(error.why, file=path, line=error.line, text=error.text) from error


def _chosen(
    path: str,
    names: Sequence[str],
    columns: Mapping[str, str | int],
    features: Sequence[str],
    graded: bool,
) -> dict[str, str]:
    for role in columns:
        if role not in _COLUMNS:
            raise UseError(f"--columns: no field {role!r}; there are {', '.join(_COLUMNS)}")
    found = {}
    for role, usual in _COLUMNS.items():
        column = columns.get(role, usual)
        if isinstance(column, int) and column < len(names):
            column = names[column]
        if column not in names and (graded or role != "grade" or role in columns):
            raise UseError(
                f"{path} has no column {column!r}; add --columns {role}=NAME, "
                f"{_candidates(role, names, features)}"
            )
        found[role] = str(column)
    return found


def _candidates(role: str, names: Sequence[str], features: Sequence[str]) -> str:
    """List the columns that are no features, those first that are called as `role` usually is."""
    free = [name for name in names if name not in set(features)] or list(names)
    usual = [free[place] for place in spelled(free, QRELS.spellings[role])]
    listed = [*usual, *(name for name in free if name not in usual)]
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return f"one of {', '.join(map(repr, listed[:_SHOWN]))}{more}"


def _delimited(
    path: str,
    text: Text,
    separator: str,
    names: Sequence[str],
    chosen: Mapping[str, str],
    texts: Sequence[str],
) -> polars.DataFrame:
    """Read numbers where there are numbers, and the ids and `texts` as they are written."""
    _check_widths(path, text, separator, len(names))
    ids = [chosen["query"], chosen["document"]]
    frame = polars.read_csv(
        bytes(text.content()),
        separator=separator,
        infer_schema_length=None,
        schema_overrides=dict.fromkeys([*ids, *texts], polars.String),
    )
    frame = frame.filter(~polars.all_horizontal(polars.all().is_null()))
    # Digits beyond 64 bits.
    wide = [name for name, kind in frame.schema.items() if str(kind) in ("Int128", "UInt128")]
    frame = frame.with_columns(polars.col(name).cast(polars.Float64) for name in wide)
    return frame.with_columns(restored(frame[name]) for name in ids)


def _check_widths(path: str, text: Text, separator: str, width: int) -> None:
    """Raise a `DataError` for the first record with more or fewer fields than the header."""
    data = np.frombuffer(bytes(text.content()), dtype=np.uint8)
    if not (data == ord('"')).any():
        ends = np.append(np.flatnonzero(data == ord("\n")), data.size)
        fields = np.diff(np.searchsorted(np.flatnonzero(data == ord(separator)), ends), prepend=0) + 1
        blank = np.diff(ends, prepend=-1) <= 1
        if ((fields == width) | blank).all():
            return
    read_records(text, separator, width, Faults(path, "raise"), header=True)
