"""Hand columns to whichever dataframe library the caller works with."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ranklens.core.errors import MissingDependencyError, UnknownNameError

LIBRARIES = ("pandas", "polars", "pyarrow")


def to_frame(
    columns: Mapping[str, Sequence[Any]],
    library: str | None = None,
    types: Mapping[str, type] | None = None,
) -> Any:
    """Build a dataframe of `columns` (name to equally long sequences).

    Parameters
    ----------
    columns : mapping
        Column names and their values.
    library : {"pandas", "polars", "pyarrow"}, optional
        The library of the frame. By default pandas if the program has imported it, else polars.
    types : mapping from column name to float, int, str or bool, optional
        What a column without any value is a column of, so that frames with and without values have one
        schema.

    Raises
    ------
    UnknownNameError
        For another library.
    MissingDependencyError
        When the library is not installed.

    Examples
    --------
    >>> to_frame({"query": ["q1"], "AP": [0.5]}, "polars").to_dicts()
    [{'query': 'q1', 'AP': 0.5}]
    """
    if library is None:
        library = "pandas" if "pandas" in sys.modules else "polars"
    if library not in LIBRARIES:
        raise UnknownNameError("dataframe library", library, LIBRARIES)
    try:
        module = importlib.import_module(library)
    except ImportError as error:
        raise MissingDependencyError(library, "to_frame()", f"pip install {library}") from error
    data = {name: list(values) for name, values in columns.items()}
    untyped = [name for name, values in data.items() if all(value is None for value in values)]
    for name in untyped:
        if types is not None and name in types:
            data[name] = _without_values(module, library, len(data[name]), types[name])
    return module.table(data) if library == "pyarrow" else module.DataFrame(data)


def _without_values(module: Any, library: str, n: int, kind: type) -> Any:
    """Return a column of `n` missing values of a type."""
    if library == "pyarrow":
        names = {float: "float64", int: "int64", str: "string", bool: "bool_"}
        return module.nulls(n, getattr(module, names[kind])())
    if library == "polars":
        names = {float: "Float64", int: "Int64", str: "String", bool: "Boolean"}
        return module.Series([None] * n, dtype=getattr(module, names[kind]))
    # Missing numbers are NaN in pandas.
    return module.Series([None] * n, dtype="float64" if kind in (float, int) and n else _EMPTY[kind])


_EMPTY = {float: "float64", int: "int64", str: "object", bool: "bool"}
