"""The paired comparison of two runs on one measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ranklens.arrays import Seed
from ranklens.core.comparisons import ComparisonResult
from ranklens.core.errors import InsufficientSampleError
from ranklens.core.per_query import MetricResult
from ranklens.stats.options import Options
from ranklens.stats.pair import Pair, n_units, statistics_of, units_of
from ranklens.stats.paired import TESTABLE, nothing_in_common, warn_if_few
from ranklens.stats.power import MIN_QUERIES
from ranklens.stats.weighing import weighing_pair


def compare(
    baseline: MetricResult,
    candidate: MetricResult,
    *,
    n_resamples: int = 10_000,
    n_permutations: int = 10_000,
    alpha: float = 0.05,
    seed: Seed = 0,
    min_queries: int = MIN_QUERIES,
    method: str = "monte-carlo",
    alternative: str = "two-sided",
    interval: str = "percentile",
    weights: Any = None,
    clusters: Any = None,
    margin: float | None = None,
    beside: Sequence[str] | str = (),
    run_a: str = "A",
    run_b: str = "B",
) -> ComparisonResult:
    """Compare two runs on one measure: the mean difference B minus A, its interval and its p-value.

    The p-value is that of ``permutation_test(deltas, seed=seed)`` and the interval that of
    ``paired_bootstrap(deltas, seed=seed)``, with the differences of `paired_deltas`; the means are over the
    paired queries only, so that they and the difference agree.

    Parameters
    ----------
    baseline, candidate : MetricResult
        Run A and run B on the same measure. Plain mappings are refused, for they do not say which measure
        they hold: wrap them, ``MetricResult("nDCG@10", values)``.
    n_resamples, n_permutations : int
        Bootstrap resamples and random sign assignments of the Monte-Carlo method.
    alpha : float
        One minus the confidence of the interval, and the level of `ComparisonResult.significant`.
    seed : int, SeedSequence, Generator or None
        Where the random decisions come from; the result records an int that reproduces it.
    min_queries : int
        With fewer paired queries a `SmallSampleWarning` is given, at the caller's line.
    method : {"monte-carlo", "exact", "auto"}
        "exact" computes the p-value over all sign assignments and the interval of infinitely many resamples;
        "auto" does so where it costs no more than sampling.
    alternative : {"two-sided", "greater", "less"}
        "greater" tests for B above A, with an interval that is open upwards.
    interval : {"percentile", "expanded", "bca", "studentized"}
        The kind of bootstrap interval, see `paired_bootstrap`. "studentized" is always resampled.
    weights : mapping from query id to float, series, frame, or array of shape (n_queries,), optional
        What each query counts for, say its traffic: not negative, one for every paired query (an array in the
        order of their sorted ids). All means become Σ weight · value / Σ weight, the signs of weight · delta
        are flipped, and resamples divide by the weight they drew. Queries of weight 0 take no part,
        and are not counted.
    clusters : mapping from query id to a name, series, frame, or array of shape (n_queries,), optional
        Queries of one name (a session, the intents of one query) are flipped and resampled together. The mean
        stays that over queries; n_units reports the clusters, and `min_queries` speaks of them.
    margin : float, optional
        In the measure's unit, positive. With ``alternative="greater"`` the p-value is that of B being worse
        by the margin or more (small: B is not inferior); with ``"less"`` of B being better by the margin or
        more; with ``"two-sided"`` the larger of both (small: the two are equivalent). The interval stays that
        of the difference.
    beside : {"t", "wilcoxon"} or a sequence of them, optional
        Classical tests of the same hypothesis to report beside: ``p_t`` (with weights or clusters of the
        linearised ratio) and ``p_wilcoxon`` (None with weights or clusters, which ranks do not know).
        Wilcoxon's is about the differences' pseudo-median: with a margin it can disagree with all about the
        mean.
    run_a, run_b : str
        The runs' names, for the result.

    Returns
    -------
    ComparisonResult

    Raises
    ------
    ValueError
        For results of different measures, a value that is not finite (the message names the query), or an
        argument out of its range.
    InsufficientSampleError
        For fewer than two queries in common, or two clusters of them.
    TypeError
        For something other than two `MetricResult`.

    See Also
    --------
    compare_segments : The same by segment of the queries.
    compare_many : Many runs and measures at once, with the correction that this needs.

    Examples
    --------
    >>> import ranklens as rl
    >>> bm25 = rl.MetricResult("AP", {f"q{i}": 0.30 for i in range(20)})
    >>> dense = rl.MetricResult("AP", {f"q{i}": 0.25 + 0.01 * i for i in range(20)})
    >>> result = rl.compare(bm25, dense, method="exact", run_a="bm25", run_b="dense")
    >>> print(result)
    AP: dense 0.3450 vs bm25 0.3000, delta +0.0450 [+0.0200, +0.0700], p 0.0040 (14/1/5 wins/ties/losses \
over 20 queries)
    """
    options = Options.of(locals())
    pair = Pair.of(baseline, candidate, run_a, run_b)
    if not pair.queries:
        raise nothing_in_common(baseline, candidate, TESTABLE)
    if len(pair.queries) < TESTABLE:
        raise InsufficientSampleError(len(pair.queries), TESTABLE)
    options = options.bound(pair.queries)
    pair = weighing_pair(pair, options)
    units = units_of(pair, options)
    warn_if_few(n_units(pair, units), options.min_queries, "paired queries" if units is None else units.noun)
    return statistics_of(pair, options)
