"""The law of a resampled ratio of sums, by the laws of sums of residuals."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.ideal.heavy import HeavyUnits
from ranklens.stats.ideal.law import grid_error, grid_share

Floats = NDArray[np.float64]

_NORMAL = NormalDist()
_CELLS = 128
_MOST_HALVINGS = 48
_GUESSES = 6
_LEAST_SHARE = 1e-15
_CHECKING_GRIDS = 1 << 15, 1 << 17, 1 << 19
_HEAVY_GRIDS = 1 << 13, 1 << 15, 1 << 17
_FAR = 0.25
_OF_ERROR, _OF_WIDTH, _OF_HEAVY_WIDTH = 0.02, 0.1, 0.005
_SAME_SCORE = 0.02


class UncertainLawError(ValueError):
    """The law of a ratio cannot be computed well enough: a few units carry most of the weight."""

    def __init__(self) -> None:
        super().__init__(
            "the exact interval cannot be computed for weights (or clusters) as uneven as these: a few units "
            'carry nearly all of the spread; use method="monte-carlo", or "auto", which samples here'
        )


class Sizes(NamedTuple):
    """The sizes of units times 2^-`unit`, their total, and which of them are heavy: the same for all rows."""

    values: Floats
    unit: int
    total: float
    heavy: HeavyUnits | None

    @classmethod
    def of(cls, sizes: Floats) -> Sizes:
        """Bring the largest into [0.5, 1): ratios stay, and no square leaves the range of numbers."""
        unit = math.frexp(float(sizes.max()))[1]
        values = np.ldexp(sizes, -unit)
        return cls(values, unit, math.fsum(values.tolist()), HeavyUnits.of(values))


class RatioLaw:
    """The law of a resampled ratio X / Y of sums of `totals` and positive `sizes`, both of shape (n,).

    X / Y lies at or below t exactly where the sum of draws from ``totals - t · sizes`` is not positive, whose
    law is that of a mean. Units that outweigh the others are set aside, and their draws listed. Quantiles are
    found by halving one fixed bracket: a larger share then never has a smaller quantile, whatever the
    rounding. `shared` is `Sizes.of(sizes)`, where it is known.
    """

    def __init__(self, totals: Floats, sizes: Floats, shared: Sizes | None = None) -> None:
        each = totals / sizes
        self._lowest, self._highest = float(each.min()), float(each.max())
        sizes, unit, total_size, self._heavy = Sizes.of(sizes) if shared is None else shared
        totals, n = np.ldexp(totals, -unit), len(totals)
        self._totals, self._sizes = totals, sizes
        self._grids = _CHECKING_GRIDS if self._heavy is None else _HEAVY_GRIDS
        self._ratio = math.fsum(totals.tolist()) / total_size
        self._error = math.sqrt(float(np.sum((totals - self._ratio * sizes) ** 2)) * n / (n - 1)) / total_size
        self._only_lowest = float(np.mean(each == self._lowest)) ** n
        self._only_highest = float(np.mean(each == self._highest)) ** n
        self._shares: dict[float, float] = {}
        self._found: list[tuple[float, float]] = []

    def share_below(self, ratio: float) -> float:
        """Return the probability of a smaller ratio and half that of an equal one, by a finer grid."""
        rough, fine = self._share(ratio), self._share_by(self._residuals(ratio), 0.0, self._grids[1])
        if abs(_score(rough) - _score(fine)) > _SAME_SCORE:
            raise UncertainLawError
        return fine

    def lower(self, tail: float) -> float:
        """Return the ratio at or below which a share `tail` lies."""
        return self._quantile(tail)

    def upper(self, tail: float) -> float:
        """Return the ratio above which a share `tail` lies."""
        return self._quantile(1.0 - tail)

    def check(self, width: float) -> None:
        """Raise UncertainLawError unless the quantiles found are right to 2 % of the standard error.

        And to a tenth of the interval's `width`. Where no unit stands out the law is smooth, and rounding
        does not matter. Where heavy units are set aside half a percent of the width is enough: the standard
        error says little of a mean that one unit decides in most resamples, and others in the rest.
        """
        residuals = self._totals - self._ratio * self._sizes
        far = float(np.abs(residuals).max())
        if self._heavy is None and far <= _FAR * float(np.std(residuals)) * math.sqrt(len(residuals)):
            return
        error = _OF_ERROR * self._error
        if self._heavy is not None:
            error = max(error, _OF_HEAVY_WIDTH * width)
        slack = min(error, _OF_WIDTH * width)
        for level, at in self._found:
            if at > self._lowest and not self._lies_beyond(at, level, slack):
                raise UncertainLawError
            if at < self._highest and not self._lies_beyond(at, level, -slack):
                raise UncertainLawError

    def _lies_beyond(self, ratio: float, level: float, slack: float) -> bool:
        """Whether the `level` quantile surely lies above ``ratio - slack``; below it for a negative slack."""
        residuals, side = self._residuals(ratio - slack), math.copysign(1.0, slack)
        for length in self._grids:
            error = self._error_of(residuals, length)
            # What a short grid cannot show a longer one may.
            if length < self._grids[-1] and error >= abs(slack) * float(np.mean(self._sizes)):
                continue
            share = self._share_by(residuals, side * error, length)
            if side * share <= side * level:
                return True
        return False

    def _quantile(self, level: float) -> float:
        found = self._searched(level)
        self._found.append((level, found))
        return found

    def _searched(self, level: float) -> float:
        if level <= self._only_lowest:
            return self._lowest
        if level > 1.0 - self._only_highest:
            return self._highest
        below, above = self._cell(level)
        first, last, wanted = _score(self._share(below)), _score(self._share(above)), _score(level)
        part = min(max((wanted - first) / (last - first), 0.0), 1.0) if last > first else 0.5
        return min(below + (above - below) * part, above)

    def _cell(self, level: float) -> tuple[float, float]:
        """Return the ends of the last cell of the halving, whose shares enclose `level`.

        It is looked for where the normal law expects it, a few times, and then by halving.
        """
        width = self._highest - self._lowest
        halvings = min(math.ceil(math.log2(max(width / self._error * _CELLS, 1.0))), _MOST_HALVINGS)
        cells_an_error = self._error / width * 2**halvings
        first, last, wanted = 0, 1 << halvings, _score(level)
        place = (self._ratio - self._lowest) / width * 2**halvings + wanted * cells_an_error
        guesses = itertools.chain([True] * _GUESSES, itertools.repeat(False))
        while last - first > 1:
            cell = min(max(round(place), first + 1), last - 1) if next(guesses) else (first + last) // 2
            share = self._share(self._edge(cell, halvings))
            first, last = (first, cell) if share >= level else (cell, last)
            place = cell + (wanted - _score(share)) * cells_an_error
        return self._edge(first, halvings), self._edge(last, halvings)

    def _edge(self, cell: int, halvings: int) -> float:
        """Return where a cell of so many halvings begins, by halving."""
        below, above = self._lowest, self._highest
        if cell >> halvings:
            return above
        for bit in reversed(range(halvings)):
            middle = below + (above - below) / 2.0
            below, above = (middle, above) if cell >> bit & 1 else (below, middle)
        return below

    def _share(self, ratio: float) -> float:
        if ratio not in self._shares:
            residuals = self._residuals(ratio)
            # All residuals may be equal, and the sum certain.
            self._shares[ratio] = (
                (1.0 - math.copysign(float(residuals[0] != 0.0), residuals[0])) / 2.0
                if np.ptp(residuals) == 0.0
                else self._share_by(residuals, 0.0)
            )
        return self._shares[ratio]

    def _share_by(self, residuals: Floats, mean: float, length: int | None = None) -> float:
        by = grid_share if self._heavy is None else self._heavy.share
        return by(residuals, mean, length)

    def _error_of(self, residuals: Floats, length: int) -> float:
        of = grid_error if self._heavy is None else self._heavy.error
        return of(residuals, length)

    def _residuals(self, ratio: float) -> Floats:
        return np.asarray(self._totals - ratio * self._sizes)


def _score(share: float) -> float:
    return _NORMAL.inv_cdf(min(max(share, _LEAST_SHARE), 1.0 - _LEAST_SHARE))
