"""The largest of many t statistics when the signs of deviations from the mean are flipped."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ranklens.arrays import backend_of, compiled, cut, namespace, rows_within
from ranklens.kernels.flips import sign_matrix

_FLOAT_BYTES = 8
_SIGN_COPIES = 4
_STATISTIC_COPIES = 5
_BLOCK = 512


def largest_statistics(
    units: Any,
    counts: Any,
    words_of: Callable[[range], Any],
    resamples: range,
    alternative: str = "two-sided",
) -> Any:
    """Return the largest t over all rows in each of `resamples`, shape (len(resamples),).

    Parameters
    ----------
    units : array, shape (rows, n)
        Deviations from each row's mean over their norm, zeros for what a row lacks.
    counts : array, shape (rows,)
        How many deviations each row has; at least 2.
    words_of : callable
        Gives the words (columns, m) of m resamples.
    resamples : range
        Which resamples.
    alternative : {"two-sided", "greater", "less"}
        Whether |t|, t or -t counts.
    """
    backend = backend_of(units)
    rows, n = units.shape
    by_query = backend.xp.matrix_transpose(units)
    row_bytes = _FLOAT_BYTES * (_SIGN_COPIES * n + _STATISTIC_COPIES * rows)
    largest = compiled(largest_t, backend, static=("alternative",))
    blocks = cut(resamples, rows_within(row_bytes, min(len(resamples), _BLOCK), share=0.5))
    found = [largest(words_of(block), by_query, counts, alternative=alternative) for block in blocks]
    return backend.xp.concat(found)


def largest_t(words: Any, by_query: Any, counts: Any, alternative: str) -> Any:
    """Return the largest t of each resample, shape (m,), where words (columns, m) give the signs.

    With u = Σ s e for n deviations e of norm 1, the t statistic of the flipped ones is
    u √(n - 1) / √(n - u²).
    """
    xp = namespace(by_query)
    sums = sign_matrix(words, by_query.shape[0], by_query.dtype) @ by_query
    squares = sums * sums
    room = counts - squares
    # Flipped deviations that are all equal have no spread, and an infinite t.
    squared_t = xp.where(room > 0.0, squares * (counts - 1.0) / xp.where(room > 0.0, room, 1.0), math.inf)
    if alternative == "two-sided":
        return xp.sqrt(xp.max(squared_t, axis=-1))
    away = sums > 0.0 if alternative == "greater" else sums < 0.0
    return xp.max(xp.where(away, 1.0, -1.0) * xp.sqrt(squared_t), axis=-1)
