"""What describes many pairs of runs without a test: means, counts, effects; each as for one pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
        band = (ROUNDING * np.maximum(size, largest_of(deltas)))[:, None]
        wins, losses = count_true(deltas > band), count_true(deltas < -band)
        return cls(a, b, deltas, mask, size, n, n_in_a - n, n_in_b - n, wins, losses)

    @property
    def ties(self) -> Counts:
        """How many queries neither run wins."""
        return np.asarray(self.n - self.wins - self.losses)

    def moments(self) -> Moments:
        """Return the effect and the standard error of each row."""
        effect, se = np.full((2, len(self.n)), math.nan)
        some = np.flatnonzero(self.n >= 2)
        for part in cut(range(some.size), max(1, _VALUES_AT_ONCE // max(1, self.mask.shape[1]))):
            rows = some[part.start : part.stop]
            mask = self.mask[rows]
            effect[rows], se[rows] = moments_of(
                self.deltas[rows], self.size[rows], None if mask.all() else mask
            )
        return Moments(effect, se)


class Moments(NamedTuple):
    """The effect and the standard error of each row; NaN for what it lacks."""

    effect: Floats
    se: Floats


def largest_of(values: Floats) -> Floats:
    """Return the largest absolute value of each row; 0 of no values."""
    return np.asarray(np.maximum(values.max(axis=1, initial=0.0), -values.min(axis=1, initial=0.0)))


def moments_of(deltas: Floats, size: Floats, mask: Mask | None = None) -> Moments:
    """Return mean over standard deviation (NaN without spread), and the standard error of the mean.

    `size` (rows,) is the largest of the values that were subtracted. Where `mask` is False, `deltas` are zero
    and do not count; at least two of each row do. The sums are rounded once.
    """
    n = deltas.shape[1] if mask is None else np.count_nonzero(mask, axis=1)
    scale = _scales(largest_of(deltas))
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
    sd = np.where(flat, 0.0, np.sqrt(exact_sums(centred * centred) / (n - 1)))
    with np.errstate(invalid="ignore", divide="ignore"):
        effect = np.asarray(np.where(flat, math.nan, means / sd))
    return Moments(effect, np.asarray(sd * scale / np.sqrt(n)))


def means_of(values: Floats, n: Counts | None = None) -> Floats:
    """Return the mean of each row by an exactly rounded sum, as `ranklens.stats.moments.mean` does.

    With `n` (rows,) given, so many values of a row count, and the others are zero.
    """
    scale = _scales(largest_of(values))
    count = values.shape[1] if n is None else n
    return np.asarray(exact_sums(values / scale[:, None]) / count * scale + 0.0)


def _scales(largest: Floats) -> Floats:
    """Return a power of two above each value, so that dividing by it and multiplying again are exact."""
    exponent = np.clip(np.frexp(largest)[1], -1021, 1023)
    return np.where(largest > 0.0, np.ldexp(1.0, exponent), 1.0)
