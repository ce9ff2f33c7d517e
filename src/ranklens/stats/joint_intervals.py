"""Intervals that hold together for a whole family of comparisons."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import overload

from ranklens.core.comparison_table import ComparisonTable
from ranklens.core.comparisons import ComparisonResult
from ranklens.stats.options import tail_of
from ranklens.stats.reference import Reference


@overload
def simultaneous(  # type: ignore[overload-overlap]  # a table is an iterable of results too
    results: ComparisonTable,
) -> ComparisonTable: ...
@overload
def simultaneous(results: Iterable[ComparisonResult]) -> tuple[ComparisonResult, ...]: ...
def simultaneous(
    results: ComparisonTable | Iterable[ComparisonResult],
) -> ComparisonTable | tuple[ComparisonResult, ...]:
    """Return the comparisons with intervals that all hold at once, with confidence 1 - alpha, in each family.

    The interval of each comparison says where its own difference lies; of many, alpha of them are expected to
    miss. Those of a family of m hold together when each has confidence 1 - alpha / m (Bonferroni), whatever
    the dependence: delta ± t · se with Student's t at n - 1 degrees of freedom, since a bootstrap has too few
    resamples that far out. One-sided alternatives give one-sided intervals.

    Parameters
    ----------
    results : iterable of ComparisonResult
        Rows of one family (`ComparisonResult.family`) belong together, those without one too. Rows that were
        not tested are returned as they are.

    Returns
    -------
    tuple, or ComparisonTable when `results` is one
        In the same order, with `simultaneous_low` and `simultaneous_high` set.

    Raises
    ------
    MissingDependencyError
        Without scipy, which has Student's t.

    References
    ----------
    R. G. Miller, Simultaneous statistical inference (1981).

    Examples
    --------
    >>> import ranklens as rl
    >>> a = rl.MetricResult("AP", {f"q{i}": 0.1 for i in range(20)})
    >>> b = rl.MetricResult("AP", {f"q{i}": 0.1 + 0.01 * (i % 5) for i in range(20)})
    >>> first, second = simultaneous([rl.compare(a, b), rl.compare(b, a)])
    >>> round(first.simultaneous_low, 4), round(second.simultaneous_high, 4)
    (0.0121, -0.0121)
    """
    rows = list(results)
    families: dict[str | None, list[int]] = {}
    for i, row in enumerate(rows):
        if row.tested:
            families.setdefault(row.family, []).append(i)
    for members in families.values():
        for i in members:
            rows[i] = _widened(rows[i], len(members))
    return ComparisonTable(rows) if isinstance(results, ComparisonTable) else tuple(rows)


def _widened(row: ComparisonResult, n_comparisons: int) -> ComparisonResult:
    n = row.n_queries if row.n_units is None else row.n_units
    if row.delta is None or row.se is None:
        raise ValueError(
            f"the comparison of {row.run_b} with {row.run_a} on {row.metric} has no standard error; "
            "compare, compare_segments and compare_many report one"
        )
    reach = -Reference(n - 1).quantile(tail_of(row.alpha, row.alternative) / n_comparisons) * row.se
    return dataclasses.replace(
        row,
        simultaneous_low=float("-inf") if row.alternative == "less" else row.delta - reach,
        simultaneous_high=float("inf") if row.alternative == "greater" else row.delta + reach,
    )
