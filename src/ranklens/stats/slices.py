"""Segments of the queries: which queries each value of each field holds, and the seed it draws from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from ranklens.core.errors import DataWarning
from ranklens.core.per_query import QueryId
from ranklens.core.user_line import warn_user
from ranklens.stats.by_query import by_query, with_text_ids

_UNNAMED = "segment"
_SEVERAL = (list, tuple, Set, Mapping)


@dataclass(frozen=True, slots=True)
class Slice:
    """The queries with one value of one field."""

    field: str
    value: str
    queries: frozenset[QueryId]

    @property
    def label(self) -> str:
        """What the rows of this segment are called."""
        return f"{self.field}={self.value}"

    def seed(self, seed: int) -> int:
        """Return the seed of this segment: a function of `seed`, the field and the value alone.

        It stays below 2^53, so that every reader of JSON gets it right.

        Examples
        --------
        >>> Slice("locale", "de", frozenset()).seed(0)
        7274910407733866
        """
        text = json.dumps([seed, self.field, self.value]).encode("ascii")
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 11


def slices_of(segments: Any) -> tuple[Slice, ...]:
    """Return the slices of every field, fields in their order and values by text.

    Parameters
    ----------
    segments : mapping, series, path or frame
        Field to query to value, or query to value (a field without a name), or what `read_segments` reads.
    """
    pieces: list[Slice] = []
    for field, values in _fields(segments).items():
        found = list(_slices(field, values))
        if not found:
            warn_user(f"segments give no query a value of {field!r}: it has no segments", DataWarning)
        pieces += found
    return tuple(pieces)


def warn_of_unsegmented(pieces: tuple[Slice, ...], queries: tuple[QueryId, ...]) -> None:
    """Warn, field by field, of queries that have no value and so are in no segment."""
    for field in dict.fromkeys(piece.field for piece in pieces):
        inside = frozenset[QueryId]().union(*(piece.queries for piece in pieces if piece.field == field))
        outside = [query for query in queries if query not in inside]
        if outside:
            warn_user(
                f"{len(outside)} of {len(queries)} paired queries have no value of {field!r} and are in none "
                f"of its segments (first: {', '.join(map(str, outside[:3]))})",
                DataWarning,
            )


def _fields(segments: Any) -> dict[str, Mapping[QueryId, Any]]:
    if type(segments).__name__ == "Series":
        segments = by_query("segments", segments)
    if not isinstance(segments, Mapping):
        from ranklens.io import read_segments

        segments = read_segments(segments)
    if not segments:
        raise ValueError("segments is empty; give a mapping from field to query to value")
    nested = [isinstance(values, Mapping) for values in segments.values()]
    if all(nested):
        return {str(field): values for field, values in segments.items()}
    if any(nested):
        raise ValueError("segments must map fields to mappings, or queries to values, not both")
    return {_UNNAMED: segments}


def _slices(field: str, values: Mapping[QueryId, Any]) -> Iterator[Slice]:
    members: dict[str, list[QueryId]] = {}
    for query, value in with_text_ids(f"segments of {field!r}", values).items():
        if isinstance(value, _SEVERAL) or getattr(value, "ndim", None):
            raise ValueError(
                f"segments of {field!r} give query {query!r} several values, {value!r}; a query has one "
                "value of a field, so make each of them a field of its own"
            )
        if value is not None and value != "" and value == value:
            members.setdefault(str(value), []).append(query)
    for value in sorted(members):
        yield Slice(field, value, frozenset(members[value]))
