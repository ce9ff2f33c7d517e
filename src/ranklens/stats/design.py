"""The design of the sample: what a query weighs, which queries belong together, and what is to be shown.

Queries with weights w and differences d estimate the ratio Σwd / Σw. A unit is what was drawn independently:
a query, or a cluster of queries (a session, the intents of one query). Each unit has a total Σwd and a size
Σw; the sign-flip test flips totals, and the bootstrap draws units and divides their totals by their sizes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import is_array, to_host
from ranklens.core.errors import InsufficientSampleError
from ranklens.core.per_query import QueryId
from ranklens.core.presentation import counted
from ranklens.stats.by_query import by_query
from ranklens.stats.masked import refuse_masked
from ranklens.stats.units import Units

_SHOWN = 3
_WIDEST_RANGE = 1e100


class Hypothesis(NamedTuple):
    """What one sign-flip test asks: whether the differences plus `shift` lie on the side `alternative`."""

    shift: float
    alternative: str


@dataclass(frozen=True, slots=True)
class Design:
    """How the queries were sampled, and the margin of a test.

    Attributes
    ----------
    weights : mapping from query id to float, series, frame, array of shape (n_queries,), or None
        What each query counts for, say its traffic; not negative. A query of weight 0 takes no part. Weights
        that are all equal change nothing.
    clusters : mapping from query id to a name, series, frame, array of shape (n_queries,), or None
        Queries of one name are flipped and resampled together.
    margin : float or None
        Positive, in the measure's unit. With ``alternative="greater"`` B is tested to be worse by less than
        the margin (non-inferiority: delta > -margin), with ``"less"`` to be above by less (delta < margin),
        with ``"two-sided"`` both (equivalence by two one-sided tests, whose larger p-value counts).

    Examples
    --------
    >>> design = Design.checked(weights={"q1": 3, "q2": 1}, margin=0.01)
    >>> design.units(("q1", "q2")).sizes.tolist(), design.hypotheses("greater")
    ([3.0, 1.0], (Hypothesis(shift=0.01, alternative='greater'),))
    """

    weights: Any = None
    clusters: Any = None
    margin: float | None = None

    @classmethod
    def checked(cls, weights: Any = None, clusters: Any = None, margin: Any = None) -> Design:
        """Check what can be checked before the queries are known."""
        level = None if margin is None else _positive(margin)
        return cls(by_query("weights", weights), by_query("clusters", clusters), level)

    @property
    def is_simple(self) -> bool:
        """Whether every query is a unit and they all weigh the same."""
        return self.weights is None and self.clusters is None

    def hypotheses(self, alternative: str) -> tuple[Hypothesis, ...]:
        """Return the tests to make; the largest p-value of them counts."""
        if self.margin is None:
            return (Hypothesis(0.0, alternative),)
        above, below = Hypothesis(self.margin, "greater"), Hypothesis(-self.margin, "less")
        return {"greater": (above,), "less": (below,), "two-sided": (above, below)}[alternative]

    def bound(self, queries: Sequence[QueryId]) -> Design:
        """Return the design with arrays turned to mappings, so that it serves any subset of `queries`."""
        weights = _by_query("weights", self.weights, queries)
        clusters = _by_query("clusters", self.clusters, queries)
        if weights is self.weights and clusters is self.clusters:
            return self
        return replace(self, weights=weights, clusters=clusters)

    def units(self, queries: Sequence[QueryId] | int) -> Units | None:
        """Return the units of these queries (or of so many without names); None for a simple design.

        Raises
        ------
        ValueError
            For weights that are negative, not finite or all zero, for queries without a weight or a cluster
            (the message names them), and for arrays of another length.
        """
        n = queries if isinstance(queries, int) else len(queries)
        weights = np.ones(n) if self.weights is None else _weights(self.weights, queries)
        names = None if self.clusters is None else _clusters(self.clusters, queries)
        if n and weights.min() == weights.max():
            weights = np.ones(n)
        units = Units.of(weights, names)
        return None if units.is_simple else units


SIMPLE = Design()
"""Every query is a unit, all weigh the same, and the test is against a difference of zero."""


def check_units(units: Units | None, n: int, minimum: int) -> None:
    """Raise InsufficientSampleError for fewer units than a method needs."""
    if units is not None and units.n < minimum <= n:
        raise InsufficientSampleError(units.n, minimum, unit=units.noun)


def _positive(margin: Any) -> float:
    try:
        value = float(margin)
    except (TypeError, ValueError):
        value = math.nan
    if not 0.0 < value < math.inf or isinstance(margin, bool):
        raise ValueError(
            f"margin must be a positive number in the measure's unit, got {margin!r}; leave it out to test "
            "against a difference of zero"
        )
    return value


def _weights(weights: Any, queries: Sequence[QueryId] | int) -> NDArray[np.float64]:
    try:
        values = np.asarray(_aligned("weights", weights, queries), dtype=np.float64)
    except (TypeError, ValueError) as error:
        if "weights" in str(error):
            raise
        raise ValueError(f"weights must be numbers: {error}") from error
    _refuse(~np.isfinite(values), values, queries, "not finite")
    _refuse(values < 0.0, values, queries, "negative")
    with np.errstate(over="ignore"):
        total = float(values.sum())
    if values.size and not 0.0 < total < math.inf:
        raise ValueError(
            f"weights must have a positive and finite sum, got {total:g} over "
            f"{counted(values.size, 'query', 'queries')}"
        )
    smallest, largest = values[values > 0.0].min(initial=math.inf), values.max(initial=0.0)
    if smallest < largest / _WIDEST_RANGE:
        raise ValueError(
            f"weights must lie within a factor of {_WIDEST_RANGE:g}, got {smallest:g} and {largest:g}; "
            "give 0 to the queries that count for nothing"
        )
    return values


def _refuse(
    bad: NDArray[np.bool_], values: NDArray[np.float64], queries: Sequence[QueryId] | int, what: str
) -> None:
    places = np.flatnonzero(bad).tolist()
    if places:
        kind = "position" if isinstance(queries, int) else "query"
        shown = [f"{i if isinstance(queries, int) else queries[i]}: {values[i]:g}" for i in places[:_SHOWN]]
        raise ValueError(
            f"weights has {len(places)} of {values.size} values that are {what} "
            f"(at {kind} {', '.join(shown)}{_more(places)}); a weight is a number of at least 0"
        )


def _clusters(clusters: Any, queries: Sequence[QueryId] | int) -> list[Any]:
    names = list(_aligned("clusters", clusters, queries))
    lacking = [i for i, name in enumerate(names) if name is None or name == "" or name != name]
    if lacking:
        shown = [str(i if isinstance(queries, int) else queries[i]) for i in lacking[:_SHOWN]]
        raise ValueError(
            f"clusters has no name for {len(lacking)} of {len(names)} queries "
            f"(first: {', '.join(shown)}{_more(lacking)}); give a query that stands alone a name of its own"
        )
    for i, name in enumerate(names):
        try:
            hash(name)
        except TypeError:
            place = i if isinstance(queries, int) else queries[i]
            raise ValueError(
                f"clusters has {name!r} as the name of {place}; a name is a text, a number or a tuple of them"
            ) from None
    return names


def _aligned(name: str, values: Any, queries: Sequence[QueryId] | int) -> Any:
    """Return a value for each query in turn, from a mapping or from an array of that length."""
    if isinstance(values, Mapping):
        return _looked_up(name, values, queries)
    refuse_masked(name, values, f"give a value for every query: {name}.filled(...)")
    if is_array(values):
        (host,) = to_host(values)
        values = host.tolist() if host.ndim == 1 else host
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        shape = f" of shape {values.shape}" if isinstance(values, np.ndarray) else ""
        raise ValueError(
            f"{name} must map query ids to values, or be a one-dimensional array with a value for each "
            f"query, got {type(values).__name__}{shape}"
        )
    n = queries if isinstance(queries, int) else len(queries)
    if len(values) != n:
        raise ValueError(
            f"{name} has {counted(len(values), 'value')} for {counted(n, 'query', 'queries')}; give one for "
            "each paired query in the order of their ids, or a mapping from query id to value"
        )
    return values


def _looked_up(name: str, values: Mapping[QueryId, Any], queries: Sequence[QueryId] | int) -> list[Any]:
    if isinstance(queries, int):
        raise ValueError(
            f"{name} maps query ids to values, but bare differences have no ids; give an array of {queries} "
            "values in their order"
        )
    lacking = [query for query in queries if query not in values]
    if lacking:
        raise ValueError(
            f"{name} has no value for {len(lacking)} of {len(queries)} paired queries "
            f"(first: {', '.join(map(str, lacking[:_SHOWN]))}{_more(lacking)}); add them, or leave these "
            "queries out"
        )
    return [values[query] for query in queries]


def _by_query(name: str, values: Any, queries: Sequence[QueryId]) -> Any:
    if values is None or isinstance(values, Mapping):
        return values
    return dict(zip(queries, _aligned(name, values, queries), strict=True))


def _more(places: Sequence[Any]) -> str:
    return f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
