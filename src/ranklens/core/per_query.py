"""Values by query: one measure of one run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core import frames
from ranklens.core.presentation import Presentable, counted, fixed

QueryId = str

_HEADROOM = 64


class QueryIndex(Sequence[QueryId]):
    """An immutable sequence of distinct query ids that finds a position by id.

    The lookup table is made when it is first asked for, and shared by all measures over the same queries.
    """

    __slots__ = ("_ids", "_positions")

    def __init__(self, ids: Sequence[QueryId]) -> None:
        self._ids = tuple(ids)
        self._positions: dict[QueryId, int] | None = None

    def __getitem__(self, item: Any) -> Any:
        return self._ids[item]

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[QueryId]:
        return iter(self._ids)

    def __contains__(self, query: object) -> bool:
        return query in self._table()

    def __reduce__(self) -> tuple[Any, ...]:
        return QueryIndex, (self._ids,)

    def position(self, query: QueryId) -> int:
        """Return the position of `query`; KeyError when it is not there."""
        return self._table()[query]

    def _table(self) -> dict[QueryId, int]:
        if self._positions is None:
            self._positions = {query: i for i, query in enumerate(self._ids)}
        return self._positions


class QueryValues(Mapping[QueryId, float]):
    """A read-only mapping from query id to value that is a view of an id sequence and an array."""

    __slots__ = ("index", "values_array")

    def __init__(self, ids: Sequence[QueryId], values: NDArray[np.float64]) -> None:
        index = ids if isinstance(ids, QueryIndex) else QueryIndex(ids)
        view = np.asarray(values, dtype=np.float64).view()
        if view.shape != (len(index),):
            raise ValueError(
                f"values must have shape ({len(index)},), one for each query id, got {view.shape}"
            )
        view.flags.writeable = False
        self.index = index
        self.values_array = view

    def __getitem__(self, query: QueryId) -> float:
        return float(self.values_array[self.index.position(query)])

    def __iter__(self) -> Iterator[QueryId]:
        return iter(self.index)

    def __len__(self) -> int:
        return len(self.index)

    def __contains__(self, query: object) -> bool:
        return query in self.index

    def __reduce__(self) -> tuple[Any, ...]:
        return QueryValues, (self.index, self.values_array)

    def __repr__(self) -> str:
        return f"QueryValues({dict(self)!r})"


@dataclass(frozen=True, slots=True, repr=False)
class MetricResult(Presentable):
    """One measure of one run, by query.

    Parameters
    ----------
    metric : str
        The measure's canonical name, such as ``"nDCG@10"``.
    per_query : mapping from query id to float
        Read-only. `MetricResult.from_arrays` makes it a view of an array. Whole numbers as ids become text.

    Raises
    ------
    TypeError
        For an empty measure's name or one that is not text, for something other than a mapping, for ids
        that are neither text nor whole numbers, and for values that are not numbers.
    ValueError
        For ids that are the same as text.

    Examples
    --------
    >>> result = MetricResult("AP", {"q1": 0.5, "q2": 1.0})
    >>> result.mean, result.n_queries
    (0.75, 2)
    >>> print(result)
    AP 0.7500 over 2 queries
    """

    metric: str
    per_query: Mapping[QueryId, float] = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.metric, str) or not self.metric:
            raise TypeError(f"metric must be a measure's name, such as 'nDCG@10', got {self.metric!r}")
        if not isinstance(self.per_query, QueryValues):
            object.__setattr__(self, "per_query", MappingProxyType(_checked(self.metric, self.per_query)))

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled.
        view = self.per_query if isinstance(self.per_query, QueryValues) else dict(self.per_query)
        return MetricResult, (self.metric, view)

    @classmethod
    def from_arrays(
        cls, metric: str, query_ids: Sequence[QueryId], values: NDArray[np.float64]
    ) -> MetricResult:
        """Make a result whose `per_query` is a view of `query_ids` and `values`.

        Parameters
        ----------
        metric : str
        query_ids : sequence of str, length n_queries
            Distinct; whole numbers become text. A `QueryIndex` is taken as it is, and shared.
        values : array, shape (n_queries,)

        Raises
        ------
        TypeError
            For ids that are neither text nor whole numbers.
        ValueError
            For an id that occurs twice, for values of another shape, and for a masked array.

        Examples
        --------
        >>> MetricResult.from_arrays("AP", ["q1", "q2"], np.asarray([0.5, 1.0])).mean
        0.75
        """
        if isinstance(values, np.ma.MaskedArray):
            raise ValueError(
                f"values of {metric} is a masked array; leave out the queries without a value: "
                "query_ids[~values.mask], values.compressed()"
            )
        if not isinstance(query_ids, QueryIndex):
            query_ids = _distinct(metric, [query_id(query) for query in query_ids])
        return cls(metric, QueryValues(query_ids, values))

    @property
    def query_ids(self) -> Sequence[QueryId]:
        """The ids, in the order of `values`."""
        if isinstance(self.per_query, QueryValues):
            return self.per_query.index
        return tuple(self.per_query)

    @property
    def values(self) -> NDArray[np.float64]:
        """The values as a float64 array of shape (n_queries,), in the order of `query_ids`."""
        if isinstance(self.per_query, QueryValues):
            return self.per_query.values_array
        return np.fromiter(self.per_query.values(), dtype=np.float64, count=len(self.per_query))

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.per_query)

    @property
    def mean(self) -> float:
        """The mean over the queries, by an exactly rounded sum; NaN when there is no query."""
        if not self.per_query:
            return math.nan
        values = self.values
        try:
            return math.fsum(values.tolist()) / self.n_queries
        except OverflowError:
            # The sum is beyond the largest number, the mean is not.
            return math.ldexp(math.fsum(np.ldexp(values, -_HEADROOM).tolist()) / self.n_queries, _HEADROOM)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects, fit for JSON."""
        mean = self.mean
        return {
            "metric": self.metric,
            "mean": None if math.isnan(mean) else mean,
            "n_queries": self.n_queries,
            "per_query": {query: float(value) for query, value in self.per_query.items()},
        }

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame with the columns ``query`` and the measure's name (see `ranklens.core.frames`)."""
        return frames.to_frame({"query": list(self.per_query), self.metric: self.values.tolist()}, library)

    def __str__(self) -> str:
        if not self.per_query:
            return f"{self.metric} over no query"
        return f"{self.metric} {fixed(self.mean)} over {counted(self.n_queries, 'query', 'queries')}"


def _checked(metric: str, per_query: Any) -> dict[QueryId, float]:
    if not isinstance(per_query, Mapping):
        raise TypeError(
            f"per_query of {metric} must map query ids to values, got {type(per_query).__name__}; "
            "for arrays there is MetricResult.from_arrays(metric, query_ids, values)"
        )
    values = {query_id(query): value for query, value in per_query.items()}
    if len(values) < len(per_query):
        raise ValueError(f"per_query of {metric} has ids that are the same as text, such as 1 and '1'")
    for query, value in values.items():
        if not isinstance(value, Real):
            raise TypeError(
                f"per_query of {metric} must hold numbers, got {value!r} for query {query!r}; "
                "leave out a query without a value"
            )
    return values


def _distinct(metric: str, ids: list[QueryId]) -> QueryIndex:
    seen: set[QueryId] = set()
    for query in ids:
        if query in seen:
            raise ValueError(f"query_ids of {metric} holds {query!r} twice; a query has one value")
        seen.add(query)
    return QueryIndex(ids)


def query_id(query: Any) -> QueryId:
    """Return a query's id as text; TypeError for what is neither text nor a whole number.

    Examples
    --------
    >>> query_id("q1"), query_id(7)
    ('q1', '7')
    """
    if isinstance(query, str):
        return query
    if isinstance(query, bool) or not isinstance(query, Integral):
        raise TypeError(f"a query id must be text, got {query!r}")
    return str(query)
