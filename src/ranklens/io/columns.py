"""Which columns of a table hold the query, the document and the number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ranklens.core.errors import DataError, UnknownNameError
from ranklens.io.layout import Layout

RANK = "rank"
ColumnMap = Mapping[str, str | int]


@dataclass(frozen=True)
class Chosen:
    """Positions of the three columns; `is_rank` when the number is a rank (1 is best) instead of a score."""

    query: int
    document: int
    value: int
    is_rank: bool = False

    @property
    def positions(self) -> tuple[int, int, int]:
        """The three positions in the order query, document, number."""
        return (self.query, self.document, self.value)


def choose_columns(names: Sequence[str], layout: Layout, columns: ColumnMap | None, file: str) -> Chosen:
    """Find the three columns: first as `columns` says, then by the usual spellings.

    A run without a score column is ordered by its rank column.

    Raises
    ------
    UnknownNameError
        When `columns` names a field or a column that does not exist.
    DataError
        When a column cannot be found or its name occurs twice.
    """
    given = checked_map(columns, layout)
    place = {field: _given_place(names, column, file) for field, column in given.items()}
    for field in ("query", "document"):
        if field not in place:
            place[field] = _spelled_place(names, layout.spellings[field], file, field, given)
    if layout.value in place:
        return Chosen(place["query"], place["document"], place[layout.value])
    if RANK in place:
        return Chosen(place["query"], place["document"], place[RANK], is_rank=True)
    spellings = layout.spellings[layout.value]
    if layout.kind == "run" and not spelled(names, spellings) and spelled(names, (RANK,)):
        return Chosen(place["query"], place["document"], spelled(names, (RANK,))[0], is_rank=True)
    value = _spelled_place(names, spellings, file, layout.value, given)
    return Chosen(place["query"], place["document"], value)


def checked_map(columns: ColumnMap | None, layout: Layout) -> dict[str, str | int]:
    """Check the fields of an explicit mapping, ``{"query": ..., "document": ..., "score": ...}``."""
    fields = (*layout.fields, RANK) if layout.kind == "run" else layout.fields
    given = dict(columns or {})
    for field in given:
        if field not in fields:
            hint = f"columns maps a field ({', '.join(fields)}) to the name or position of its column"
            raise UnknownNameError("field", str(field), fields, hint)
    return given


def knows_header(names: Sequence[str], layout: Layout, given: Mapping[str, str | int]) -> bool:
    """Tell whether these fields of a first line are column names."""
    if any(isinstance(column, str) and column in names for column in given.values()):
        return True
    return all(spelled(names, layout.spellings[field]) for field in ("query", "document"))


def spelled(names: Sequence[str], spellings: Sequence[str]) -> list[int]:
    """Return the places of the first spelling that occurs."""
    plain = [name.strip().lower().replace("-", "_").replace(" ", "_") for name in names]
    for spelling in spellings:
        places = [place for place, name in enumerate(plain) if name == spelling]
        if places:
            return places
    return []


def _spelled_place(
    names: Sequence[str], spellings: Sequence[str], file: str, field: str, given: Mapping[str, str | int]
) -> int:
    places = spelled(names, spellings)
    if len(places) == 1:
        return places[0]
    what = f"{len(places)} columns" if places else "no column"
    example = ", ".join(f"{key!r}: {value!r}" for key, value in {**given, field: "..."}.items())
    why = f"{what} for the {field}; the columns are {', '.join(names)}; name it with columns={{{example}}}"
    raise DataError(why, file=file)


def _given_place(names: Sequence[str], column: str | int, file: str) -> int:
    if isinstance(column, int):
        if not 0 <= column < len(names):
            raise DataError(f"there is no column {column} (counted from 0) among {len(names)}", file=file)
        return column
    if column not in names:
        raise UnknownNameError("column", column, names)
    if list(names).count(column) > 1:
        raise DataError(f"two columns are called {column!r}", file=file)
    return list(names).index(column)
