"""What describes many pairs of runs without a test: means, counts, effects; each as for one pair."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut
from ranklens.arrays.host_batch import count_true
from ranklens.stats.moments import ROUNDING
from ranklens.stats.panel import Panel
from ranklens.stats.rows.sums import exact_sums

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]

# As many are described at a time as stay in the cache.
_VALUES_AT_ONCE = 1 << 15


@dataclass(frozen=True, slots=True)
class PairedRows:
    """Values of A and B and their differences, zeros where not both are measured; shapes (rows, queries).

    `mask` says where both are; `size` (rows,) is the largest of the values. The counts have shape (rows,).
    """

    a: Floats
    b: Floats
    deltas: Floats
    mask: Mask
    size: Floats
    n: Counts
    n_only_a: Counts
    n_only_b: Counts
    wins: Counts
    losses: Counts

    @classmethod
    def of(cls, panel: Panel, jobs: Sequence[tuple[int, int, int]]) -> PairedRows:
        """Gather the rows of jobs (measure, run A, run B)."""
        measure, run_a, run_b = np.array(jobs, dtype=np.int64).T
        in_a, in_b = panel.measured[run_a, measure], panel.measured[run_b, measure]
        mask = in_a & in_b
        a, b = panel.values[run_a, measure], panel.values[run_b, measure]
        if not mask.all():
            a, b = np.where(mask, a, 0.0), np.where(mask, b, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            deltas = b - a
        n, n_in_a, n_in_b = count_true(mask), count_true(in_a), count_true(in_b)
        size = np.maximum(largest_of(a), largest_of(b))
        wins, losses = wins_and_losses(deltas, size)
        return cls(a, b, deltas, mask, size, n, n_in_a - n, n_in_b - n, wins, losses)

    def counts(self) -> dict[str, list[int]]:
        """Return what `ComparisonResult` says of each row in numbers of queries."""
        columns = {
            "n_queries": self.n,
            "n_only_a": self.n_only_a,
            "n_only_b": self.n_only_b,
            "wins": self.wins,
            "ties": self.n - self.wins - self.losses,
            "losses": self.losses,
        }
        return {name: column.tolist() for name, column in columns.items()}

    def moments(self) -> Moments:
        """Return the mean difference, the effect and the standard error of each row."""
        found = Moments(*np.full((3, len(self.n)), math.nan))
        for part in rows_in_cache(len(self.n), self.mask.shape[1]):
            rows = np.arange(part.start, part.stop)[self.n[part.start : part.stop] > 0]
            mask = self.mask[rows]
            own = moments_of(self.deltas[rows], self.size[rows], None if mask.all() else mask)
            for column, values in zip(found, own, strict=True):
                column[rows] = values
        return found


class Moments(NamedTuple):
    """The mean, the effect (mean over standard deviation) and the mean's standard error of each row."""

    mean: Floats
    effect: Floats
    se: Floats


def rows_in_cache(n_rows: int, n: int) -> Iterator[range]:
    """Cut rows of n values into as many at a time as stay in the cache."""
    return cut(range(n_rows), max(1, _VALUES_AT_ONCE // max(1, n)))


def wins_and_losses(deltas: Floats, size: Floats) -> tuple[Counts, Counts]:
    """Count the differences of each row above and below zero, as `ranklens.stats.moments.outcomes` does.

    `size` (rows,) is the largest of the values that were subtracted.
    """
    band = (ROUNDING * np.maximum(size, largest_of(deltas)))[:, None]
    return count_true(deltas > band), count_true(deltas < -band)


def largest_of(values: Floats) -> Floats:
    """Return the largest absolute value of each row; 0 of no values."""
    return np.asarray(np.maximum(values.max(axis=1, initial=0.0), -values.min(axis=1, initial=0.0)))


def moments_of(deltas: Floats, size: Floats, mask: Mask | None = None) -> Moments:
    """Return the moments of rows with values; no effect without spread, and neither it nor the error of one.

    `size` (rows,) is the largest of the values that were subtracted. Where `mask` is False, `deltas` are zero
    and do not count. The sums are rounded once.
    """
    n = deltas.shape[1] if mask is None else np.count_nonzero(mask, axis=1)
    scale = scales(largest_of(deltas))
    scaled = deltas / scale[:, None]
    inside = True if mask is None else mask
    highest = scaled.max(axis=1, initial=-math.inf, where=inside)
    lowest = scaled.min(axis=1, initial=math.inf, where=inside)
    reach = np.maximum(np.maximum(highest, -lowest), size / scale)
    flat: Mask = highest - lowest <= ROUNDING * reach
    means = exact_sums(scaled) / n
    centred = scaled - means[:, None]
    if mask is not None:
        centred[~mask] = 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        sd = np.where(flat & (n > 1), 0.0, np.sqrt(exact_sums(centred * centred) / (n - 1)))
        effect = np.asarray(np.where(flat, math.nan, means / sd))
    return Moments(np.asarray(means * scale + 0.0), effect, np.asarray(sd * scale / np.sqrt(n)))


def means_of(values: Floats, n: Counts | None = None) -> Floats:
    """Return the mean of each row by an exactly rounded sum, as `ranklens.stats.moments.mean` does.

    With `n` (rows,) given, so many values of a row count, and the others are zero.
    """
    scale = scales(largest_of(values))
    count = values.shape[1] if n is None else n
    return np.asarray(exact_sums(values / scale[:, None]) / count * scale + 0.0)


def scales(largest: Floats) -> Floats:
    """Return a power of two above each value, so that dividing by it and multiplying again are exact."""
    exponent = np.clip(np.frexp(largest)[1], -1021, 1023)
    return np.where(largest > 0.0, np.ldexp(1.0, exponent), 1.0)
