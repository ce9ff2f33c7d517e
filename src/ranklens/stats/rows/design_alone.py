"""Resampled ratios on the host that are equal to those of a single sample, to the last bit.

A product of matrices rounds differently from the sum of a single sample. The few sums of a row that decide
about its interval are made again as those of a single sample are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut
from ranklens.arrays.host_ends import Ranks, ends_of_rows, sums_alone
from ranklens.kernels.resample_sums import ROWS_WORTH_COUNTING, column_parts
from ranklens.kernels.resamples import WIDE_FROM, n_word_columns
from ranklens.stats.resampled import Resampled

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]

_ROWS_AT_ONCE = 16


def ratio_ends_as_alone(values: Floats, sums: Floats, sizes: Floats, ranks: Ranks, seed: int) -> Floats:
    """Return the elements of four ranks among the ratios ``sums / sizes`` of each row, shape (rows, 4).

    Parameters
    ----------
    values : array, shape (rows, n)
        What is drawn from.
    sums : array, shape (rows, m)
        Of the resamples 0, 1, ... of `values`, however rounded.
    sizes : array, shape (m,)
        The sums of the sizes that the same resamples draw.
    ranks : four ints
        The first two are neighbours or one, as are the last two.
    seed : int
    """
    ratios = sums / sizes
    ends = ends_of_rows(ratios, ranks)
    if not differs_alone(*values.shape):
        return ends
    slack, near = rounding_of(values), []
    for rows in cut(range(len(values)), _ROWS_AT_ONCE):
        part = slice(rows.start, rows.stop)
        row, resample = np.nonzero(near_ends(ratios[part], ends[part], slack[part, None] / sizes))
        near.append(np.stack([row + rows.start, resample]))
    mend(ratios, np.concatenate(near, axis=1), values, seed, sizes)
    return ends_of_rows(ratios, ranks)


def differs_alone(n_rows: int, n: int) -> bool:
    """Whether sums of rows (n_rows, n) are made by a product that a single row does without."""
    return n_rows >= ROWS_WORTH_COUNTING and n < WIDE_FROM


def rounding_of(values: Floats) -> Floats:
    """Return how far the sums of a row can be off, twice; shape (rows,)."""
    return np.asarray(np.abs(values).sum(axis=1) * (2.0 * values.shape[1] * np.finfo(np.float64).eps))


def near_ends(statistics: Floats, ends: Floats, slack: Floats) -> Rows:
    """Whether statistics (rows, m) lie near the ends (rows, 4) of their row."""
    near = np.zeros(statistics.shape, dtype=bool)
    for side in (0, 2):
        near |= (statistics >= ends[:, side, None] - slack) & (statistics <= ends[:, side + 1, None] + slack)
    return near


def mend(ratios: Floats, pairs: Counts, values: Floats, seed: int, sizes: Floats | None = None) -> None:
    """Make some ratios (rows, m) of `values` (rows, n) again from sums in the order of a single sample.

    `pairs` (2, k) are the rows and resamples; without `sizes` ratios are sums.
    """
    if pairs.shape[1]:
        alone = sums_alone(values, pairs, seed, column_parts(n_word_columns(values.shape[1])))
        ratios[pairs[0], pairs[1]] = alone if sizes is None else alone / sizes[pairs[1]]


def pick_deciding_sums(row: Resampled, values: Floats, tail: float, seed: int) -> None:
    """Make those sums of a row, of `values` (p, n), again that decide about its studentized interval."""
    if values.shape[1] < WIDE_FROM:
        resamples = np.flatnonzero(row.deciding(tail))
        each = np.arange(len(values))
        mend(
            row.sums, np.stack([np.repeat(each, len(resamples)), np.tile(resamples, len(each))]), values, seed
        )
