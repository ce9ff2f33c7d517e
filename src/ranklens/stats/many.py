"""Every run against a baseline, or against every other: a whole experiment and its correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from ranklens.arrays import Seed
from ranklens.core.comparison_table import ComparisonTable
from ranklens.core.errors import UnknownNameError
from ranklens.core.evaluation import Evaluation
from ranklens.core.per_query import MetricResult
from ranklens.stats.families import check_family, corrected_table
from ranklens.stats.options import Options
from ranklens.stats.panel import Panel
from ranklens.stats.power import MIN_QUERIES
from ranklens.stats.rows.results import Experiment, Job
from ranklens.stats.segment_rows import Progress, max_t_of, paired_queries, rows_of
from ranklens.stats.slices import slices_of
from ranklens.stats.spelling import canonical_measure
from ranklens.stats.weighing import weighing_experiment


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
    progress: Progress | None = None,
) -> ComparisonTable:
    """Compare many runs, on every measure and in every segment.

    All rows are computed together. Each has the numbers of `compare` with the same method and the row's seed,
    on the host to the last bit; where a query is missing from a row, its signs are still those of all
    queries. A row with fewer than `min_queries` paired queries is shown without statistics and takes no part
    in the correction. A `CoarsePValueWarning` says when Monte-Carlo p-values are too coarse for the size of a
    family.

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
    correction : {"bh", "by", "holm", "maxt", None}
        Within each family: Benjamini-Hochberg, Benjamini-Yekutieli, Holm (see `adjust`); the step-down max-T
        of Westfall and Young on signs that all rows of the family share, whose q-values are sampled from
        `n_permutations` flips also where p is exact; or no q-values.
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
    if not isinstance(evaluations, Mapping):
        raise TypeError(
            f"evaluations must map run names to Evaluation or MetricResult, got {type(evaluations).__name__}"
        )
    if len(evaluations) < 2:
        raise ValueError(f"evaluations must hold at least two runs, got {len(evaluations)}")
    check_family(correction, family)
    options = Options.of(locals())
    pieces = slices_of(segments) if segments is not None else ()
    experiment = _experiment(evaluations, baseline, _measures(evaluations, measures))
    options = _bound(experiment, options)
    if not options.design.is_simple:
        experiment, options = weighing_experiment(experiment, options, paired_queries(experiment))
    rows = [*rows_of(experiment, pieces, options, progress)]
    return corrected_table(rows, correction, family, max_t_of(experiment, pieces, options))


def _bound(experiment: Experiment, options: Options) -> Options:
    """Let weights and clusters given as arrays speak of the queries that every pair of runs has."""
    design = options.design
    if all(values is None or isinstance(values, Mapping) for values in (design.weights, design.clusters)):
        return options
    bound = [options.bound(queries) for queries in paired_queries(experiment)]
    if len(bound) > 1:
        raise ValueError(
            "weights and clusters given as arrays must fit every pair of runs, but these pairs share "
            "different queries; give a mapping from query id to value"
        )
    return bound[0]


def _experiment(evaluations: Mapping[str, Any], baseline: str | None, measures: Sequence[str]) -> Experiment:
    names = list(evaluations)
    if baseline is None:
        pairs = list(combinations(range(len(names)), 2))
    elif baseline in names:
        first = names.index(baseline)
        pairs = [(first, i) for i in range(len(names)) if i != first]
    else:
        raise UnknownNameError("baseline", str(baseline), [str(name) for name in names])
    results = [[_result(name, evaluations[name], measure) for measure in measures] for name in names]
    found = [result.metric for result in results[0]]
    for name, run in zip(names, results, strict=True):
        for measure, result in zip(found, run, strict=True):
            if result.metric != measure:
                raise ValueError(
                    f"evaluations must hold one measure by each name, got {measure!r} for {names[0]} and "
                    f"{result.metric!r} for {name}"
                )
    jobs = [Job(m, a, b) for m in range(len(found)) for a, b in pairs]
    return Experiment(Panel.of(results), jobs, names, found, results)


def _measures(evaluations: Mapping[str, Any], measures: Sequence[str] | str | None) -> Sequence[str]:
    if isinstance(measures, str):
        return [measures]
    if measures is not None:
        if not len(measures):
            raise ValueError("measures is empty; name at least one, or leave it out for all")
        return list(measures)
    for run, evaluation in evaluations.items():
        _check_values(run, evaluation)
    first = evaluations[next(iter(evaluations))]
    return [first.metric] if isinstance(first, MetricResult) else [m.metric for m in first.metrics]


def _result(run: str, evaluation: Any, measure: str) -> MetricResult:
    _check_values(run, evaluation)
    if isinstance(evaluation, Evaluation):
        return evaluation[measure]
    found: MetricResult = evaluation
    if found.metric not in (measure, canonical_measure(measure)):
        raise UnknownNameError(
            "measure", measure, [found.metric], f"run {run} holds {found.metric}; all must be of one measure"
        )
    return found


def _check_values(run: str, evaluation: Any) -> None:
    if not isinstance(evaluation, (Evaluation, MetricResult)):
        advice = (
            "values by query need their measure's name: MetricResult('nDCG@10', values)"
            if isinstance(evaluation, Mapping)
            else "evaluate_many(runs, qrels, measures) makes them"
        )
        raise TypeError(
            "evaluations must map run names to Evaluation or MetricResult, got "
            f"{type(evaluation).__name__} for run {run}; {advice}"
        )
