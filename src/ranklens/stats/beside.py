"""The classical paired tests, for readers who ask for them beside the sign-flip test."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.design import Hypothesis
from ranklens.stats.exact.p_value import exact_p_value
from ranklens.stats.moments import ROUNDING
from ranklens.stats.options import Options
from ranklens.stats.ratio import mean_of, standard_error
from ranklens.stats.reference import Reference
from ranklens.stats.units import Units

Floats = NDArray[np.float64]

DIFFERENT = Hypothesis(0.0, "two-sided")
"""That the mean difference is not zero."""


def beside_p_values(
    names: Sequence[str], deltas: Floats, units: Units | None, options: Options, *, size: float = 0.0
) -> dict[str, float | None]:
    """Return ``p_t`` and ``p_wilcoxon`` where asked for, of the same hypotheses as the sign-flip test.

    `size` is the largest of the values that were subtracted: their rounding is relative to it.
    """
    hypotheses = options.design.hypotheses(options.alternative)
    found: dict[str, float | None] = {}
    if "t" in names:
        found["p_t"] = max(t_p_value(deltas, units, asked, size=size) for asked in hypotheses)
    if "wilcoxon" in names and units is None:
        found["p_wilcoxon"] = max(wilcoxon_p_value(deltas, asked, size=size) for asked in hypotheses)
    return found


def t_p_value(
    deltas: Floats,
    units: Units | None,
    asked: Hypothesis = DIFFERENT,
    *,
    size: float = 0.0,
) -> float:
    """Return the p-value of the paired t-test, (mean + shift) / se on n - 1 degrees of freedom.

    With weights or clusters the mean is a ratio and se its linearised standard error over n units. Without
    any spread p is 1 for a mean that is not on the side asked for, else 0.

    Examples
    --------
    >>> round(t_p_value(np.array([1.0, 2.0, 4.0, 5.0]), None), 6)
    0.046205
    """
    error = standard_error(deltas, units, size=size)
    away = mean_of(deltas, units) + asked.shift
    signed = {"two-sided": abs(away), "greater": away, "less": -away}[asked.alternative]
    if not error:
        return 0.0 if signed > ROUNDING * max(size, abs(asked.shift)) else 1.0
    student = Reference((len(deltas) if units is None else units.n) - 1)
    return (
        student.two_sided(away / error) if asked.alternative == "two-sided" else student.above(signed / error)
    )


def wilcoxon_p_value(deltas: Floats, asked: Hypothesis = DIFFERENT, *, size: float = 0.0) -> float:
    """Return the p-value of Wilcoxon's signed-rank test over all sign assignments of the ranks at hand.

    Zero differences are dropped (Wilcoxon's own way), and equal ones share the mean of their ranks. This is
    the sign-flip test of the signed ranks, so that ties need no approximation.

    Examples
    --------
    >>> wilcoxon_p_value(np.array([1.0, 2.0, -3.0, 4.0, 5.0]))
    0.3125
    """
    ranks = signed_ranks(deltas, asked.shift, size=size)
    return exact_p_value(ranks, asked.alternative).p_value if ranks.any() else 1.0


def signed_ranks(deltas: Floats, shift: float = 0.0, *, size: float = 0.0) -> Floats:
    """Return twice the rank of each of deltas + shift by size, with its sign; 0 for what is rounding alone.

    Examples
    --------
    >>> signed_ranks(np.array([0.5, -0.25, 0.0, 0.25])).tolist()
    [6.0, -3.0, 0.0, 3.0]
    """
    shifted = deltas + shift
    band = ROUNDING * max(size, abs(shift), float(np.abs(deltas).max()))
    kept = np.flatnonzero(np.abs(shifted) > band)
    ranks = np.zeros(len(deltas))
    ranks[kept] = np.sign(shifted[kept]) * _twice_the_ranks(np.abs(shifted[kept]), band)
    return ranks


def _twice_the_ranks(magnitudes: Floats, band: float) -> Floats:
    """Rank from 1, equal ones by twice the mean of their ranks, which is a whole number."""
    order = np.argsort(magnitudes, kind="stable")
    starts = np.flatnonzero(np.diff(magnitudes[order], prepend=-math.inf) > band)
    counts = np.diff(starts, append=len(order))
    ranks = np.empty(len(order))
    ranks[order] = np.repeat(2.0 * starts + counts + 1.0, counts)
    return ranks
