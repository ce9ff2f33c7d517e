"""Means, effects, standard errors and paired t-tests of groups of rows, each as `compare` has them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import open_backend
from ranklens.stats.beside import DIFFERENT, signed_ranks
from ranklens.stats.design import Hypothesis
from ranklens.stats.exact.p_values import exact_p_values
from ranklens.stats.lattice import EPS
from ranklens.stats.moments import ROUNDING
from ranklens.stats.options import Options
from ranklens.stats.ratio import effect_of, mean_of, standard_error
from ranklens.stats.reference import Reference
from ranklens.stats.rows.descriptions import (
    Moments,
    largest_of,
    means_of,
    moments_of,
    rows_in_cache,
    scales,
)
from ranklens.stats.rows.design_units import Group
from ranklens.stats.rows.jobs import together
from ranklens.stats.rows.sums import exact_sums
from ranklens.stats.units import Units

Floats = NDArray[np.float64]


def group_means(group: Group, values: Floats) -> Floats:
    """Return the mean of each row, from (k, n_queries) to (k,); NaN for rows without a unit."""
    if not group.n:
        return np.full(len(values), math.nan)
    if group.units is None:
        return means_of(group.measured(values))
    if group.exponents(values) is not None:
        return np.array([mean_of(row, group.units) for row in group.measured(values)])
    totals = group.totals(values, open_backend("numpy"))
    return np.asarray(exact_sums(totals) / math.fsum(group.sizes.tolist()) + 0.0)


def group_moments(group: Group, deltas: Floats, size: Floats) -> Moments:
    """Return the mean, the effect and the standard error of each row of deltas (k, n_queries).

    NaN stands for the mean of no unit, the error of one, and an effect without spread. `size` (k,) is the
    largest of the values that were subtracted.
    """
    found = Moments(*np.full((3, len(deltas)), math.nan))
    if not group.n:
        return found
    weight = math.fsum(group.sizes.tolist())
    for part in rows_in_cache(*deltas.shape):
        some = slice(part.start, part.stop)
        own = _moments(group.part(some), deltas[some], size[some], weight)
        for column, values in zip(found, own, strict=True):
            column[some] = values
    return found


def _moments(group: Group, deltas: Floats, size: Floats, weight: float) -> Moments:
    own, units = group.measured(deltas), group.units
    if units is None:
        return moments_of(own, size)
    effect = None if units.is_weighted else moments_of(own, size).effect
    if group.exponents(np.maximum(largest_of(deltas), size)[:, None]) is not None:
        rows = [*zip(own, size.tolist(), strict=True)]
        means = np.array([mean_of(row, units) for row in own])
        errors = np.array([standard_error(row, units, size=at) for row, at in rows], dtype=np.float64)
        if effect is None:
            effect = np.array([effect_of(row, units, size=at) for row, at in rows], dtype=np.float64)
        return Moments(means, effect, errors)
    totals = group.totals(deltas, open_backend("numpy"))
    means = np.asarray(exact_sums(totals) / weight + 0.0)
    if effect is None:
        effect = _weighted_effects(own, size, means, units)
    if group.n < 2:
        return Moments(means, effect, np.full(len(means), math.nan))
    # The residuals have mean 0, so that their spread is their size.
    sd = spreads(totals - means[:, None] * group.sizes, np.maximum(largest_of(own), size) * group.sizes.max())
    return Moments(means, effect, sd / weight * math.sqrt(group.n))


def _weighted_effects(own: Floats, size: Floats, means: Floats, units: Units) -> Floats:
    counted = np.flatnonzero(units.place >= 0)
    weights, kept = units.weights[counted], own[:, counted]
    effects, n = np.full(len(kept), math.nan), len(counted)
    if n < 2:
        return effects
    varied = np.flatnonzero(~_is_flat(kept, size))
    centre = means[varied]
    away = kept[varied] - centre[:, None]
    scale = largest_of(away)
    squares = exact_sums(weights * (away / scale[:, None]) ** 2) / math.fsum(weights.tolist())
    effects[varied] = centre / (scale * np.sqrt(squares * n / (n - 1)))
    return effects


def _is_flat(values: Floats, size: Floats) -> NDArray[np.bool_]:
    """Whether the values of each row differ by rounding alone, relative to the largest and to `size`."""
    reach = np.maximum(largest_of(values), size)
    return np.asarray(values.max(axis=1) - values.min(axis=1) <= ROUNDING * reach)


def spreads(values: Floats, size: Floats) -> Floats:
    """Return `ranklens.stats.moments.spread` of each row (k, n), for sizes (k,)."""
    scale = scales(largest_of(values))
    scaled, n = values / scale[:, None], values.shape[1]
    flat = _is_flat(scaled, size / scale)
    centred = scaled - (exact_sums(scaled) / n)[:, None]
    sd = np.sqrt(exact_sums(centred * centred) / (n - 1)) * scale
    return np.asarray(np.where(flat, 0.0, sd))


def group_beside(
    group: Group, deltas: Floats, size: Floats, means: Floats, errors: Floats, options: Options
) -> dict[str, list[float | None]]:
    """Return ``p_t`` and ``p_wilcoxon`` of each row where asked for, as `beside_p_values` does."""
    hypotheses = options.design.hypotheses(options.alternative)
    found: dict[str, list[float | None]] = {}
    if "t" in options.beside:
        each = [t_p_values(group.n - 1, means, errors, size, asked) for asked in hypotheses]
        found["p_t"] = np.max(np.stack(each), axis=0).tolist()
    if "wilcoxon" in options.beside:
        found["p_wilcoxon"] = [None] * len(deltas)
        if group.units is None:
            own = group.measured(deltas)
            each = [wilcoxon_p_values(own, size, asked) for asked in hypotheses]
            found["p_wilcoxon"] = np.max(np.stack(each), axis=0).tolist()
    return found


def t_p_values(df: int, means: Floats, errors: Floats, size: Floats, asked: Hypothesis = DIFFERENT) -> Floats:
    """Return the p-values of paired t-tests of rows with as many units, as `t_p_value` does of one.

    Examples
    --------
    >>> means, errors = np.array([3.0, 0.0]), np.array([0.9128709291752769, 0.0])
    >>> t_p_values(3, means, errors, np.zeros(2)).round(6).tolist()
    [0.046205, 1.0]
    """
    away = means + asked.shift
    signed = {"two-sided": np.abs(away), "greater": away, "less": -away}[asked.alternative]
    without = np.where(signed > ROUNDING * np.maximum(size, abs(asked.shift)), 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        above = Reference(df).above_all(signed / errors)
    p = np.minimum(1.0, 2.0 * above) if asked.alternative == "two-sided" else above
    return np.asarray(np.where(errors == 0.0, without, p))


def wilcoxon_p_values(deltas: Floats, size: Floats, asked: Hypothesis = DIFFERENT) -> Floats:
    """Return the p-values of Wilcoxon's signed-rank test of rows (k, n), as `wilcoxon_p_value` does of one.

    Examples
    --------
    >>> wilcoxon_p_values(np.array([[1.0, 2.0, -3.0, 4.0, 5.0]]), np.zeros(1)).tolist()
    [0.3125]
    """
    rows = zip(deltas, size.tolist(), strict=True)
    ranks = np.stack([signed_ranks(row, asked.shift, size=at) for row, at in rows])
    (found,) = together([exact_p_values(ranks, EPS, asked.alternative, open_backend("numpy"))])
    return np.asarray(found.p_value)
