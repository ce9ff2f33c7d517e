"""What describes many pairs of runs without a test: means, counts, effects; each as for one pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.moments import ROUNDING, effect_size
from ranklens.stats.panel import Panel
from ranklens.stats.ratio import standard_error

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PairedRows:
    """Values of A and B and their differences, zeros where not both are measured; shapes (rows, queries)."""

    a: Floats
    b: Floats
    deltas: Floats
    mask: NDArray[np.bool_]
    n: Counts
    n_only_a: Counts
    n_only_b: Counts
    outcomes: tuple[Counts, Counts, Counts]

    @classmethod
    def of(cls, panel: Panel, jobs: Sequence[tuple[int, int, int]]) -> PairedRows:
        """Gather the rows of jobs (measure, run A, run B)."""
        measure, run_a, run_b = (np.array(column) for column in zip(*jobs, strict=True))
        in_a, in_b = panel.measured[run_a, measure], panel.measured[run_b, measure]
        mask = in_a & in_b
        a, b = panel.values[run_a, measure], panel.values[run_b, measure]
        if not mask.all():
            a, b = np.where(mask, a, 0.0), np.where(mask, b, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            deltas = b - a
        n = np.count_nonzero(mask, axis=1)
        only_a, only_b = np.count_nonzero(in_a, axis=1) - n, np.count_nonzero(in_b, axis=1) - n
        return cls(a, b, deltas, mask, n, only_a, only_b, _outcomes(a, b, deltas, n))

    def measured(self, i: int) -> tuple[Floats, Floats, Floats]:
        """Return the paired values of A and B, and their differences, in one row."""
        if self.n[i] == self.mask.shape[1]:
            return self.a[i], self.b[i], self.deltas[i]
        inside = self.mask[i]
        return self.a[i, inside], self.b[i, inside], self.deltas[i, inside]

    def counts(self, i: int) -> dict[str, int]:
        """Return what is counted in one row."""
        wins, ties, losses = self.outcomes
        return {
            "n_queries": int(self.n[i]),
            "n_only_a": int(self.n_only_a[i]),
            "n_only_b": int(self.n_only_b[i]),
            "wins": int(wins[i]),
            "ties": int(ties[i]),
            "losses": int(losses[i]),
        }


class Moments(NamedTuple):
    """The effect and the standard error of each row; NaN for what it lacks."""

    effect: Floats
    se: Floats

    @classmethod
    def of(cls, rows: PairedRows) -> Moments:
        """Compute both from exactly rounded sums of each row, elementwise work done for all rows at once."""
        n_rows, n = rows.deltas.shape
        effect, se = np.full(n_rows, math.nan), np.full(n_rows, math.nan)
        whole = np.flatnonzero((rows.n == n) & (n >= 2))
        if whole.size:
            deltas = rows.deltas if whole.size == n_rows else rows.deltas[whole]
            size = _size(rows)[whole]
            effect[whole], se[whole] = moments_of(deltas, size)
        for i in np.flatnonzero((rows.n < n) & (rows.n >= 2)).tolist():
            a, b, deltas = rows.measured(i)
            largest = float(max(np.abs(a).max(), np.abs(b).max()))
            own = effect_size(deltas, size=largest)
            effect[i] = math.nan if own is None else own
            se[i] = standard_error(deltas, size=largest)
        return cls(effect, se)

    def row(self, i: int) -> dict[str, Any]:
        """Return both as a result has them."""
        effect, se = float(self.effect[i]), float(self.se[i])
        return {"effect": None if math.isnan(effect) else effect, "se": None if math.isnan(se) else se}


def _size(rows: PairedRows) -> Floats:
    return np.asarray(np.maximum(np.abs(rows.a).max(axis=1), np.abs(rows.b).max(axis=1)))


def _outcomes(a: Floats, b: Floats, deltas: Floats, n: Counts) -> tuple[Counts, Counts, Counts]:
    if deltas.shape[1] == 0:
        return n, n, n
    size = np.maximum(np.abs(a).max(axis=1), np.abs(b).max(axis=1))
    band = (ROUNDING * np.maximum(size, np.abs(deltas).max(axis=1)))[:, None]
    wins, losses = np.count_nonzero(deltas > band, axis=1), np.count_nonzero(deltas < -band, axis=1)
    return wins, n - wins - losses, losses


def moments_of(deltas: Floats, size: Floats) -> tuple[Floats, Floats]:
    """Return mean over standard deviation (NaN without spread), and the standard error of the mean."""
    n = deltas.shape[1]
    largest = np.abs(deltas).max(axis=1)
    scale = _scales(largest)
    scaled = deltas / scale[:, None]
    reach = np.maximum(np.abs(scaled).max(axis=1), size / scale)
    flat: NDArray[np.bool_] = scaled.max(axis=1) - scaled.min(axis=1) <= ROUNDING * reach
    means = exact_sums(scaled) / n
    centred = scaled - means[:, None]
    sd = np.where(flat, 0.0, np.sqrt(exact_sums(centred * centred) / (n - 1)))
    with np.errstate(invalid="ignore", divide="ignore"):
        effect = np.asarray(np.where(flat, math.nan, means / sd))
    return effect, np.asarray(sd * scale / math.sqrt(n))


def means_of(values: Floats) -> Floats:
    """Return the mean of each row by an exactly rounded sum, as `ranklens.stats.moments.mean` does."""
    scale = _scales(np.abs(values).max(axis=1))
    return np.asarray(exact_sums(values / scale[:, None]) / values.shape[1] * scale + 0.0)


def _scales(largest: Floats) -> Floats:
    """Return a power of two above each value, so that dividing by it and multiplying again are exact."""
    exponent = np.clip(np.frexp(largest)[1], -1021, 1023)
    return np.where(largest > 0.0, np.ldexp(1.0, exponent), 1.0)


def exact_sums(values: Floats) -> Floats:
    """Return the exactly rounded sum of each row."""
    return np.array([math.fsum(row) for row in values.tolist()], dtype=np.float64)
