"""The comparison of two runs, segment by segment."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ranklens.arrays import Seed
from ranklens.core.comparison_table import ComparisonTable
from ranklens.core.per_query import MetricResult, QueryId
from ranklens.stats.families import Row, check_family, corrected_table
from ranklens.stats.options import Options
from ranklens.stats.pair import Pair
from ranklens.stats.paired import nothing_in_common
from ranklens.stats.panel import Panel
from ranklens.stats.power import MIN_QUERIES
from ranklens.stats.rows.results import Experiment, Job
from ranklens.stats.segment_rows import max_t_of, rows_of_segment
from ranklens.stats.slices import Slice, slices_of, warn_of_unsegmented
from ranklens.stats.weighing import weighing_experiment, weighing_pair


def compare_segments(
    baseline: MetricResult,
    candidate: MetricResult,
    segments: Mapping[str, Mapping[QueryId, Any]] | Any,
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
    correction: str | None = "bh",
    family: str = "segment field",
    run_a: str = "A",
    run_b: str = "B",
) -> ComparisonTable:
    """Compare two runs in each segment of the queries.

    A segment with fewer than `min_queries` paired queries is shown without statistics and takes no part in
    the correction. Each segment draws from a seed of its own, made of `seed`, the field and the value and
    recorded in its row: neither the order nor the presence of other segments changes a number, and
    ``compare`` on the segment's queries with that seed gives the row again.

    Parameters
    ----------
    baseline, candidate : MetricResult
        Run A and run B on the same measure.
    segments : mapping, path or frame
        Field to query id to value; or query id to value; or a file or frame that `read_segments` reads.
        Queries without a value are in no segment, and a `DataWarning` counts them. A query has one value of
        a field; tags, of which it may have several, are fields of their own.
    n_resamples, n_permutations, alpha, min_queries, method, alternative, interval
        As for `compare`.
    weights, clusters, margin, beside
        As for `compare`; arrays are in the order of all paired queries. A cluster that several segments share
        is in each of them with its queries there.
    seed : int, SeedSequence, Generator or None
        What the segments' seeds are made of.
    correction : {"bh", "by", "holm", "maxt", None}
        Within each family: Benjamini-Hochberg, Benjamini-Yekutieli, Holm (see `adjust`); the step-down max-T
        of Westfall and Young on signs that all rows of the family share, whose q-values are sampled from
        `n_permutations` flips also where p is exact; or no q-values.
    family : {"segment field", "all"}
        Whether the segments of each field are a family, or all of them one. ("measure" and "pair", the other
        families of `compare_many`, are the same as "segment field" here.)
    run_a, run_b : str
        The runs' names, for the rows.

    Returns
    -------
    ComparisonTable
        A row per segment, fields in their order and values by text.

    Raises
    ------
    InsufficientSampleError
        When the runs have no query in common.
    ValueError
        As for `compare`, and for unknown names of corrections and families.

    Examples
    --------
    >>> import ranklens as rl
    >>> a = rl.MetricResult("AP", {f"q{i}": 0.3 for i in range(40)})
    >>> b = rl.MetricResult("AP", {f"q{i}": 0.2 + 0.005 * i for i in range(40)})
    >>> locale = {f"q{i}": "de" if i < 20 else "fr" for i in range(40)}
    >>> table = rl.compare_segments(a, b, {"locale": locale}, method="exact")
    >>> [(row.segment, round(row.delta, 4), row.significant) for row in table]
    [('locale=de', -0.0525, True), ('locale=fr', 0.0475, True)]
    """
    check_family(correction, family)
    options = Options.of(locals())
    pair = Pair.of(baseline, candidate, run_a, run_b)
    if not pair.queries:
        raise nothing_in_common(baseline, candidate)
    pieces = slices_of(segments)
    options = options.bound(pair.queries)
    pair = weighing_pair(pair, options)
    warn_of_unsegmented(pieces, pair.queries)
    experiment, options = weighing_experiment(_experiment(pair), options, [pair.queries])
    rows = [_row(experiment, piece, options, pair) for piece in pieces]
    # The row on all queries, which is not in the table, comes first there.
    return corrected_table(rows, correction, family, max_t_of(experiment, pieces, options, skipped=1))


def _experiment(pair: Pair) -> Experiment:
    """Return an experiment of one comparison, on the queries that both runs have."""
    results = [
        [MetricResult(pair.metric, dict(zip(pair.queries, values.tolist(), strict=True)))]
        for values in (pair.a, pair.b)
    ]
    return Experiment(Panel.of(results), [Job(0, 0, 1)], [pair.run_a, pair.run_b], [pair.metric], results)


def _row(experiment: Experiment, piece: Slice, options: Options, pair: Pair) -> Row:
    (row,) = rows_of_segment(experiment, piece, options)
    only_a, only_b = (
        sum(query in piece.queries for query in queries) for queries in (pair.only_a, pair.only_b)
    )
    return row._replace(result=dataclasses.replace(row.result, n_only_a=only_a, n_only_b=only_b))
