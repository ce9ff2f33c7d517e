"""Intervals of infinitely many resamples of many rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.stats.ideal.means import mean_intervals
from ranklens.stats.options import Options, tail_of
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.jobs import Job
from ranklens.stats.rows.statistics import RowStatistics

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def measured(host: Floats, batch: Batch, rows: Counts, size: int) -> Floats:
    """Return the measured values of rows that have `size` of them, shape (rows, size)."""
    places = batch.places(rows, size)
    return host[rows] if places is None else np.take_along_axis(host[rows], places, axis=1)


class _Group(NamedTuple):
    """Rows with as many measured queries, what these are, and the interval that is wanted of them."""

    places: Counts
    values: Floats
    kind: str
    tail: float
    eps: float


@dataclass(frozen=True, slots=True)
class IntervalRows:
    """The intervals of a batch, whose rows are grouped by their numbers of measured queries."""

    groups: list[_Group]

    @classmethod
    def of(cls, batch: Batch, host: Floats, options: Options) -> IntervalRows:
        """Take the rows of a batch; `host` holds all values, zeros where nothing is measured."""
        wanted = options.interval, tail_of(options.alpha, options.alternative), batch.eps
        sizes = batch.by_size()
        return cls([_Group(rows, measured(host, batch, rows, size), *wanted) for size, rows in sizes])

    def jobs(self, backend: Backend) -> list[Job[tuple[Floats, Floats]]]:
        """Return what makes the intervals of each group."""
        return [mean_intervals(*group[1:], backend) for group in self.groups]

    def put(
        self,
        found: RowStatistics,
        ends: Sequence[tuple[Floats, Floats]],
        batch: Batch,
        options: Options,
    ) -> None:
        """Write down what the jobs found."""
        for group, (low, high) in zip(self.groups, ends, strict=True):
            found.ci_low[group.places] = low if options.alternative != "less" else -math.inf
            found.ci_high[group.places] = high if options.alternative != "greater" else math.inf
