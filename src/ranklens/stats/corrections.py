"""Corrections for having looked at many comparisons."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, overload

from ranklens.arrays import is_array, to_host
from ranklens.core.comparison_table import ComparisonTable
from ranklens.core.comparisons import ComparisonResult, PPIComparison
from ranklens.core.errors import CoarsePValueWarning
from ranklens.core.user_line import warn_user

CORRECTIONS = ("bh",)
"""The corrections by name: Benjamini–Hochberg (the false discovery rate)."""

Result = TypeVar("Result", ComparisonResult, PPIComparison)

_ULPS = 4 * sys.float_info.epsilon


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the q-values of Benjamini and Hochberg: rejecting q < a bounds the false discovery rate by a.

    With the p-values sorted, ``q(i) = min over j >= i of (m / j) p(j)``, capped at 1. Values that are equal
    up to rounding are made equal, so that a verdict ``q < alpha`` never hangs on the last bit.

    Parameters
    ----------
    p_values : sequence of float
        The m p-values of one family, shape (m,), in any order. A value at most 4 ulp above 1 counts as 1.

    Returns
    -------
    tuple of float
        The q-values in the order of the input; empty for an empty input.

    Raises
    ------
    ValueError
        For NaN or a value outside [0, 1]; the message names its position.

    References
    ----------
    Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, J. R. Statist. Soc. B 57 (1995).

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.5])
    (0.03, 0.06, 0.5)
    """
    p = _checked(p_values)
    m = len(p)
    q = [1.0] * m
    smallest = math.inf
    for rank, i in zip(range(m, 0, -1), sorted(range(m), key=p.__getitem__, reverse=True), strict=True):
        candidate = p[i] if rank == m else _to_15_digits(p[i] * (m / rank))
        if candidate < smallest * (1.0 - _ULPS):
            smallest = candidate
        q[i] = smallest
    return tuple(q)


@overload
def adjust(  # type: ignore[overload-overlap]  # a table is an iterable of results too
    results: ComparisonTable, *, family: str | None = None
) -> ComparisonTable: ...
@overload
def adjust(results: Iterable[Result], *, family: str | None = None) -> tuple[Result, ...]: ...
def adjust(results: Iterable[Any], *, family: str | None = None) -> Any:
    """Return the comparisons with the q-values that make all of them one family.

    Comparisons without a p-value (too few queries) take no part and are returned as they are. A
    `CoarsePValueWarning` says when the p-values are Monte-Carlo ones from too few flips for so large a
    family: C comparisons can reject a single effect only if the flips m exceed C / alpha - 1.

    Parameters
    ----------
    results : iterable of ComparisonResult or PPIComparison
        The comparisons of one family, mixed if you like.
    family : str, optional
        A name for the family, recorded in each `ComparisonResult` with the number of comparisons.

    Returns
    -------
    tuple, or ComparisonTable when `results` is one
        The same comparisons in the same order, with `q_value` set.

    See Also
    --------
    benjamini_hochberg : The correction.

    Examples
    --------
    >>> import ranklens as rl
    >>> a = rl.MetricResult("AP", {f"q{i}": 0.1 for i in range(20)})
    >>> b = rl.MetricResult("AP", {f"q{i}": 0.1 + 0.01 * (i - 2) for i in range(20)})
    >>> up, same = rl.adjust([rl.compare(a, b, method="exact"), rl.compare(a, a, method="exact")])
    >>> up.q_value == 2 * up.p_value, same.q_value
    (True, 1.0)
    """
    rows = tuple(results)
    warn_of_coarse_p_values([rows])
    adjusted = with_q_values(rows, family)
    return ComparisonTable(adjusted) if isinstance(results, ComparisonTable) else adjusted


def with_q_values(rows: Sequence[Result], family: str | None = None) -> tuple[Result, ...]:
    """Set the q-values of one family, without any warning."""
    tested = [i for i, row in enumerate(rows) if row.p_value is not None]
    q_values = benjamini_hochberg([_p(rows[i]) for i in tested])
    adjusted = list(rows)
    size = f"{len(tested)} {'comparison' if len(tested) == 1 else 'comparisons'}"
    name = size if family is None else f"{family} ({size})"
    for i, q in zip(tested, q_values, strict=True):
        changes: dict[str, Any] = {"q_value": q}
        if isinstance(rows[i], ComparisonResult):
            changes |= {"correction": "bh", "family": name}
        adjusted[i] = dataclasses.replace(rows[i], **changes)
    return tuple(adjusted)


def warn_of_coarse_p_values(families: Iterable[Sequence[Any]]) -> None:
    """Warn once if some family is too large for its Monte-Carlo p-values to reject a lone effect.

    The smallest p-value of m flips is 1 / (m + 1) and becomes C / (m + 1) among C comparisons.
    """
    worst = (0, 0, 0.05)
    for rows in families:
        tested = [row for row in rows if row.p_value is not None]
        flips = [row for row in tested if getattr(row, "n_permutations", 0) > 0]
        for row in flips:
            needed = flips_needed(len(tested), row.alpha)
            if row.n_permutations < needed and needed > flips_needed(worst[0], worst[2]):
                worst = (len(tested), row.n_permutations, row.alpha)
    if worst[0]:
        n, flips_made, alpha = worst
        warn_user(
            f"{n} comparisons in one family and {flips_made} sign flips each: a lone effect cannot reach "
            f"q < {alpha:g}, whatever its size; that needs n_permutations of at least "
            f'{flips_needed(n, alpha)}, or method="exact"',
            CoarsePValueWarning,
        )


def flips_needed(n_comparisons: int, alpha: float) -> int:
    """Return the smallest number of flips m with m > n_comparisons / alpha - 1.

    Examples
    --------
    >>> flips_needed(10_000, 0.05)
    200000
    """
    return math.floor(_to_15_digits(n_comparisons / alpha))


def _p(row: Any) -> float:
    return float(row.p_value)


def _checked(p_values: Any) -> list[float]:
    if is_array(p_values):
        (p_values,) = to_host(p_values)
        if p_values.ndim != 1:
            shape = p_values.shape
            raise ValueError(
                f"p_values must be one-dimensional, got shape {shape}; pass one family at a time"
            )
    checked = []
    for i, value in enumerate(p_values):
        p = float(value)
        if not 0.0 <= p <= 1.0 + _ULPS:
            raise ValueError(f"p_values[{i}] must lie in [0, 1], got {p!r}")
        checked.append(min(p, 1.0))
    return checked


def _to_15_digits(value: float) -> float:
    # Products that decimal arithmetic calls equal differ in the 16th or 17th digit only.
    return float(f"{value:.15g}")
