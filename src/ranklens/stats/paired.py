"""From values by query to paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core.errors import InsufficientSampleError, SmallSampleWarning
from ranklens.core.per_query import MetricResult, QueryId, QueryValues
from ranklens.core.user_line import warn_user
from ranklens.stats.by_query import with_text_ids
from ranklens.stats.power import MIN_QUERIES

TESTABLE = 2
"""The fewest paired queries that a test can speak of."""

PerQuery = Mapping[QueryId, float] | MetricResult


def paired_deltas(
    per_query_a: PerQuery, per_query_b: PerQuery, *, min_queries: int = MIN_QUERIES
) -> tuple[tuple[QueryId, ...], NDArray[np.float64]]:
    """Return the queries that both runs have, sorted by text, and the differences B minus A.

    Queries that only one run has are left out; their number is what `compare` reports as `n_only_a` and
    `n_only_b`.

    Parameters
    ----------
    per_query_a, per_query_b : mapping from query id to float, or MetricResult
        The values of the two runs on one measure, A the baseline. Whole numbers as ids become text.
    min_queries : int
        With fewer paired queries than this a `SmallSampleWarning` is given, at the caller's line.

    Returns
    -------
    queries : tuple of str
        The paired queries.
    deltas : ndarray of float64, shape (n_queries,)
        Their differences, in the measure's unit.

    Raises
    ------
    InsufficientSampleError
        When the two have no query in common.
    ValueError
        When a paired value is NaN or infinite; the message names the queries.

    Examples
    --------
    >>> queries, deltas = paired_deltas({"q2": 0.25, "q1": 0.5}, {"q1": 0.75, "q2": 0.5}, min_queries=2)
    >>> queries, deltas.tolist()
    (('q1', 'q2'), [0.25, 0.25])
    """
    queries, a, b = paired_values(per_query_a, per_query_b)
    if not queries:
        raise nothing_in_common(per_query_a, per_query_b)
    warn_if_few(len(queries), min_queries)
    return queries, differences(queries, a, b)


def differences(
    queries: Sequence[QueryId], a: NDArray[np.float64], b: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return b - a; ValueError naming the queries where the difference of two finite values is not finite."""
    with np.errstate(over="ignore"):
        deltas = b - a
    _check_finite("the difference of the two runs", queries, deltas)
    return deltas


def nothing_in_common(
    per_query_a: PerQuery, per_query_b: PerQuery, minimum: int = 1
) -> InsufficientSampleError:
    """Return the error about two runs without a common query, with the first ids of each."""
    shown = []
    for per_query in (per_query_a, per_query_b):
        ids = list(_mapping(per_query, "per_query"))
        shown.append(f"{', '.join(map(repr, ids[:3]))}{', …' if len(ids) > 3 else ''}" if ids else "none")
    return InsufficientSampleError(0, minimum, unit=f"queries in common (A has {shown[0]}; B has {shown[1]})")


def warn_if_few(n: int, minimum: int, unit: str = "paired queries") -> None:
    """Give a `SmallSampleWarning` at the user's line if `n` is below `minimum`."""
    if n < minimum:
        noun = _singular(unit) if n == 1 else unit
        warn_user(
            f"only {n} {noun}, and an interval of fewer than {minimum} says little; measure more queries, "
            "or read the result as a hint",
            SmallSampleWarning,
        )


def _singular(unit: str) -> str:
    return unit.replace("queries", "query").replace("clusters", "cluster")


def paired_values(
    per_query_a: PerQuery, per_query_b: PerQuery, names: tuple[str, str] = ("per_query_a", "per_query_b")
) -> tuple[tuple[QueryId, ...], NDArray[np.float64], NDArray[np.float64]]:
    """Return the common queries, sorted by text, and the finite values of both runs on them.

    Shapes are (n_queries,); no query in common gives three empty sequences. `names` are what the error about
    a value that is not finite calls the two.
    """
    a, b = _mapping(per_query_a, names[0]), _mapping(per_query_b, names[1])
    if isinstance(a, QueryValues) and isinstance(b, QueryValues) and a.index is b.index:
        ids: Sequence[QueryId] = a.index
        order = sorted(range(len(ids)), key=ids.__getitem__)
        queries = tuple(ids[i] for i in order)
        values_a, values_b = a.values_array[order], b.values_array[order]
    else:
        queries = tuple(sorted((query for query in a if query in b), key=str))
        values_a, values_b = values_of(a, queries), values_of(b, queries)
    for name, values in zip(names, (values_a, values_b), strict=True):
        _check_finite(name, queries, values)
    return queries, values_a, values_b


def values_of(per_query: Mapping[QueryId, float], queries: Sequence[QueryId]) -> NDArray[np.float64]:
    """Return the values of `queries` as a float64 array, shape (n_queries,)."""
    values = np.empty(len(queries), dtype=np.float64)
    for i, query in enumerate(queries):
        value = per_query[query]
        try:
            values[i] = float(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"query {query} has the value {value!r}, which is not a number") from error
    return values


def _mapping(per_query: Any, name: str) -> Mapping[QueryId, float]:
    values = per_query.per_query if isinstance(per_query, MetricResult) else per_query
    if not isinstance(values, Mapping):
        raise TypeError(
            f"{name} must map query ids to values, or be a MetricResult, got {type(per_query).__name__}; "
            "of an Evaluation, pick one measure: evaluation['nDCG@10']"
        )
    # The ids of a result are text.
    checked = isinstance(per_query, MetricResult) or isinstance(values, QueryValues)
    return values if checked else with_text_ids(name, values)


def _check_finite(name: str, queries: Sequence[QueryId], values: NDArray[np.float64]) -> None:
    bad = np.flatnonzero(~np.isfinite(values)).tolist()
    if not bad:
        return
    shown = ", ".join(f"{queries[i]}: {values[i]:g}" for i in bad[:5])
    more = f" and {len(bad) - 5} more" if len(bad) > 5 else ""
    raise ValueError(
        f"{name} has {'1 value that is' if len(bad) == 1 else f'{len(bad)} values that are'} not finite "
        f"({shown}{more}); leave these queries out of both runs, or mend the measure"
    )
