"""Intervals that hold together for a whole family of comparisons."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, overload

from ranklens.arrays import Seed, seed_of
from ranklens.core.comparison_table import ComparisonTable
from ranklens.core.comparisons import ComparisonResult
from ranklens.stats.family_values import FamilyValues
from ranklens.stats.options import check_count, tail_of
from ranklens.stats.reference import Reference


@overload
def simultaneous(  # type: ignore[overload-overlap]  # a table is an iterable of results too
    results: ComparisonTable,
    evaluations: Mapping[str, Any] | None = None,
    *,
    segments: Any = None,
    weights: Any = None,
    clusters: Any = None,
    n_permutations: int = 10_000,
    seed: Seed = 0,
) -> ComparisonTable: ...
@overload
def simultaneous(
    results: Iterable[ComparisonResult],
    evaluations: Mapping[str, Any] | None = None,
    *,
    segments: Any = None,
    weights: Any = None,
    clusters: Any = None,
    n_permutations: int = 10_000,
    seed: Seed = 0,
) -> tuple[ComparisonResult, ...]: ...
def simultaneous(
    results: ComparisonTable | Iterable[ComparisonResult],
    evaluations: Mapping[str, Any] | None = None,
    *,
    segments: Any = None,
    weights: Any = None,
    clusters: Any = None,
    n_permutations: int = 10_000,
    seed: Seed = 0,
) -> ComparisonTable | tuple[ComparisonResult, ...]:
    """Return the comparisons with intervals that all hold at once, with confidence 1 - alpha, in each family.

    The interval of each comparison says where its own difference lies; of many, a share alpha is expected to
    miss. Those of a family of m hold together when each has confidence 1 - alpha / m (Bonferroni), whatever
    the dependence: delta ± t · se with Student's t at n - 1 degrees of freedom, since a bootstrap has too few
    resamples that far out. One-sided alternatives give one-sided intervals.

    With the `evaluations` the dependence is known and counts: t is then the 1 - alpha quantile of the largest
    ``|t|`` of the family (t itself for one-sided alternatives) when the signs of the deviations from each
    mean are flipped, the same for all rows of a query (a Rademacher multiplier bootstrap). These intervals
    are shorter the more the rows resemble each other. With weights or clusters the deviations are those of
    each unit's total from the mean times its size, and units are flipped.

    Parameters
    ----------
    results : iterable of ComparisonResult
        Rows of one family (`ComparisonResult.family`) belong together, those without one too. Rows that were
        not tested are returned as they are.
    evaluations : mapping from run name to Evaluation or MetricResult, optional
        What was compared.
    segments, weights, clusters
        As they were given to `compare_many`, where the rows come from comparisons with them and evaluations
        are given. Weights and clusters map query ids to values.
    n_permutations, seed
        The flips of the multiplier bootstrap; the rows record them.

    Returns
    -------
    tuple, or ComparisonTable when `results` is one
        In the same order, with `simultaneous_low`, `simultaneous_high` and `simultaneous_method` set, and
        with `simultaneous_permutations` and `simultaneous_seed` where the evaluations were given.

    Raises
    ------
    MissingDependencyError
        Without scipy, which has Student's t, where no evaluations are given.
    ValueError
        For evaluations together with rows that they do not describe.

    References
    ----------
    R. G. Miller, Simultaneous statistical inference (1981). V. Chernozhukov, D. Chetverikov and K. Kato,
    Gaussian approximations and multiplier bootstrap for maxima of sums, Annals of Statistics 41 (2013).

    Examples
    --------
    >>> import ranklens as rl
    >>> a = rl.MetricResult("AP", {f"q{i}": 0.1 for i in range(20)})
    >>> b = rl.MetricResult("AP", {f"q{i}": 0.1 + 0.01 * (i % 5) for i in range(20)})
    >>> first, second = simultaneous([rl.compare(a, b), rl.compare(b, a)])
    >>> round(first.simultaneous_low, 4), round(second.simultaneous_high, 4)
    (0.0121, -0.0121)
    """
    n_permutations = check_count("n_permutations", n_permutations)
    rows = list(results)
    number = seed_of(seed)
    made: dict[str, Any] = {
        "simultaneous_method": "bonferroni" if evaluations is None else "maxt",
        "simultaneous_permutations": None if evaluations is None else n_permutations,
        "simultaneous_seed": None if evaluations is None else number,
    }
    if evaluations is not None:
        values = FamilyValues.of(evaluations, segments, weights, clusters)
    families: dict[str | None, list[int]] = {}
    for i, row in enumerate(rows):
        if row.tested:
            families.setdefault(row.family, []).append(i)
    for members in families.values():
        family = [rows[i] for i in members]
        if evaluations is None:
            reaches = [_bonferroni(row, len(family)) for row in family]
        else:
            reaches = [values.reach(family, n_permutations, number)] * len(family)
        for i, reach in zip(members, reaches, strict=True):
            rows[i] = _widened(rows[i], reach, made)
    return ComparisonTable(rows, results.canonical) if isinstance(results, ComparisonTable) else tuple(rows)


def _bonferroni(row: ComparisonResult, n_comparisons: int) -> float:
    """Return how many standard errors the interval reaches to either side."""
    n = row.n_queries if row.n_units is None else row.n_units
    return -Reference(n - 1).quantile(tail_of(row.alpha, row.alternative) / n_comparisons)


def _widened(row: ComparisonResult, reach: float, made: Mapping[str, Any]) -> ComparisonResult:
    if row.delta is None or row.se is None:
        raise ValueError(
            f"the comparison of {row.run_b} with {row.run_a} on {row.metric} has no standard error; "
            "compare, compare_segments and compare_many report one"
        )
    reach = reach * row.se if row.se else 0.0
    return dataclasses.replace(
        row,
        simultaneous_low=-math.inf if row.alternative == "less" else row.delta - reach,
        simultaneous_high=math.inf if row.alternative == "greater" else row.delta + reach,
        **made,
    )
