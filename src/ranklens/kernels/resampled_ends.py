"""The ends of percentile intervals of a batch: order statistics of the resampled sums of every row."""

from __future__ import annotations

from typing import Any

from ranklens.arrays import backend_of, compiled, spread
from ranklens.arrays.host_ends import ends_of_resamples, ends_of_rows
from ranklens.arrays.jax_ends import ends_of_parts
from ranklens.arrays.parts import is_one_processor
from ranklens.kernels.resample_sums import (
    ROWS_WORTH_COUNTING,
    column_parts,
    drawn_parts,
    resample_sums,
    worth_counting,
)
from ranklens.kernels.resamples import WIDE_FROM, n_word_columns, order_statistics


def resampled_ends(
    values: Any, n: int, *, seed: int, n_resamples: int, ranks: tuple[int, int, int, int]
) -> Any:
    """Return the elements of four ranks among the resampled sums of each row, shape (rows, 4).

    Parameters
    ----------
    values : array, shape (rows, n)
        Zeros may follow the first n, except on numpy.
    n : int
        The number of differences, and of draws.
    seed, n_resamples : int
        Each row is resampled as it would be alone.
    ranks : four ints
        The first two are neighbours or one, as are the last two.
    """
    backend = backend_of(values)
    rows, resamples = values.shape[0], range(n_resamples)
    if backend.name == "numpy" and rows >= ROWS_WORTH_COUNTING and n < WIDE_FROM:
        return ends_of_resamples(values, seed, n_resamples, ranks, column_parts(n_word_columns(n)))
    if backend.name == "jax" and worth_counting(values):
        parts = drawn_parts(values, n, seed=seed, resamples=resamples)
        by_row = [spread(part, backend, axis=1) for part in parts]
        found = compiled(ends_of_parts, backend, static=("m", "ranks", "one_by_one"))
        return found(by_row, m=n_resamples, ranks=ranks, one_by_one=is_one_processor(backend))
    sums = resample_sums(values, n, seed=seed, resamples=resamples)
    if backend.name == "numpy":
        return ends_of_rows(sums, ranks)
    return compiled(order_statistics, backend, static=("ranks",))(sums, ranks=ranks)
