"""Intervals of the ratios of many samples' totals to one sample's sizes: each as if it were alone."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.arrays.threads import for_each, n_cores
from ranklens.stats.exact.steps import known_multiples
from ranklens.stats.ideal.law import lattice_ratio_law, listed_law
from ranklens.stats.ideal.listed import LISTED
from ranklens.stats.ideal.ratio import RatioLaw, Sizes, UncertainLawError
from ranklens.stats.ideal.smooth_ratio import smooth_ratio_ends
from ranklens.stats.interval_levels import bca_tails, bias_of, expanded_tail, jackknife_acceleration
from ranklens.stats.resampled import common_ratio

Floats = NDArray[np.float64]

_FINEST = round(1.0 / sys.float_info.epsilon)


class Law(Protocol):
    """A distribution of resampled ratios."""

    def lower(self, tail: float) -> float:
        """Return the smallest ratio at or below which a share `tail` lies."""

    def upper(self, tail: float) -> float:
        """Return the largest ratio at or above which a share `tail` lies."""

    def share_below(self, ratio: float) -> float:
        """Return the probability of a smaller ratio, and half that of an equal one."""


class RatioLevels(NamedTuple):
    """At which levels of its law the interval of a ratio to `sizes` (n,) ends: a kind, and what is beyond."""

    sizes: Floats
    kind: str
    tail: float

    def of(self, totals: Floats, shares_below: Callable[[], Floats]) -> tuple[Floats, Floats]:
        """Return the shares beyond both ends, shape (rows,), of rows of totals (rows, n).

        `shares_below` gives the share of resampled ratios below that of each row, and half of those equal.
        """
        if self.kind != "bca":
            tail = expanded_tail(self.tail, len(self.sizes)) if self.kind == "expanded" else self.tail
            even = np.full(len(totals), tail)
            return even, even
        tails = [
            bca_tails(self.tail, bias_of(share, _FINEST), jackknife_acceleration(row, self.sizes))
            for share, row in zip(shares_below().tolist(), totals, strict=True)
        ]
        below, above = np.array(tails, dtype=np.float64).reshape(-1, 2).T
        return below, above


def ratio_intervals(
    totals: Floats, sizes: Floats, kind: str, tail: float, eps: float, backend: Backend
) -> tuple[Floats, Floats]:
    """Return both ends of the intervals of Σ totals / Σ sizes, shape (rows,); NaN where the law is uncertain.

    How a row's law is computed depends on that row alone, as for `mean_intervals`: of up to 8 units all
    resamples are listed, whole numbers of steps have an exact law, smooth laws are inverted, and what is left
    takes the laws of residuals on grids, some rows at a time.

    Parameters
    ----------
    totals : numpy.ndarray of float64, shape (rows, n)
    sizes : numpy.ndarray of float64, shape (n,)
        Positive, and not all equal.
    kind, tail, eps, backend
        As for `ideal_interval`.
    """
    ends = np.full((len(totals), 2), math.nan)
    levels = RatioLevels(sizes, kind, tail)
    for i, row in enumerate(totals):
        constant = common_ratio(row, sizes)
        ends[i] = math.nan if constant is None else constant
    if len(sizes) <= LISTED:
        _put_laws(ends, totals, levels, lambda row: listed_law(row, sizes))
    elif known_multiples(sizes, eps) is not None:
        _put_laws(ends, totals, levels, lambda row: lattice_ratio_law(row, sizes, eps, backend))
    rest = _open_rows(ends)
    ends[rest] = np.stack(smooth_ratio_ends(totals[rest], sizes, levels.of), axis=1)
    if _open_rows(ends).size:
        shared = Sizes.of(sizes)
        _put_laws(ends, totals, levels, lambda row: RatioLaw(row, sizes, shared))
    low, high = ends.T + 0.0
    return low, high


def _open_rows(ends: Floats) -> NDArray[np.int64]:
    return np.flatnonzero(np.isnan(ends).any(axis=1))


def _put_laws(
    ends: Floats, totals: Floats, levels: RatioLevels, law_of: Callable[[Floats], Law | None]
) -> None:
    """Write down the ends of the rows that have none yet, where there is such a law and it is certain."""

    def share_below_own(law: Law, row: Floats) -> Floats:
        return np.array([law.share_below(math.fsum(row.tolist()) / math.fsum(levels.sizes.tolist()))])

    def compute(i: int) -> None:
        law, row = law_of(totals[i]), totals[i : i + 1]
        if law is not None:
            with contextlib.suppress(UncertainLawError):
                (below,), (above,) = levels.of(row, lambda: share_below_own(law, totals[i]))
                low, high = law.lower(float(below)), law.upper(float(above))
                if isinstance(law, RatioLaw):
                    law.check(high - low)
                ends[i] = low, high

    for_each(compute, _open_rows(ends).tolist(), n_threads=n_cores())
