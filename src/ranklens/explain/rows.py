"""Rows of features: aligned by name where they have names, and brought to one number type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, backend_of, is_array, to_host
from ranklens.core import DataError
from ranklens.core.errors import nearest_names
from ranklens.io.whole_numbers import require_exact, require_exact_beside_floats

Rows = NDArray[Any]


def one_row(values: Any, names: Sequence[str], what: str) -> Rows:
    """Return one document's features, shape (1, k), in the order of `names`.

    Parameters
    ----------
    values : mapping, frame or series, sequence or array
        Named values are aligned by name, never by position; a frame must have one row. A sequence or an array
        of shape (k,) or (1, k) is taken to be in the order of `names`.
    names : sequence of str
        The k features.
    what : str
        The argument's name, for error messages.

    Raises
    ------
    DataError
        When a name is missing or no feature, the shape is another, or a value is no number.
    """
    rows = many_rows([values] if is_record(values) else values, names, what, single=True)
    if rows.shape[0] != 1:
        raise DataError(f"{what} holds {rows.shape[0]} rows; give one document, or call pairwise_many")
    return rows


def many_rows(values: Any, names: Sequence[str], what: str, *, single: bool = False) -> Rows:
    """Return documents' features, shape (n, k), in the order of `names`; see `one_row`.

    `values` may be a frame, a mapping of names to columns, a sequence of mappings, or an array, shape (n, k)
    or, of one document, (k,).
    """
    columns = record_of(values) if is_record(values) else frame_columns(values)
    if columns is not None:
        return _from_columns(columns, names, what)
    if isinstance(values, (list, tuple)) and values and is_record(values[0]):
        return _from_records(values, names, what)
    rows = to_host(values)[0] if is_array(values) else _numbers(values, what)
    if rows.ndim == 1 and len(names) in rows.shape:
        rows = rows[None, :]
    _check_shape(rows.shape, names, what, single)
    if rows.dtype.kind not in "fiub":
        raise DataError(f"{what} holds {rows.dtype} values; features must be real numbers")
    require_exact(rows, names, what)
    return rows


def rows_there(
    values: Any, backend: Backend, names: Sequence[str], what: str, *, single: bool = False
) -> Any:
    """Return what `many_rows` does (or `one_row`); an array of numbers that is on a device stays there.

    It must be the device of `backend`, and have float64.
    """
    if not is_array(values) or isinstance(values, np.ndarray) or not _computable(values, backend):
        return one_row(values, names, what) if single else many_rows(values, names, what)
    rows = values.detach() if backend.name == "torch" else values
    if tuple(rows.shape) == (len(names),):
        rows = rows[None, :]
    _check_shape(tuple(rows.shape), names, what, single)
    return one_row(rows, names, what) if single and rows.shape[0] != 1 else rows


def _computable(values: Any, backend: Backend) -> bool:
    own, xp = backend_of(values), backend.xp
    there = (own.name, own.device) == (backend.name, backend.device) and backend.float_dtype == xp.float64
    kinds = [getattr(xp, name) for name in _EXACT if hasattr(xp, name)]
    return there and any(values.dtype == kind for kind in kinds)


_EXACT = ("float32", "float64", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")


def _check_shape(shape: tuple[int, ...], names: Sequence[str], what: str, single: bool) -> None:
    if len(shape) != 2 or shape[1] != len(names):
        wanted = f"({len(names)},)" if single else f"(n, {len(names)})"
        raise DataError(f"{what} has shape {shape[single and len(shape) == 2 :]}; {wanted} is needed")


def promoted(a: Rows, b: Rows) -> tuple[Rows, Rows]:
    """Bring both to the wider floating type of the two; integers and flags become float64."""
    kind: np.dtype[Any] = np.result_type(a.dtype, b.dtype)
    if kind not in (np.float32, np.float64):
        kind = np.dtype(np.float32 if kind == np.float16 else np.float64)
    return np.ascontiguousarray(a, dtype=kind), np.ascontiguousarray(b, dtype=kind)


def differing(a: Rows, b: Rows) -> NDArray[np.bool_]:
    """Say where the features differ: exactly, but 0.0 and -0.0 are equal, and so are two NaNs."""
    found: NDArray[np.bool_] = (a != b) & ~(np.isnan(a) & np.isnan(b))
    return found


def feature_names(values: Any) -> list[str] | None:
    """Return the names that the values carry, or None."""
    columns = frame_columns(values)
    if columns is not None:
        return list(columns)
    first = values[0] if isinstance(values, (list, tuple)) and values else values
    return [str(name) for name in record_of(first)] if is_record(first) else None


def n_features(values: Any) -> int:
    """Return how many features the values seem to have; 0 where that is not plain."""
    names = feature_names(values)
    if names is not None:
        return len(names)
    first = values[0] if isinstance(values, (list, tuple)) and values else None
    if isinstance(values, (list, tuple)):
        return len(first) if isinstance(first, (list, tuple)) else len(values)
    shape = getattr(values, "shape", ())
    return int(shape[-1]) if shape else 0


def frame_columns(values: Any) -> Mapping[str, Any] | None:
    """Return the columns of a pandas, polars or pyarrow frame by name; None for anything else."""
    if hasattr(values, "column_names") and hasattr(values, "column"):
        return {str(name): values.column(name) for name in values.column_names}
    columns = getattr(values, "columns", None)
    if columns is None or not hasattr(values, "shape") or is_array(values):
        return None
    names = list(columns)
    if len(set(names)) != len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"the frame has two columns named {twice!r}; features must have distinct names")
    return {str(name): values[name] for name in names}


def is_record(values: Any) -> bool:
    """Whether the values are one row, or columns, in a mapping or a series of pandas."""
    # A series of pandas knows the names of its values; one of polars does not.
    named = hasattr(values, "index") and hasattr(values, "to_dict") and not hasattr(values, "columns")
    return isinstance(values, Mapping) or named


def record_of(values: Any) -> Mapping[str, Any]:
    """Return a record as a mapping of names."""
    named = values if isinstance(values, Mapping) else values.to_dict()
    return {str(name): value for name, value in named.items()}


def _from_records(records: Sequence[Any], names: Sequence[str], what: str) -> Rows:
    rows = []
    for record in map(record_of, records):
        check_names(record, names, what)
        rows.append(_numbers([record[name] for name in names], what, names))
    found = np.stack(rows)
    require_exact(found, names, what)
    return found


def _from_columns(columns: Mapping[str, Any], names: Sequence[str], what: str) -> Rows:
    check_names(columns, names, what)
    found = [np.atleast_1d(_numbers(columns[name], f"column {name!r} of {what}")) for name in names]
    lengths = {len(column): name for column, name in zip(found, names, strict=True)}
    if len(lengths) > 1:
        shown = " and ".join(f"{name!r} {n}" for n, name in list(lengths.items())[:2])
        raise DataError(f"the columns of {what} have different numbers of values: {shown}")
    for name, column in zip(names, found, strict=True):
        require_exact(column[:, None], [name], what)
    return np.stack(found, axis=1)


def check_names(given: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    """Raise a `DataError` that names the first missing or surplus feature."""
    for name in names:
        if name not in given:
            near = nearest_names(name, given)
            hint = f"; it has {', '.join(repr(n) for n in near or list(given)[:6])}" if given else ""
            raise DataError(f"{what} lacks the feature {name!r}{hint}")
    known = set(names)
    for name in given:
        if name not in known:
            raise DataError(f"{what} has {name!r}, which is no feature of the model; leave it out")


def _numbers(values: Any, what: str, names: Sequence[str] | None = None) -> Rows:
    try:
        found = _typed(np.asarray(values))
        if found.dtype.kind not in "fiubmMc":
            # None stands for a missing value in frames and dictionaries.
            found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        where = f" ({_culprit(values, names)})" if names is not None else ""
        advice = "; give categories by the codes of the model" if "to float: '" in str(error) else ""
        raise DataError(f"{what} holds values that are no numbers{where}: {error}{advice}") from error
    if found.dtype.kind in "mMc":
        raise DataError(f"{what} holds {found.dtype} values; features must be real numbers")
    require_exact_beside_floats(values, found, what)
    return found


def _typed(found: Rows) -> Rows:
    """Return objects with a date or a complex number among them as an array of that; others as they are."""
    odd = [item for item in found.ravel().tolist() if isinstance(item, _ODD)] if found.dtype == object else ()
    return np.asarray(odd[:1]) if odd else found


_ODD = (np.datetime64, np.timedelta64, complex, np.complexfloating)


def _culprit(values: Sequence[Any], names: Sequence[str]) -> str:
    for name, value in zip(names, values, strict=True):
        if value is not None and not isinstance(value, (int, float, np.number, np.bool_)):
            return f"{name}={value!r}"
    return "of several shapes"
