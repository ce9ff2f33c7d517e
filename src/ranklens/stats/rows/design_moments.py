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
from ranklens.stats.rows.descriptions import means_of, moments_of
from ranklens.stats.rows.design_units import Group
from ranklens.stats.rows.jobs import together
from ranklens.stats.rows.sums import exact_sums

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


def group_errors(group: Group, deltas: Floats, size: Floats) -> Floats:
    """Return the standard error of each row's mean; NaN with fewer than two units.

    `size` (k,) is the largest of the values that were subtracted.
    """
    if group.n < 2:
        return np.full(len(deltas), math.nan)
    own = group.measured(deltas)
    if group.units is None:
        return moments_of(own, size).se
    if group.exponents(np.maximum(np.abs(deltas), size[:, None])) is not None:
        found = [
            standard_error(row, group.units, size=at) for row, at in zip(own, size.tolist(), strict=True)
        ]
        return np.array(found, dtype=np.float64)
    weight = math.fsum(group.sizes.tolist())
    totals = group.totals(deltas, open_backend("numpy"))
    residuals = totals - (exact_sums(totals) / weight + 0.0)[:, None] * group.sizes
    largest = np.maximum(np.abs(own).max(axis=1, initial=0.0), size)
    # The residuals have mean 0, so that their spread is their size.
    return spreads(residuals, largest * float(group.sizes.max())) / weight * math.sqrt(group.n)


def group_effects(group: Group, deltas: Floats, size: Floats) -> Floats:
    """Return mean over standard deviation of each row's queries; NaN without spread."""
    own, units = group.measured(deltas), group.units
    if own.shape[1] < 2:
        return np.full(len(deltas), math.nan)
    if units is None or not units.is_weighted:
        return moments_of(own, size).effect
    if group.exponents(np.maximum(np.abs(deltas), size[:, None])) is not None:
        rows = zip(own, size.tolist(), strict=True)
        return np.array([effect_of(row, units, size=at) for row, at in rows], dtype=np.float64)
    counted = np.flatnonzero(units.place >= 0)
    weights, kept = units.weights[counted], own[:, counted]
    effects, n = np.full(len(kept), math.nan), len(counted)
    if n < 2:
        return effects
    spread = np.flatnonzero(spreads(kept, size) > 0.0)
    centre = group_means(group, deltas)[spread]
    away = kept[spread] - centre[:, None]
    scale = np.abs(away).max(axis=1)
    squares = exact_sums(weights * (away / scale[:, None]) ** 2) / math.fsum(weights.tolist())
    effects[spread] = centre / (scale * np.sqrt(squares * n / (n - 1)))
    return effects


def spreads(values: Floats, size: Floats) -> Floats:
    """Return `ranklens.stats.moments.spread` of each row (k, n), for sizes (k,)."""
    largest = np.abs(values).max(axis=1)
    exponent = np.clip(np.frexp(largest)[1], -1021, 1023)
    scale = np.where(largest > 0.0, np.ldexp(1.0, exponent), 1.0)
    scaled = values / scale[:, None]
    reach = np.maximum(np.abs(scaled).max(axis=1), size / scale)
    flat = scaled.max(axis=1) - scaled.min(axis=1) <= ROUNDING * reach
    n = values.shape[1]
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
