"""The paired comparison of two runs on one measure."""

from __future__ import annotations

from ranklens.arrays import Seed
from ranklens.core.comparisons import ComparisonResult
from ranklens.core.errors import InsufficientSampleError
from ranklens.core.per_query import MetricResult
from ranklens.stats.options import Options
from ranklens.stats.pair import Pair, statistics_of
from ranklens.stats.paired import warn_if_few
from ranklens.stats.power import MIN_QUERIES


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
    interval : {"percentile"}
        The kind of bootstrap interval.
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
        For fewer than two queries in common.
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
    options = Options.checked(
        n_resamples=n_resamples,
        n_permutations=n_permutations,
        alpha=alpha,
        seed=seed,
        min_queries=min_queries,
        method=method,
        alternative=alternative,
        interval=interval,
    )
    pair = Pair.of(baseline, candidate, run_a, run_b)
    if not pair.queries:
        raise InsufficientSampleError(0, 1, unit="queries in common")
    warn_if_few(len(pair.queries), options.min_queries)
    return statistics_of(pair, options)
