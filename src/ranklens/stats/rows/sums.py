"""Exactly rounded sums of many rows at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut

Floats = NDArray[np.float64]

_UNIT = 2.0**-53
_FEWEST = 4096
_VALUES_AT_ONCE = 1 << 15


def exact_sums(values: Floats) -> Floats:
    """Return the sum of each row of `values` (rows, n), rounded once, as `math.fsum` gives it.

    Values are added in pairs, pairs of pairs and so on, and what each addition rounds away is added up beside
    (the two-sum of Knuth 1969). Where the bound on what is still lost leaves the rounding open, `math.fsum`
    decides.

    Examples
    --------
    >>> exact_sums(np.array([[1e16, 1.0, -1e16], [0.1, 0.2, 0.3]])).tolist()
    [1.0, 0.6]
    """
    rows, n = values.shape
    if rows * n < _FEWEST:
        return _one_by_one(values)
    found = np.empty(rows)
    for part in cut(range(rows), max(1, _VALUES_AT_ONCE // n)):
        some = slice(part.start, part.stop)
        found[some] = _in_pairs(values[some])
    return found


def _one_by_one(values: Floats) -> Floats:
    return np.array([math.fsum(row) for row in values.tolist()], dtype=np.float64)


def _in_pairs(values: Floats) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        total, lost, levels = _two_sums(values)
        bound = 8.0 * (levels * _UNIT) ** 2 * np.abs(values).sum(axis=1)
        lower, upper = total + (lost - bound), total + (lost + bound)
        open_rows = np.flatnonzero(~(lower == upper))
    if open_rows.size:
        lower[open_rows] = _one_by_one(values[open_rows])
    return np.asarray(lower + 0.0)


def _two_sums(values: Floats) -> tuple[Floats, Floats, int]:
    """Return the sum of each row, nearly all that its additions have rounded away, and how deep they go."""
    lost, levels = np.zeros_like(values), 1
    while values.shape[1] > 1:
        half = values.shape[1] // 2
        a, b, odd = values[:, :half], values[:, half : 2 * half], values[:, 2 * half :]
        total = a + b
        other = total - a
        error = (a - (total - other)) + (b - other)
        error += lost[:, :half]
        error += lost[:, half : 2 * half]
        lost = np.concatenate([error, lost[:, 2 * half :]], axis=1) if odd.shape[1] else error
        values = np.concatenate([total, odd], axis=1) if odd.shape[1] else total
        levels += 1
    return values[:, 0], lost[:, 0], levels
