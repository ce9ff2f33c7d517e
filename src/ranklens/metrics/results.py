"""Put measured values and counts together into results."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import current_backend
from ranklens.core import DataError, MetricResult, QueryIndex
from ranklens.core.evaluation import Evaluation, Evaluations
from ranklens.metrics.definitions import Measure
from ranklens.metrics.measuring import measured_values
from ranklens.metrics.names import parse_measure
from ranklens.metrics.ranking import JudgedPool, JudgedRanking


def assembled(
    names: tuple[str, ...],
    ranked: Sequence[JudgedRanking],
    left_out: Sequence[int],
    pool: JudgedPool,
    measures: tuple[Measure, ...],
    options: dict[str, Any],
) -> Evaluations:
    """Measure ranked runs, and give each the part of the array that is its own.

    `left_out` counts the unreadable rows behind each run; `options` are the ones that `Evaluation` records.
    """
    values = measured_values(ranked, pool, measures, current_backend())
    in_run = np.stack([ranking.in_run for ranking in ranked])
    measured = in_run if options["missing"] == "skip" else np.ones_like(in_run)
    _check_finite(values, measured, names, measures, pool.query_ids)
    values[~np.broadcast_to(measured[:, None, :], values.shape)] = np.nan
    answerable = np.zeros(len(pool.query_ids), dtype=bool)
    answerable[pool.row[pool.grade >= options["rel"]]] = True
    canonical = functools.partial(_canonical, rel=options["rel"])
    found = {}
    for r, (name, ranking) in enumerate(zip(names, ranked, strict=True)):
        found[name] = Evaluation(
            run=name,
            metrics=_metrics(values[r], measured[r], measures, pool.query_ids),
            n_queries=int(measured[r].sum()),
            n_without_relevant=int((measured[r] & ~answerable).sum()),
            n_unjudged=ranking.n_unjudged,
            n_not_retrieved=int((~ranking.in_run).sum()),
            n_left_out=left_out[r],
            canonical=canonical,
            **options,
        )
    return Evaluations(found, values, tuple(m.name for m in measures), pool.query_ids, measured)


def _metrics(
    values: NDArray[np.float64], measured: NDArray[np.bool_], measures: Sequence[Measure], ids: QueryIndex
) -> tuple[MetricResult, ...]:
    if not measured.all():
        ids = QueryIndex([ids[i] for i in np.flatnonzero(measured)])
        values = values[:, measured]
    return tuple(MetricResult.from_arrays(m.name, ids, row) for m, row in zip(measures, values, strict=True))


def _check_finite(
    values: NDArray[np.float64],
    measured: NDArray[np.bool_],
    runs: Sequence[str],
    measures: Sequence[Measure],
    ids: QueryIndex,
) -> None:
    bad = ~np.isfinite(values) & measured[:, None, :]
    if bad.any():
        run, measure, query = np.argwhere(bad)[0]
        raise DataError(
            f"{measures[measure].name} of run {runs[run]} is {values[run, measure, query]} for query "
            f"{ids[query]!r} (and for {int(bad.sum()) - 1} more values); a measure must be finite, so "
            "check the grades or the measure's function"
        )


def _canonical(name: str, rel: float) -> str:
    try:
        return parse_measure(name).with_default_rel(rel).name
    except ValueError:
        return name
