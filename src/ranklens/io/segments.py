"""Segments: what each query belongs to, by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ranklens.core.errors import DataError, UnknownNameError
from ranklens.io.sources import source_name


class Segments(Mapping[str, Mapping[str, str]]):
    """For each field, the segment of each query.

    Examples
    --------
    >>> segments = read_segments({"locale": {"q1": "de", "q2": "fr"}})
    >>> segments["locale"]["q1"], list(segments)
    ('de', ['locale'])
    """

    def __init__(self, fields: Mapping[str, Mapping[str, str]]) -> None:
        self._fields = {field: MappingProxyType(dict(values)) for field, values in fields.items()}

    def __getitem__(self, field: str) -> Mapping[str, str]:
        if field not in self._fields:
            raise UnknownNameError("segment field", field, self._fields)
        return self._fields[field]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"<Segments: {', '.join(self._fields) or 'no fields'}>"


def read_segments(
    source: Any,
    fields: Sequence[str] | None = None,
    *,
    query: str | None = None,
    names: Sequence[str] | None = None,
) -> Segments:
    """Read which segment each query belongs to.

    Parameters
    ----------
    source : path, "-", open file, bytes, frame or mapping
        A table with one column of query ids and one for each field (CSV, TSV, JSONL, Parquet, Feather, or a
        frame); it may be the run itself, when its rows carry the segment. Or ``{field: {query: segment}}``.
    fields : sequence of str, optional
        The fields to keep; by default every column that is not part of a run.
    query : str, optional
        The column of query ids. By default ``query_id``, ``qid``, ``topic_id`` and the like, else the first
        one.
    names : sequence of str, optional
        The column names of a CSV or TSV file that has no header.

    Raises
    ------
    DataError
        When a query is in two segments of one field, the table has no rows or no field, two columns have the
        same name, or the file seems to have no header.
    TypeError
        When `source` is nothing that holds a table.
    UnknownNameError
        When a field or the query column does not exist.

    Warns
    -----
    DataWarning
        When no column has a usual name, and the first one is taken for that of the queries.

    Notes
    -----
    A query whose cell is empty belongs to no segment of that field.

    Examples
    --------
    >>> read_segments(b"query_id,locale\\nq1,de\\nq2,fr\\n")["locale"]["q2"]
    'fr'
    """
    if isinstance(source, Segments):
        return source if fields is None else Segments({field: source[field] for field in fields})
    if isinstance(source, Mapping):
        return _from_mapping(source, fields)
    from ranklens.io.segment_table import segment_columns

    file = source_name(source)
    ids, columns = segment_columns(source, file, fields, query, names)
    return Segments({field: _unique(field, ids, values, file) for field, values in columns.items()})


def _from_mapping(source: Mapping[Any, Any], fields: Sequence[str] | None) -> Segments:
    if not all(isinstance(values, Mapping) for values in source.values()):
        raise TypeError("segments are given as {field: {query: segment}}")
    every = Segments({
        str(field): {str(query): _text(value) for query, value in values.items() if _present(value)}
        for field, values in source.items()
    })  # fmt: skip
    return read_segments(every, fields)


def _present(value: Any) -> bool:
    return value is not None and value == value


def _text(value: Any) -> str:
    """Write a segment's value as a column of such values would be."""
    text = str(value)
    return text.lower() if text in ("True", "False") and not isinstance(value, str) else text


def _unique(field: str, ids: Sequence[str], values: Sequence[str | None], file: str) -> dict[str, str]:
    """Map each query to its one value."""
    found: dict[str, str] = {}
    for query, value in zip(ids, values, strict=True):
        if not value:
            continue
        earlier = found.setdefault(query, value)
        if earlier != value:
            why = (
                f"query {query!r} is in two segments of {field!r}, {earlier!r} and {value!r}; "
                f"name the fields that belong to queries with fields=[...]"
            )
            raise DataError(why, file=file)
    return found
