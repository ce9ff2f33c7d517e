"""The statistics of a batch: p-values, intervals and counts of every row, by random flips and resamples."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import backend_of, compiled, cut, rows_within
from ranklens.kernels.flip_counts import flip_counts
from ranklens.kernels.resampled_ends import resampled_ends
from ranklens.kernels.row_moments import COLUMNS, row_moments
from ranklens.stats.interval_levels import expanded_tail
from ranklens.stats.moments import ROUNDING
from ranklens.stats.options import Options, tail_of
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.jobs import Job
from ranklens.stats.rows.lattices import comparable_rows

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_FLOAT_BYTES = 8
# Arrays of the shape of the differences that are held at once, beside the sums of the resamples.
_COPIES = 6
_ENDS = ("near_low", "low", "high", "near_high")
_SUMMARY = ("factor", *COLUMNS, *_ENDS, "extreme", "not_finite")


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """Columns on the host, a place for each row; NaN where a row lacks something."""

    delta: Floats
    ci_low: Floats
    ci_high: Floats
    p_value: Floats
    p_error: Floats
    log10_p: Floats
    n_queries: Counts
    effect: Floats
    wins: Counts
    ties: Counts
    losses: Counts
    method: NDArray[Any]
    n_resamples: Counts
    n_permutations: Counts

    @classmethod
    def empty(cls, n_queries: Counts, method: str) -> RowStatistics:
        """Return the statistics of rows of which nothing is known."""
        rows = len(n_queries)
        columns: dict[str, Any] = {}
        for item in dataclasses.fields(cls):
            counts = item.name in ("n_queries", "wins", "ties", "losses", "n_resamples", "n_permutations")
            columns[item.name] = np.zeros(rows, np.int64) if counts else np.full(rows, math.nan)
        columns |= {"n_queries": n_queries.astype(np.int64), "method": np.full(rows, method, dtype=object)}
        return cls(**columns)

    def put(self, rows: Counts, part: RowStatistics) -> None:
        """Overwrite some rows."""
        for item in dataclasses.fields(self):
            getattr(self, item.name)[rows] = getattr(part, item.name)


class Tail(NamedTuple):
    """Where the ends of an interval lie among the ordered resamples."""

    place: float
    last: int

    @classmethod
    def of(cls, options: Options, n: int) -> Tail:
        tail = tail_of(options.alpha, options.alternative)
        if options.interval == "expanded":
            tail = expanded_tail(tail, n)
        return cls((options.n_resamples - 1) * tail, options.n_resamples - 1)

    @property
    def ranks(self) -> tuple[int, int, int, int]:
        near = math.floor(self.place)
        far = min(near + 1, self.last)
        return near, far, self.last - far, self.last - near

    def between(self, near: Floats, far: Floats) -> Floats:
        return near + (far - near) * (self.place % 1.0)


def sampled_statistics(batch: Batch, options: Options) -> Job[RowStatistics]:
    """Flip and resample every row, on independent streams of one seed.

    All rows are flipped by the same signs, those of a single sample; rows with as many measured queries draw
    the same of their measured queries, as a single sample of these does.
    """
    found = RowStatistics.empty(batch.n_queries, "monte-carlo")
    places: list[Counts] = []
    parts: list[Any] = []
    for first, slab in slabs(batch, options.n_resamples):
        for rows, summary in _summaries(slab, options):
            places.append(rows + first)
            parts.append(summary)
    arrived = yield tuple(parts)
    if not parts:
        return found
    host = np.concatenate(arrived, axis=0)
    rows = np.concatenate(places)
    columns = dict(zip(_SUMMARY, np.asarray(host, dtype=np.float64).T, strict=True))
    if columns["not_finite"].any():
        batch.require_finite()
    found.put(rows, _statistics(columns, batch.n_queries[rows], options))
    return found


def slabs(batch: Batch, n_resamples: int) -> Iterator[tuple[int, Batch]]:
    """Cut a batch into rows whose temporaries fit the memory budget, each with the number of its first."""
    n_rows, n = batch.shape
    row_bytes = _FLOAT_BYTES * (_COPIES * n + n_resamples)
    for rows in cut(range(n_rows), rows_within(row_bytes, n_rows, share=0.5)):
        yield rows.start, batch.within(rows)


def enough(n_queries: Any, options: Options) -> Any:
    """Whether there are enough queries for a test."""
    return n_queries >= max(options.min_queries, 2)


def _summaries(slab: Batch, options: Options) -> Iterator[tuple[Counts, Any]]:
    """Yield what the host has to know of some rows, shape (rows, len(_SUMMARY))."""
    backend = slab.backend
    xp = backend.xp
    filled, n_bad = slab.filled()
    sample = comparable_rows(filled, backend, slab.eps) if slab.shape[1] else None
    if sample is None:
        return
    extreme = flip_counts(
        sample, seed=options.seed, resamples=range(options.n_permutations), alternative=options.alternative
    )
    about = xp.stack([xp.astype(extreme, filled.dtype), n_bad], axis=-1)
    moments = compiled(row_moments, backend, static=("rounding",))
    for size, rows in slab.by_size():
        rows, values = slab.gathered(sample.values, rows, size)
        index = backend.asarray(rows, dtype=xp.int64)
        columns = [
            xp.take(sample.factor, index, axis=0)[:, None],
            moments(values, rounding=ROUNDING, n=size if backend.name == "jax" else None),
            _ends(values, size, options),
            xp.take(about, index, axis=0),
        ]
        yield rows, xp.concat(columns, axis=-1)


def _ends(values: Any, size: int, options: Options) -> Any:
    backend = backend_of(values)
    if not enough(size, options):
        shape = (values.shape[0], len(_ENDS))
        return backend.xp.zeros(shape, dtype=values.dtype, device=backend.device)
    ranks = Tail.of(options, size).ranks
    return resampled_ends(values, size, seed=options.seed, n_resamples=options.n_resamples, ranks=ranks)


def _statistics(columns: dict[str, Floats], n: Counts, options: Options) -> RowStatistics:
    """Turn sums of rescaled differences into means, and counts into p-values."""
    tested = enough(n, options)
    factor, smallest, largest = columns["factor"], columns["smallest"], columns["largest"]

    def mean(total: Floats) -> Floats:
        # Rounding must not carry a mean past the values it averages, nor leave a negative zero.
        found = np.minimum(np.maximum(total / (n * factor), smallest / factor), largest / factor)
        return np.asarray(found + 0.0)

    low, high = _interval(columns, n, options)
    p = (columns["extreme"] + 1.0) / (options.n_permutations + 1)
    wins, losses = columns["wins"].astype(np.int64), columns["losses"].astype(np.int64)
    lacking = np.where(tested, 0.0, math.nan)
    return RowStatistics(
        delta=mean(columns["total"]),
        ci_low=mean(low) + lacking if options.alternative != "less" else lacking - math.inf,
        ci_high=mean(high) + lacking if options.alternative != "greater" else lacking + math.inf,
        p_value=p + lacking,
        p_error=np.sqrt(p * (1.0 - p) / options.n_permutations) + lacking,
        # NumPy's logarithm differs from that of a single test in the last bit.
        log10_p=np.array([math.log10(one) for one in p.tolist()]) + lacking,
        n_queries=n,
        effect=_effect(columns, n) + lacking,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        method=np.full(len(n), "monte-carlo", dtype=object),
        n_resamples=np.where(tested, options.n_resamples, 0),
        n_permutations=np.where(tested, options.n_permutations, 0),
    )


def _interval(columns: dict[str, Floats], n: Counts, options: Options) -> tuple[Floats, Floats]:
    """Interpolate both ends from outside, so that swapping the runs negates the interval."""
    low, high = np.zeros(len(n)), np.zeros(len(n))
    for size in np.unique(n[enough(n, options)]).tolist():
        rows, tail = n == size, Tail.of(options, size)
        low[rows] = tail.between(columns["near_low"][rows], columns["low"][rows])
        high[rows] = tail.between(columns["near_high"][rows], columns["high"][rows])
    return low, high


def _effect(columns: dict[str, Floats], n: Counts) -> Floats:
    """Return the mean over the standard deviation; NaN without spread."""
    size = np.maximum(-columns["smallest"], columns["largest"])
    spread = columns["largest"] - columns["smallest"] > ROUNDING * size
    with np.errstate(invalid="ignore", divide="ignore"):
        sd = np.sqrt(columns["squares"] / (n - 1))
        return np.where(spread & (n > 1), columns["total"] / n / sd, math.nan)
