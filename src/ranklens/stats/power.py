"""How many queries an effect needs, and what effect these queries can see."""

from __future__ import annotations

import math
import sys
from numbers import Real
from statistics import NormalDist
from typing import Any

MIN_QUERIES = 20
"""Fewer paired queries than this say little: a `SmallSampleWarning` is given."""


def minimum_detectable_effect(sd: float, n_queries: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest true mean difference that a comparison of `n_queries` is likely to detect.

    ``(z(1 - alpha/2) + z(power)) * sd / sqrt(n_queries)`` with the normal quantiles z: the usual two-sided
    approximation, good from a few dozen queries on.

    Parameters
    ----------
    sd : float
        Standard deviation of the per-query differences, in the measure's unit (see `standard_deviation`).
    n_queries : int
        Number of queries, at least 1.
    alpha : float
        Two-sided significance level.
    power : float
        The probability of detection wanted, above `alpha`.

    Returns
    -------
    float
        The difference, in the measure's unit.

    Raises
    ------
    ValueError
        For an argument out of its range.

    See Also
    --------
    required_queries : The same formula solved for the number of queries.

    Examples
    --------
    >>> round(minimum_detectable_effect(0.1, 200), 6)
    0.01981
    """
    _check_sd(sd)
    if not is_finite_number(n_queries) or int(n_queries) != n_queries or n_queries < 1:
        raise ValueError(f"n_queries must be a whole number of at least 1, got {n_queries!r}")
    effect = _z_sum(alpha, power) / math.sqrt(n_queries) * float(sd)
    if math.isinf(effect):
        raise ValueError(f"sd = {sd!r} is too large: the effect is beyond the largest number")
    return effect


mde = minimum_detectable_effect


def required_queries(delta: float, sd: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Return how many queries are needed to detect a mean difference of `delta`.

    ``((z(1 - alpha/2) + z(power)) * sd / delta) ** 2``, rounded up and never below 2.

    Parameters
    ----------
    delta : float
        The true mean difference to detect, in the measure's unit; its sign does not matter.
    sd : float
        Standard deviation of the per-query differences (see `standard_deviation`).
    alpha : float
        Two-sided significance level.
    power : float
        The probability of detection wanted, above `alpha`.

    Returns
    -------
    int
        The number of queries.

    Raises
    ------
    ValueError
        For an argument out of its range, a `delta` of zero among them: no number of queries detects nothing.

    Examples
    --------
    >>> required_queries(0.02, 0.1)
    197
    """
    _check_sd(sd)
    if not is_finite_number(delta) or delta == 0:
        raise ValueError(
            f"delta must be a finite difference other than zero, got {delta!r}; "
            "give the smallest difference that would matter"
        )
    n = (_z_sum(alpha, power) * (float(sd) / abs(float(delta)))) ** 2 if sd < 1e150 * abs(delta) else math.inf
    if math.isinf(n):
        raise ValueError(
            f"delta = {delta!r} is too small beside sd = {sd!r}: no number of queries can be given"
        )
    # A rounding error must not buy one query more than the closed form asks for.
    return max(2, math.ceil(n * (1.0 - 8.0 * sys.float_info.epsilon)))


def _z_sum(alpha: float, power: float) -> float:
    check_alpha(alpha)
    if not is_finite_number(power) or not alpha < power < 1:
        raise ValueError(f"power must lie between alpha = {alpha!r} and 1, got {power!r}")
    normal = NormalDist()
    return normal.inv_cdf(1.0 - alpha / 2.0) + normal.inv_cdf(power)


def check_alpha(alpha: float) -> float:
    """Return `alpha` as a float; raise ValueError unless it lies strictly between 0 and 1."""
    if not is_finite_number(alpha) or not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}")
    return float(alpha)


def _check_sd(sd: float) -> None:
    if not is_finite_number(sd) or sd < 0:
        raise ValueError(f"sd must be a finite number of at least 0, got {sd!r}")


def is_finite_number(value: Any) -> bool:
    """Whether `value` is a real number, and neither a boolean nor infinite nor NaN."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
