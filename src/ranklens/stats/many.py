"""Every run against a baseline, or against every other: a whole experiment and its correction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from ranklens.arrays import Seed
from ranklens.core.comparison_table import ComparisonTable
from ranklens.core.errors import UnknownNameError
from ranklens.core.evaluation import Evaluation
from ranklens.core.per_query import MetricResult
from ranklens.stats.families import Row, check_family, corrected_table
from ranklens.stats.options import Options
from ranklens.stats.pair import Pair, compare_pair
from ranklens.stats.power import MIN_QUERIES
from ranklens.stats.segments import segment_rows
from ranklens.stats.slices import Slice, slices_of, warn_of_unsegmented


def compare_many(
    evaluations: Mapping[str, Evaluation] | Mapping[str, MetricResult],
    *,
    baseline: str | None = None,
    measures: Sequence[str] | str | None = None,
    segments: Any = None,
    method: str = "auto",
    correction: str | None = "bh",
    family: str = "measure",
    interval: str = "percentile",
    alternative: str = "two-sided",
    n_resamples: int = 10_000,
    n_permutations: int = 10_000,
    alpha: float = 0.05,
    seed: Seed = 0,
    min_queries: int = MIN_QUERIES,
    weights: Any = None,
    clusters: Any = None,
    margin: float | None = None,
    beside: Sequence[str] | str = (),
    progress: Callable[[int, int], None] | None = None,
) -> ComparisonTable:
    """Compare many runs, on every measure and in every segment.

    Each row has the numbers of `compare` with the same method and the row's seed. A row with fewer than
    `min_queries` paired queries is shown without statistics and takes no part in the correction. A
    `CoarsePValueWarning` says when Monte-Carlo p-values are too coarse for the size of a family.

    Parameters
    ----------
    evaluations : mapping from run name to Evaluation
        What `evaluate_many` returns; or run names to `MetricResult` of one measure.
    baseline : str, optional
        The run that all others are compared with (it is A in every row). By default every pair of runs is
        compared, the earlier one of the mapping being A.
    measures : sequence of str, optional
        The measures to compare, by any spelling; by default all of the first evaluation.
    segments : mapping, path or frame, optional
        As for `compare_segments`; their rows follow the overall ones.
    method : {"auto", "exact", "monte-carlo"}
        As for `compare`; the default here is exact wherever that costs no more than sampling.
    correction : {"bh", "by", "holm", None}
        Within each family: Benjamini-Hochberg, Benjamini-Yekutieli, Holm (see `adjust`), or no q-values.
    family : {"measure", "segment field", "pair", "all"}
        What is corrected together: all rows of a measure; the rows of one measure and pair of runs; all rows
        of a pair of runs; everything. The segments of each field are families of their own, except in "all".
    interval, alternative, n_resamples, n_permutations, alpha, min_queries, weights, clusters, margin, beside
        As for `compare`. Weights and clusters given as arrays must fit every pair of runs; mappings do.
    seed : int, SeedSequence, Generator or None
        Shared by all overall rows; segments draw from their own, as in `compare_segments`.
    progress : callable, optional
        Called as ``progress(done, total)`` with the number of pairs of runs and measures done.

    Returns
    -------
    ComparisonTable
        Measures in the order asked for, pairs of runs within a measure, segments after all overall rows.

    Raises
    ------
    ValueError
        For fewer than two runs, and as for `compare`.
    UnknownNameError
        For a baseline or a measure that is not there.

    Examples
    --------
    >>> import ranklens as rl
    >>> def result(gain):
    ...     return rl.MetricResult("AP", {f"q{i}": 0.2 + gain * (i + 1) for i in range(20)})
    >>> runs = {"bm25": result(0.01), "dense": result(0.02), "copy": result(0.01)}
    >>> table = rl.compare_many(runs, baseline="bm25")
    >>> [(row.run_b, round(row.delta, 3), row.significant) for row in table]
    [('dense', 0.105, True), ('copy', 0.0, False)]
    """
    if len(evaluations) < 2:
        raise ValueError(f"evaluations must hold at least two runs, got {len(evaluations)}")
    check_family(correction, family)
    options = Options.checked(
        n_resamples=n_resamples,
        n_permutations=n_permutations,
        alpha=alpha,
        seed=seed,
        min_queries=min_queries,
        method=method,
        alternative=alternative,
        interval=interval,
        weights=weights,
        clusters=clusters,
        margin=margin,
        beside=beside,
    )
    pieces = slices_of(segments) if segments is not None else ()
    pairs = list(_pairs(evaluations, baseline, _measures(evaluations, measures)))
    rows = list(_rows(pairs, pieces, options, progress))
    return corrected_table(sorted(rows, key=lambda row: row.field is not None), correction, family)


def _rows(
    pairs: Sequence[tuple[str, str, MetricResult, MetricResult]],
    pieces: tuple[Slice, ...],
    asked: Options,
    progress: Callable[[int, int], None] | None,
) -> Iterator[Row]:
    warned: set[tuple[str, ...]] = set()
    for done, (run_a, run_b, a, b) in enumerate(pairs, 1):
        pair = Pair.of(a, b, run_a, run_b)
        options = asked.bound(pair.queries)
        yield Row(compare_pair(pair, options), None)
        if pieces and pair.queries not in warned:
            warned.add(pair.queries)
            warn_of_unsegmented(pieces, pair.queries)
        yield from segment_rows(pair, pieces, options)
        if progress is not None:
            progress(done, len(pairs))


def _pairs(
    evaluations: Mapping[str, Any], baseline: str | None, measures: Sequence[str]
) -> Iterator[tuple[str, str, MetricResult, MetricResult]]:
    names = list(evaluations)
    if baseline is None:
        runs = list(combinations(names, 2))
    elif baseline in names:
        runs = [(baseline, name) for name in names if name != baseline]
    else:
        raise UnknownNameError("baseline", baseline, names)
    results = {name: {measure: _result(evaluations[name], measure) for measure in measures} for name in names}
    for measure in measures:
        for run_a, run_b in runs:
            yield run_a, run_b, results[run_a][measure], results[run_b][measure]


def _measures(evaluations: Mapping[str, Any], measures: Sequence[str] | str | None) -> Sequence[str]:
    if isinstance(measures, str):
        return [measures]
    if measures is not None:
        return list(measures)
    first = evaluations[next(iter(evaluations))]
    return [first.metric] if isinstance(first, MetricResult) else [m.metric for m in first.metrics]


def _result(evaluation: Any, measure: str) -> MetricResult:
    if isinstance(evaluation, MetricResult):
        if evaluation.metric != measure:
            raise UnknownNameError("measure", measure, [evaluation.metric])
        return evaluation
    if not isinstance(evaluation, Evaluation):
        raise TypeError(
            "evaluations must map run names to Evaluation (or MetricResult), got "
            f"{type(evaluation).__name__}; evaluate_many(runs, qrels, measures) makes them"
        )
    return evaluation[measure]
