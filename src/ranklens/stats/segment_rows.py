"""The rows of an experiment: on all queries, and in every segment of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import current_backend
from ranklens.core.per_query import QueryId
from ranklens.stats.families import MaxT, Row
from ranklens.stats.maxt import flips_of
from ranklens.stats.options import Options, is_plain
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.design_maxt import designed_max_t
from ranklens.stats.rows.design_results import designed_rows
from ranklens.stats.rows.design_units import QueryDesign
from ranklens.stats.rows.results import Experiment
from ranklens.stats.slices import Slice, warn_of_unsegmented

Progress = Callable[[int, int], None]
Rows = NDArray[np.bool_]


def rows_of(
    experiment: Experiment, pieces: tuple[Slice, ...], options: Options, progress: Progress | None = None
) -> Iterator[Row]:
    """Yield the rows on all queries, then those of the segments, job by job."""
    n_jobs, done = len(experiment.jobs), 0

    def count(rows: Iterator[Row]) -> Iterator[Row]:
        nonlocal done
        for row in rows:
            done += 1
            _report(progress, done, n_jobs * (1 + len(pieces)), n_jobs)
            yield row

    yield from count(_rows(experiment, options, None))
    if pieces:
        for queries in paired_queries(experiment):
            warn_of_unsegmented(pieces, queries)
    by_piece = [[*count(rows_of_segment(experiment, piece, options))] for piece in pieces]
    yield from (row for of_job in zip(*by_piece, strict=True) for row in of_job)


def rows_of_segment(experiment: Experiment, piece: Slice, options: Options) -> Iterator[Row]:
    """Yield the row of each job on the queries of one segment, which draws from a seed of its own."""
    own = dataclasses.replace(options, seed=piece.seed(options.seed))
    inside = np.flatnonzero(_inside(experiment, piece))
    return _rows(experiment.within(inside), own, piece)


def max_t_of(experiment: Experiment, pieces: Sequence[Slice], options: Options, skipped: int = 0) -> MaxT:
    """Return max-T over the rows of `rows_of`, of which the first `skipped` are not in the table."""
    units = QueryDesign.of(options.design, experiment.panel.queries).union()
    n = len(experiment.panel.queries) if units is None else units.n

    def adjusted(places: Sequence[int]) -> list[float]:
        return max_t_of_rows(experiment, pieces, options, [place + skipped for place in places])

    return MaxT(adjusted, flips_of(n, options), options.seed)


def max_t_of_rows(
    experiment: Experiment, pieces: Sequence[Slice], options: Options, places: Sequence[int]
) -> list[float]:
    """Return max-T's adjusted p-values of rows of `rows_of`, as one family.

    All are flipped over all queries, by the same signs; nothing is measured outside a row's segment.
    """
    n_jobs, n_pieces, which = len(experiment.jobs), max(1, len(pieces)), np.array(places)
    overall = which < n_jobs
    job = np.where(overall, which, (which - n_jobs) // n_pieces)
    piece = np.where(overall, -1, (which - n_jobs) % n_pieces)
    rows = experiment.rows([experiment.jobs[i] for i in job.tolist()])
    mask = rows.mask.copy()
    for i in np.unique(piece[~overall]).tolist():
        mask[piece == i] &= _inside(experiment, pieces[i])
    backend = current_backend()
    units = QueryDesign.of(options.design, experiment.panel.queries).union()
    with backend.precise():
        batch = Batch.of(backend.asarray(np.where(mask, rows.deltas, 0.0)), mask, backend)
        found = designed_max_t(batch, units, options)
    return [float(q) for q in found]


def paired_queries(experiment: Experiment) -> Iterator[tuple[QueryId, ...]]:
    """Yield each set of queries that both runs of some job have."""
    measured, queries = experiment.panel.measured, experiment.panel.queries
    both = (measured[a, measure] & measured[b, measure] for measure, a, b in experiment.jobs)
    for paired in {row.tobytes() for row in both}:
        inside = np.flatnonzero(np.frombuffer(paired, dtype=bool))
        yield tuple(queries[i] for i in inside.tolist())


def _rows(experiment: Experiment, options: Options, piece: Slice | None) -> Iterator[Row]:
    compared = experiment.compared if is_plain(options) else partial(designed_rows, experiment)
    for result in compared(options, None if piece is None else piece.label):
        yield Row(result, None if piece is None else piece.field)


def _inside(experiment: Experiment, piece: Slice) -> Rows:
    return np.array([query in piece.queries for query in experiment.panel.queries], dtype=bool)


def _report(progress: Progress | None, done: int, of: int, n_jobs: int) -> None:
    """Say how many of the pairs and measures are done, whenever one more is."""
    if progress is not None and (done * n_jobs) // of > ((done - 1) * n_jobs) // of:
        progress((done * n_jobs) // of, n_jobs)
