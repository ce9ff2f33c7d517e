"""Intervals that hold together for a whole family of comparisons."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Purpose, Seed, current_backend, draw_words, seed_of, to_host
from ranklens.core.comparison_table import ComparisonTable
from ranklens.core.comparisons import ComparisonResult
from ranklens.core.errors import UnknownNameError
from ranklens.core.per_query import MetricResult
from ranklens.kernels.multipliers import largest_statistics
from ranklens.stats.options import check_count, tail_of
from ranklens.stats.pair import Pair
from ranklens.stats.reference import Reference


@overload
def simultaneous(  # type: ignore[overload-overlap]  # a table is an iterable of results too
    results: ComparisonTable,
    evaluations: Mapping[str, Any] | None = None,
    *,
    n_permutations: int = 10_000,
    seed: Seed = 0,
) -> ComparisonTable: ...
@overload
def simultaneous(
    results: Iterable[ComparisonResult],
    evaluations: Mapping[str, Any] | None = None,
    *,
    n_permutations: int = 10_000,
    seed: Seed = 0,
) -> tuple[ComparisonResult, ...]: ...
def simultaneous(
    results: ComparisonTable | Iterable[ComparisonResult],
    evaluations: Mapping[str, Any] | None = None,
    *,
    n_permutations: int = 10_000,
    seed: Seed = 0,
) -> ComparisonTable | tuple[ComparisonResult, ...]:
    """Return the comparisons with intervals that all hold at once, with confidence 1 - alpha, in each family.

    The interval of each comparison says where its own difference lies; of many, a share alpha is expected to
    miss. Those of a family of m hold together when each has confidence 1 - alpha / m (Bonferroni), whatever
    the dependence: delta ± t · se with Student's t at n - 1 degrees of freedom, since a bootstrap has too few
    resamples that far out. One-sided alternatives give one-sided intervals.

    With the `evaluations` the dependence is known and counts: t is then the 1 - alpha quantile of the largest
    ``|t|`` of the family when the signs of the deviations from each mean are flipped, the same for all rows
    of a query (a Rademacher multiplier bootstrap). These intervals are shorter the more the rows resemble
    each other; they are two-sided.

    Parameters
    ----------
    results : iterable of ComparisonResult
        Rows of one family (`ComparisonResult.family`) belong together, those without one too. Rows that were
        not tested are returned as they are.
    evaluations : mapping from run name to Evaluation or MetricResult, optional
        What was compared. Not for segments, weights, clusters or one-sided alternatives.
    n_permutations, seed
        The flips of the multiplier bootstrap.

    Returns
    -------
    tuple, or ComparisonTable when `results` is one
        In the same order, with `simultaneous_low` and `simultaneous_high` set.

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
    rows = list(results)
    families: dict[str | None, list[int]] = {}
    for i, row in enumerate(rows):
        if row.tested:
            families.setdefault(row.family, []).append(i)
    for members in families.values():
        family = [rows[i] for i in members]
        if evaluations is None:
            reaches = [_bonferroni(row, len(family)) for row in family]
        else:
            reaches = [_max_t(family, evaluations, n_permutations, seed_of(seed))] * len(family)
        for i, reach in zip(members, reaches, strict=True):
            rows[i] = _widened(rows[i], reach)
    return ComparisonTable(rows) if isinstance(results, ComparisonTable) else tuple(rows)


def _bonferroni(row: ComparisonResult, n_comparisons: int) -> float:
    """Return how many standard errors the interval reaches to either side."""
    n = row.n_queries if row.n_units is None else row.n_units
    return -Reference(n - 1).quantile(tail_of(row.alpha, row.alternative) / n_comparisons)


def _max_t(
    family: Sequence[ComparisonResult], evaluations: Mapping[str, Any], n_permutations: int, seed: int
) -> float:
    check_count("n_permutations", n_permutations)
    alphas = {row.alpha for row in family}
    for row in family:
        if row.segment is not None or row.n_units is not None or row.alternative != "two-sided":
            raise ValueError(
                "with evaluations, simultaneous intervals are for two-sided comparisons of all queries "
                f"without weights and clusters, got {row.run_b} vs {row.run_a} of another kind; leave "
                "evaluations out"
            )
    pairs = [_pair(row, evaluations) for row in family]
    largest = np.sort(_largest_statistics(pairs, n_permutations, seed))
    place = math.ceil((1.0 - max(alphas)) * (n_permutations + 1) - 1e-9) - 1
    return float(largest[place]) if place < n_permutations else math.inf


def _pair(row: ComparisonResult, evaluations: Mapping[str, Any]) -> Pair:
    a, b = (_result(evaluations, run, row.metric) for run in (row.run_a, row.run_b))
    return Pair.of(a, b, row.run_a, row.run_b)


def _result(evaluations: Mapping[str, Any], run: str, metric: str) -> MetricResult:
    if run not in evaluations:
        raise UnknownNameError("run", run, evaluations)
    found = evaluations[run]
    return found if isinstance(found, MetricResult) else found[metric]


def _largest_statistics(pairs: Sequence[Pair], n_permutations: int, seed: int) -> NDArray[np.float64]:
    """Return the largest |t| of each flip; queries are numbered by their ids, over all pairs."""
    queries = sorted({query for pair in pairs for query in pair.queries}, key=str)
    place = {query: i for i, query in enumerate(queries)}
    units = np.zeros((len(pairs), len(queries)))
    for row, pair in zip(units, pairs, strict=True):
        away = pair.deltas - math.fsum(pair.deltas.tolist()) / len(pair.deltas)
        norm = math.sqrt(math.fsum((away * away).tolist()))
        row[[place[query] for query in pair.queries]] = away / norm if norm else away
    backend = current_backend()
    with backend.precise():
        columns = range(-(-len(queries) // 64))
        counts = backend.asarray(np.array([float(len(pair.queries)) for pair in pairs]))
        statistics = largest_statistics(
            backend.asarray(units),
            counts,
            lambda some: draw_words(backend, seed, some.start, some.stop, columns, Purpose.FLIPS),
            range(n_permutations),
        )
        (host,) = to_host(statistics)
    return np.asarray(host, dtype=np.float64)


def _widened(row: ComparisonResult, reach: float) -> ComparisonResult:
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
    )
