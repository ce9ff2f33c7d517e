"""Integers that float64, in which features are compared, would round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core import DataError

WHOLE = 2**53
"""Up to here float64 holds every integer."""


def require_exact(rows: NDArray[Any], names: Sequence[Any], what: str) -> None:
    """Raise a `DataError` that names the first integer which float64 rounds.

    Parameters
    ----------
    rows : array, shape (n, k)
        Only those of 64-bit integers hold such numbers.
    names : sequence
        What the k columns are called.
    what : str
        Where they are from.
    """
    if rows.dtype.kind not in "iu" or rows.dtype.itemsize < 8:
        return
    large = (rows > WHOLE) | (rows < -WHOLE) if rows.dtype.kind == "i" else rows > WHOLE
    for row, column in np.argwhere(large).tolist():
        value = int(rows[row, column])
        if int(float(value)) != value:
            raise _rounded(f"{names[column]!r} of {what}", value)


def require_exact_beside_floats(values: Any, found: NDArray[Any], what: str) -> None:
    """Do the same for Python's integers in lists `values` that became the floating numbers `found`."""
    if isinstance(values, (list, tuple)) and found.dtype.kind == "f" and (np.abs(found) >= WHOLE).any():
        _look_through(values, what)


def _look_through(values: Any, what: str) -> None:
    for value in values:
        if isinstance(value, (list, tuple)):
            _look_through(value, what)
        elif isinstance(value, int) and int(float(value)) != value:
            raise _rounded(f"a value of {what}", value)


def _rounded(what: str, value: int) -> DataError:
    return DataError(
        f"{what} is {value}, which float64 rounds to {int(float(value))}: integers beyond 2^53 that differ "
        "would count as equal; leave the feature out, or subtract a constant or divide before"
    )
