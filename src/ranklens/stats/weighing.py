"""Queries of weight 0 take no part, and weights and clusters that change nothing are no design."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core.per_query import QueryId
from ranklens.stats.design import Design
from ranklens.stats.options import Options
from ranklens.stats.pair import Pair
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.results import Experiment


def weighing_pair(pair: Pair, options: Options) -> Pair:
    """Return the pair on the queries that have a weight; as it is where none of the paired ones has."""
    if options.design.weights is None:
        return pair
    weights = options.design.bound(pair.queries).weights
    keep = _weighing(weights, pair.queries)
    if len(keep) in (0, len(pair.queries)):
        return pair
    return replace(
        pair,
        queries=tuple(pair.queries[i] for i in keep.tolist()),
        a=pair.a[keep],
        b=pair.b[keep],
        deltas=pair.deltas[keep],
        only_a=tuple(pair.only_a[i] for i in _weighing(weights, pair.only_a).tolist()),
        only_b=tuple(pair.only_b[i] for i in _weighing(weights, pair.only_b).tolist()),
    )


def weighing_experiment(
    experiment: Experiment, options: Options, paired: Iterable[Sequence[QueryId]]
) -> tuple[Experiment, Options]:
    """Return the experiment on the queries that have a weight, and the options with what remains of a design.

    `paired` are the queries of each pair of runs. The design must speak of queries by their ids.
    """
    design = options.design
    if design.is_simple:
        return experiment, options
    in_pairs = tuple(dict.fromkeys(query for queries in paired for query in queries))
    if design.weights is not None:
        keep = _weighing(design.weights, experiment.panel.queries)
        in_pairs_keep = tuple(in_pairs[i] for i in _weighing(design.weights, in_pairs).tolist())
        if in_pairs_keep and len(keep) < len(experiment.panel.queries):
            experiment, in_pairs = experiment.within(keep), in_pairs_keep
    return experiment, replace(options, design=_remaining(design, in_pairs))


def weighing_batch(batch: Batch, options: Options) -> tuple[Batch, Options]:
    """Do the same for rows of differences, whose weights and clusters are in the order of the queries.

    Raises
    ------
    ValueError
        As `Design.units` does.
    """
    design = options.design
    n = batch.shape[1]
    # Without ids its messages speak of positions.
    units = design.units(n)
    if design.is_simple:
        return batch, options
    if units is None:
        return batch, replace(options, design=_without_units(design))
    keep = np.flatnonzero(units.weights > 0.0)
    if len(keep) == n:
        return batch, options
    positions: Any = range(n)
    bound = design.bound(positions)
    kept = replace(design, weights=_taken(bound.weights, keep), clusters=_taken(bound.clusters, keep))
    if kept.units(len(keep)) is None:
        kept = _without_units(kept)
    index = batch.backend.asarray(keep, dtype=batch.backend.xp.int64)
    deltas = batch.backend.xp.take(batch.deltas, index, axis=1)
    mask = None if batch.mask is None else np.ascontiguousarray(batch.mask[:, keep])
    return replace(batch, deltas=deltas, mask=mask), replace(options, design=kept)


def _weighing(weights: Mapping[QueryId, Any], queries: Sequence[QueryId]) -> NDArray[np.int64]:
    """Return the places of queries whose weight is not 0, those without one included."""
    return np.array(
        [i for i, query in enumerate(queries) if not _is_zero(weights.get(query))], dtype=np.int64
    )


def _is_zero(weight: Any) -> bool:
    try:
        return weight is not None and float(weight) == 0.0
    except (TypeError, ValueError):
        # What is no number is refused by name where it is used.
        return False


def _remaining(design: Design, queries: Sequence[QueryId]) -> Design:
    known = [values for values in (design.weights, design.clusters) if values is not None]
    if not queries or any(query not in values for values in known for query in queries):
        return design
    return _without_units(design) if design.units(queries) is None else design


def _without_units(design: Design) -> Design:
    return replace(design, weights=None, clusters=None)


def _taken(values: Mapping[Any, Any] | None, keep: NDArray[np.int64]) -> list[Any] | None:
    return None if values is None else [values[i] for i in keep.tolist()]
