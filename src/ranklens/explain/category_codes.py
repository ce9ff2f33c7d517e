"""Categories that a model was trained on as what they are, and that its trees know by their codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ranklens.core import DataError
from ranklens.explain.models.base import Model
from ranklens.explain.rows import frame_columns, is_record, many_rows, record_of
from ranklens.io.query_features import QueryFeatures

_SHOWN = 4


def coded(values: Any, model: Model, what: str) -> Any:
    """Return rows with the codes of categories in place of texts and of pandas' categories.

    Parameters
    ----------
    values : frame, mapping, sequence or array
        As in `ranklens.explain.rows.one_row`. Arrays and sequences hold codes.
    model : Model
        Its `categories` say which code each category has: its place among them.
    what : str
        The argument's name, for error messages.

    Raises
    ------
    DataError
        For a category that the model does not know, and for numbers that may be categories or codes.
    """
    if not model.categories:
        return values
    if isinstance(values, (list, tuple)) and values and is_record(values[0]):
        return [coded(record, model, what) for record in values]
    if is_record(values):
        return _coded_columns(record_of(values), model, what)
    columns = frame_columns(values)
    return values if columns is None else many_rows(_coded_columns(columns, model, what), model.names, what)


def require_codes(model: Model, queries: Iterable[QueryFeatures]) -> None:
    """Raise a `DataError` where named numbers of a frame or file may be categories or their codes."""
    doubtful = [name for name, known in model.categories.items() if _are_doubtful(known)]
    for query in queries if doubtful else ():
        named = [name for name in doubtful if name in (query.names or ())]
        if named and not query.from_array:
            raise _doubt(f"query {query.query_id!r}", named[0], model.categories[named[0]])


def _coded_columns(columns: Mapping[str, Any], model: Model, what: str) -> dict[str, Any]:
    known = model.categories
    return {
        name: _codes(column, name, known[name], what) if name in known else column
        for name, column in columns.items()
    }


def _codes(column: Any, name: str, known: Sequence[Any], what: str) -> Any:
    scalar = np.ndim(column) == 0
    items = [column] if scalar else np.asarray(column, dtype=object).tolist()
    # Only pandas calls a type so; its values are the categories themselves.
    of_pandas = str(getattr(column, "dtype", "")) == "category"
    if not known or not (of_pandas or any(isinstance(item, str) for item in items)):
        if _are_doubtful(known):
            raise _doubt(what, name, known)
        return column
    code = {category: float(place) for place, category in enumerate(known)}
    found = [_code(item, code, f"{name!r} of {what}") for item in items]
    return found[0] if scalar else np.asarray(found, dtype=np.float64)


def _code(item: Any, code: Mapping[Any, float], where: str) -> float:
    if item is None or item != item:
        return np.nan
    if item not in code:
        raise DataError(f"{where} is {item!r}, which is none of the model's categories ({some_of(code)})")
    return code[item]


def _are_doubtful(known: Sequence[Any]) -> bool:
    """Whether a number may be a category or a code, and means another thing as the one than as the other."""
    numbers = not all(isinstance(category, str) for category in known)
    return not known or (numbers and list(known) != list(range(len(known))))


def _doubt(what: str, name: str, known: Sequence[Any]) -> DataError:
    categories = f"categories ({some_of(known)})" if known else "categories of pandas"
    return DataError(
        f"{what} has numbers for {name!r}, of which the model knows {categories} by their codes 0, 1, ...: "
        "give an array of all features that holds codes"
        + (", or to pairwise and score a frame of pandas with a column of type category" if known else "")
    )


def some_of(known: Iterable[Any]) -> str:
    """List the first few categories."""
    shown = list(known)
    return ", ".join(map(repr, shown[:_SHOWN])) + (", …" if len(shown) > _SHOWN else "")
