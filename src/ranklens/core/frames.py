"""Hand columns to whichever dataframe library the caller works with."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ranklens.core.errors import MissingDependencyError, UnknownNameError

LIBRARIES = ("pandas", "polars", "pyarrow")


def to_frame(columns: Mapping[str, Sequence[Any]], library: str | None = None) -> Any:
    """Build a dataframe of `columns` (name to equally long sequences).

    Parameters
    ----------
    columns : mapping
        Column names and their values.
    library : {"pandas", "polars", "pyarrow"}, optional
        The library of the frame. By default pandas if the program has imported it, else polars.

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
    if library == "pyarrow":
        return module.table(data)
    return module.DataFrame(data)
