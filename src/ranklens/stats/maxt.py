"""Step-down max-T: one correction that knows how the comparisons of a family are correlated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Purpose, draw_words
from ranklens.kernels.max_t import step_down_counts
from ranklens.stats.options import Options
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.jobs import Job

MAX_T = "maxt"
"""The correction's name."""

_ENUMERATED = 16
"""Up to so many queries all sign assignments are listed, where the p-values are exact."""


def flips_of(n: int, options: Options) -> int:
    """Return how many random sign assignments of `n` units max-T draws; 0 where it lists all of them."""
    enumerated = options.method != "monte-carlo" and n <= _ENUMERATED
    return 0 if enumerated else options.n_permutations


def max_t_values(batch: Batch, options: Options) -> Job[NDArray[np.float64]]:
    """Return the adjusted p-values of Westfall and Young's step-down max-T, shape (rows,).

    With the statistics |Σ s d| / √Σ d² of all rows under one assignment of signs s, the k-th largest observed
    statistic is compared with the maximum over itself and all smaller ones; adjusted p-values never fall from
    one to the next. The root is the same under all signs, so that rows of any scale count alike. Without the
    absolute value for a one-sided alternative.

    References
    ----------
    P. H. Westfall and S. S. Young, Resampling-based multiple testing (1993), algorithm 2.8.

    Examples
    --------
    >>> from ranklens import compare_deltas
    >>> twins = [[1.0, 2.0, 3.0, 4.0, 5.0]] * 2
    >>> compare_deltas(twins, method="exact", correction="maxt", min_queries=2).q_value.tolist()
    [0.0625, 0.0625]
    """
    backend = batch.backend
    rows, n = batch.shape
    filled, _ = batch.filled()
    drawn = flips_of(n, options)
    enumerated = drawn == 0
    resamples = range(1 << n) if enumerated else range(drawn)

    def words_of(some: range) -> Any:
        if enumerated:
            return backend.xp.arange(some.start, some.stop, dtype=backend.xp.int64, device=backend.device)[
                None, :
            ]
        columns = range(-(-filled.shape[1] // 64))
        return draw_words(backend, options.seed, some.start, some.stop, columns, Purpose.FLIPS)

    order, counts = yield step_down_counts(filled, words_of, resamples, options.alternative, batch.eps)
    adjusted = counts / len(resamples) if enumerated else (counts + 1.0) / (len(resamples) + 1)
    q = np.empty(rows)
    q[order.astype(np.int64)] = np.maximum.accumulate(adjusted)
    return q
