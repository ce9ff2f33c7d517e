"""Compute measures of judged rankings, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, to_host
from ranklens.metrics.definitions import BadMeasureError, Measure
from ranklens.metrics.padding import Batch, padded_batches
from ranklens.metrics.ranking import JudgedPool, JudgedRanking


def measured_values(
    rankings: Sequence[JudgedRanking], pool: JudgedPool, measures: Sequence[Measure], backend: Backend
) -> NDArray[np.float64]:
    """Compute every measure of every run on every judged query.

    Operations are not fused (JAX runs them one by one): a compiler that contracts a product and a sum would
    make the last bit depend on which other measures are asked for.

    Returns
    -------
    numpy.ndarray, shape (runs, measures, queries)
        A query that a run does not answer has the value of an empty list.
    """
    values = np.zeros((len(rankings), len(measures), len(pool.query_ids)))
    # What overflows is an error that names its run and query; NumPy's own warning would say less.
    with backend.precise(), np.errstate(over="ignore", invalid="ignore"):
        batches, results = [], []
        for batch in padded_batches(rankings, pool, _depth(measures), backend):
            batches.append((batch.runs, batch.queries))
            results.append(_measured(batch, measures, backend))
        host = to_host(*results) if results else ()
    for (runs, queries), result in zip(batches, host, strict=True):
        for m in range(len(measures)):
            values[runs, m, queries] = result[m, :, : len(queries)]
    return values


def _measured(batch: Batch, measures: Sequence[Measure], backend: Backend) -> Any:
    shape = tuple(batch.arrays.n_retrieved.shape)
    return backend.xp.stack(
        [_checked(measure(batch.arrays), measure, shape, backend) for measure in measures]
    )


def _checked(result: Any, measure: Measure, shape: tuple[int, ...], backend: Backend) -> Any:
    array = backend.asarray(result)
    if tuple(array.shape) != shape:
        raise BadMeasureError(
            f"the measure {measure.name} gave an array of shape {tuple(array.shape)}; it must give one value "
            f"for each run and query of the batch, shape {shape}"
        )
    return backend.xp.astype(array, backend.float_dtype, copy=False)


def _depth(measures: Sequence[Measure]) -> int | None:
    depths = [measure.depth for measure in measures]
    known = [depth for depth in depths if depth is not None]
    return max(known) if len(known) == len(depths) else None
