"""Two runs on one measure: the paired values, and the row of results made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import current_backend
from ranklens.core.comparisons import ComparisonResult
from ranklens.core.per_query import MetricResult, QueryId
from ranklens.stats.beside import beside_p_values
from ranklens.stats.bootstrap import interval_of
from ranklens.stats.choosing import chosen_method
from ranklens.stats.moments import outcomes
from ranklens.stats.options import Options
from ranklens.stats.paired import differences, paired_values
from ranklens.stats.permutation import flip_test
from ranklens.stats.ratio import effect_of, mean_of, standard_error
from ranklens.stats.units import Units


@dataclass(frozen=True, slots=True)
class Pair:
    """The values of A and B on the queries that both have, and the queries that only one has.

    `a`, `b` and `deltas` have shape (n_queries,), in the order of `queries`, which is that of their text.
    """

    metric: str
    run_a: str
    run_b: str
    queries: tuple[QueryId, ...]
    a: NDArray[np.float64]
    b: NDArray[np.float64]
    deltas: NDArray[np.float64]
    only_a: tuple[QueryId, ...]
    only_b: tuple[QueryId, ...]

    @classmethod
    def of(cls, baseline: MetricResult, candidate: MetricResult, run_a: str, run_b: str) -> Pair:
        """Pair two results of one measure by query."""
        for name, result in (("baseline", baseline), ("candidate", candidate)):
            _check_result(name, result)
        if baseline.metric != candidate.metric:
            raise ValueError(
                "baseline and candidate must be of one measure, "
                f"got {baseline.metric!r} and {candidate.metric!r}"
            )
        names = (f"{baseline.metric} of {run_a}", f"{candidate.metric} of {run_b}")
        queries, a, b = paired_values(baseline, candidate, names)
        in_a, in_b = baseline.per_query, candidate.per_query
        return cls(
            baseline.metric,
            run_a,
            run_b,
            queries,
            a,
            b,
            differences(queries, a, b),
            tuple(query for query in in_a if query not in in_b) if len(in_a) > len(queries) else (),
            tuple(query for query in in_b if query not in in_a) if len(in_b) > len(queries) else (),
        )

    @property
    def size(self) -> float:
        """The largest value in size: what the rounding of the differences is relative to."""
        return float(max(abs(self.a).max(), abs(self.b).max())) if self.queries else 0.0


def units_of(pair: Pair, options: Options) -> Units | None:
    """Return what is flipped and resampled together; None where that is the queries, all of one weight."""
    return options.design.units(pair.queries)


def n_units(pair: Pair, units: Units | None) -> int:
    """Return the number of independent units of a pair."""
    return len(pair.queries) if units is None else units.n


def statistics_of(pair: Pair, options: Options) -> ComparisonResult:
    """Make the interval and the p-value, on independent streams of one seed."""
    backend = current_backend()
    with backend.precise():
        deltas = backend.asarray(pair.deltas)
    units = units_of(pair, options)
    method = chosen_method(options.method, pair.deltas, units)
    shared: dict[str, Any] = {
        "queries": pair.queries,
        "seed": options.seed,
        "alternative": options.alternative,
        "method": method,
    }
    flips = flip_test(
        deltas,
        options.design,
        n_permutations=options.n_permutations,
        may_sample=options.method == "auto",
        **shared,
    )
    # What is left to us may still be sampled: an interval that has no exact form, or an uncertain one.
    shared["method"] = options.method if method == "exact" else method
    interval = interval_of(
        deltas,
        options.design,
        n_resamples=options.n_resamples,
        alpha=options.alpha,
        interval=options.interval,
        **shared,
    )
    statistics = {
        "delta": interval.delta,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "n_resamples": interval.n_resamples,
        "p_value": flips.p_value,
        "p_error": flips.p_error,
        "log10_p": flips.log10_p,
        "method": flips.method,
        "n_permutations": flips.n_permutations,
        "effect": effect_of(pair.deltas, units, size=pair.size),
        "se": standard_error(pair.deltas, units, size=pair.size),
        **beside_p_values(options.beside, pair.deltas, units, options, size=pair.size),
    }
    return ComparisonResult(**(_described(pair, options, units) | statistics))


def _described(pair: Pair, options: Options, units: Units | None) -> dict[str, Any]:
    """Return the fields that need no test."""
    counts = outcomes(pair.deltas, size=pair.size)
    return {
        "metric": pair.metric,
        "mean_a": mean_of(pair.a, units),
        "mean_b": mean_of(pair.b, units),
        "alpha": options.alpha,
        "n_queries": len(pair.queries),
        "n_only_a": len(pair.only_a),
        "n_only_b": len(pair.only_b),
        "seed": options.seed,
        "run_a": pair.run_a,
        "run_b": pair.run_b,
        "wins": counts.wins,
        "ties": counts.ties,
        "losses": counts.losses,
        "alternative": options.alternative,
        "interval": options.interval,
        "n_units": None if units is None else units.n,
        "weighted": units is not None and units.is_weighted,
        "clustered": units is not None and units.clustered,
        "margin": options.design.margin,
    }


def _check_result(name: str, result: Any) -> None:
    if isinstance(result, MetricResult):
        return
    kind = type(result).__name__
    if kind == "Evaluation":
        advice = (
            f"pick a measure of it: {name}['{result.metrics[0].metric}']"
            if result.metrics
            else "measure first"
        )
    else:
        advice = "values by query need their measure's name: MetricResult('nDCG@10', values)"
    raise TypeError(f"{name} must be a MetricResult, got {kind}; {advice}")
