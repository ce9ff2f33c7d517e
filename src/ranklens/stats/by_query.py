"""Values by query, in whatever form they come: mappings, series, frames, and ids that are whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ranklens.core.per_query import QueryId, query_id


def by_query(name: str, values: Any) -> Any:
    """Return what speaks of queries by their ids as a mapping from their text; anything else as it is.

    Parameters
    ----------
    name : str
        What the values are called in messages.
    values : mapping, pandas series, frame or anything else
        A series maps its index to its values. A frame has a column of query ids and one of values.

    Raises
    ------
    ValueError
        For ids that are the same as text or occur twice, and for a frame of several columns of values.

    Examples
    --------
    >>> by_query("weights", {1: 0.5, "q2": 2.0}), by_query("weights", [0.5, 2.0])
    ({'1': 0.5, 'q2': 2.0}, [0.5, 2.0])
    """
    if isinstance(values, Mapping):
        return with_text_ids(name, values)
    if type(values).__name__ == "Series" and hasattr(values, "items") and hasattr(values, "index"):
        pairs = list(values.items())
        if len(dict(pairs)) < len(pairs):
            raise ValueError(f"{name} is a series whose index holds a query twice; a query has one value")
        return with_text_ids(name, dict(pairs))
    if hasattr(values, "columns") and not isinstance(values, type):
        return _column(name, values)
    return values


def with_text_ids(name: str, values: Mapping[Any, Any]) -> Mapping[QueryId, Any]:
    """Return a mapping whose whole numbers as ids are text, as those of `MetricResult` are."""
    if all(isinstance(query, str) for query in values):
        return values
    found = {query_id(query): value for query, value in values.items()}
    if len(found) < len(values):
        raise ValueError(f"{name} has ids that are the same as text, such as 1 and '1'")
    return found


def _column(name: str, frame: Any) -> Mapping[QueryId, Any]:
    from ranklens.io import read_segments

    fields = read_segments(frame)
    if len(fields) != 1:
        raise ValueError(
            f"{name} is a frame with {len(fields)} columns beside the queries' "
            f"({', '.join(fields) or 'none'}); select one of them and the queries"
        )
    return dict(*fields.values())
