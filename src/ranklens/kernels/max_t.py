"""Successive maxima of studentised sums under shared signs."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from ranklens.arrays import backend_of, compiled, cut, even, n_devices, namespace, rows_within
from ranklens.kernels.flips import sign_matrix
from ranklens.kernels.ties import BAND

_FLOAT_BYTES = 8
_SIGN_COPIES = 4
_STATISTIC_COPIES = 5
_BLOCK = 512


def step_down_counts(
    deltas: Any, words_of: Callable[[range], Any], resamples: range, alternative: str, eps: float
) -> tuple[Any, Any]:
    """Order the rows by their statistic, and count the flips that reach each of them.

    Parameters
    ----------
    deltas : array, shape (rows, n)
        Finite.
    words_of : callable
        Gives the words (columns, m) of m resamples.
    resamples : range
        Which resamples.
    alternative : {"two-sided", "greater", "less"}
        A statistic is |Σ s d| / √Σ d², without the absolute value for "greater", negative for "less".
    eps : float
        The spacing of the type of the differences: statistics that differ by 8 eps Σ|d| / √Σ d² are equal.

    Returns
    -------
    order : array of int64, shape (rows,)
        The rows, largest statistic first.
    counts : array of int64, shape (rows,)
        In that order: in how many resamples the largest of this row's statistic and those of all rows after
        it is at least the observed one.
    """
    backend = backend_of(deltas)
    xp = backend.xp
    studentised, order, reach = compiled(ordered_rows, backend, static=("alternative", "eps"))(
        deltas, alternative=alternative, eps=eps
    )
    by_query = xp.matrix_transpose(studentised)
    rows, n = deltas.shape
    row_bytes = _FLOAT_BYTES * (_SIGN_COPIES * n + _STATISTIC_COPIES * rows)
    counted = compiled(count_reached, backend, static=("alternative",))
    length = rows_within(row_bytes, min(len(resamples), _BLOCK * n_devices(backend)), share=0.5)
    blocks = cut(resamples, even(length, backend))
    counts = [counted(words_of(block), by_query, reach, alternative=alternative) for block in blocks]
    return order, functools.reduce(operator.add, counts)


def ordered_rows(deltas: Any, alternative: str, eps: float) -> tuple[Any, Any, Any]:
    """Return the rows over their norms, largest statistic first, that order, and what reaches each."""
    xp = namespace(deltas)
    largest = xp.max(xp.abs(deltas), axis=-1, keepdims=True)
    scaled = deltas / xp.where(largest > 0.0, largest, 1.0)
    norm = xp.sqrt(xp.sum(scaled * scaled, axis=-1, keepdims=True))
    studentised = scaled / xp.where(norm > 0.0, norm, 1.0)
    statistic = one_sided(xp.sum(studentised, axis=-1), alternative)
    order = xp.argsort(-statistic, stable=True)
    band = BAND * eps * xp.sum(xp.abs(studentised), axis=-1)
    ordered = xp.take(studentised, order, axis=0)
    return ordered, order, xp.take(statistic - band, order, axis=0)


def count_reached(words: Any, by_query: Any, reach: Any, alternative: str) -> Any:
    """Count in which resamples the maximum over a row and those after it reaches `reach`, shape (rows,)."""
    xp = namespace(by_query)
    sums = sign_matrix(words, by_query.shape[0], by_query.dtype) @ by_query
    return xp.count_nonzero(maxima_from_the_end(one_sided(sums, alternative)) >= reach, axis=0)


def one_sided(sums: Any, alternative: str) -> Any:
    """Make a large value speak against the null hypothesis."""
    if alternative == "two-sided":
        return namespace(sums).abs(sums)
    return sums if alternative == "greater" else -sums


def maxima_from_the_end(values: Any) -> Any:
    """Return the maximum over each place and all after it, along the last axis, by doubling."""
    xp = namespace(values)
    length, step = values.shape[-1], 1
    while step < length:
        further = xp.maximum(values[:, : length - step], values[:, step:])
        values = xp.concat([further, values[:, length - step :]], axis=-1)
        step *= 2
    return values
