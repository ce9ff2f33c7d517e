"""The documents of all queries in one matrix, each query's in the order that breaks ties."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, backend_of, to_host
from ranklens.core import DataError, DataWarning, QueryIndex
from ranklens.core.errors import nearest_names
from ranklens.core.user_line import warn_user
from ranklens.explain.models.base import Model
from ranklens.io.query_features import QueryFeatures
from ranklens.io.whole_numbers import require_exact

Queries = QueryFeatures | Iterable[QueryFeatures]
Floats = NDArray[np.float64]

_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Stack:
    """Queries sorted by id, and below each other their documents, sorted by id descending.

    A stable sort by score then breaks ties as `ranklens.evaluate` does.

    Attributes
    ----------
    query_ids : QueryIndex
        Q ids.
    starts : int64 array, shape (Q + 1,)
        The documents of query q are ``starts[q]`` to ``starts[q + 1]``.
    documents : tuple of str
        All N documents.
    features : array, shape (N, k)
        On the device where they came from.
    host : array, shape (N, k)
        The same on the host.
    grades : float64 array, shape (N,)
        -inf for documents without a judgement.
    pools : list of float64 arrays
        All grades of each query, descending, those of documents that are not ranked included.
    from_array : bool
        Whether the features of a query were given as an array.
    """

    query_ids: QueryIndex
    starts: NDArray[np.int64]
    documents: tuple[str, ...]
    features: Any
    host: NDArray[Any]
    grades: Floats
    pools: list[Floats]
    from_array: bool

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many documents each query has, shape (Q,)."""
        return np.diff(self.starts)

    @property
    def max_grade(self) -> float:
        """The largest grade of all, at least 0."""
        return max((float(pool[0]) for pool in self.pools if pool.size), default=0.0)

    def rows(self, index: NDArray[np.int64]) -> Any:
        """Return the features of some documents, where they came from."""
        if isinstance(self.features, np.ndarray):
            return self.features[index]
        backend = backend_of(self.features)
        with backend.current():
            return backend.xp.take(self.features, backend.asarray(index), axis=0)

    def on(self, backend: Backend, dtype: Any = None) -> Any:
        """Return the features on a backend, by default in their own type, not moved without need.

        Inside ``backend.precise()``.
        """
        dtype = dtype or getattr(backend.xp, self.host.dtype.name)
        if not isinstance(self.features, np.ndarray):
            own = backend_of(self.features)
            if (own.name, own.device) == (backend.name, backend.device):
                return backend.asarray(self.features, dtype)
        return backend.asarray(self.host, dtype)


def backend_for(model: Model, queries: Sequence[QueryFeatures]) -> Backend:
    """Return where a model is asked about queries.

    That is the model's own backend; else where their features lie, if any were given as an array; else the
    current one.
    """
    return model.backend_for(next((query.features for query in queries if query.from_array), ()))


def query_list(queries: Queries) -> list[QueryFeatures]:
    """Return the queries sorted by id.

    Raises
    ------
    TypeError
        When something is no `QueryFeatures`.
    DataError
        When there is none, or an id occurs twice.
    """
    found = [queries] if isinstance(queries, QueryFeatures) else list(queries)
    for query in found:
        if not isinstance(query, QueryFeatures):
            raise TypeError(
                f"queries must hold QueryFeatures, got {type(query).__name__}; make them with "
                "QueryFeatures.of, QueryFeatures.from_frame or read_letor"
            )
    if not found:
        raise DataError("queries is empty; give at least one")
    found.sort(key=lambda query: query.query_id)
    for one, other in pairwise(found):
        if one.query_id == other.query_id:
            raise DataError(f"queries holds {one.query_id!r} twice; ids must be distinct")
    return found


def judged_queries(queries: Queries) -> list[QueryFeatures]:
    """Return the queries that can be measured, sorted by id.

    Those without a judgement are left out, and counted in a warning.

    Raises
    ------
    DataError
        When none is left; else as `query_list`.
    """
    found = query_list(queries)
    judged = [query for query in found if query.grades]
    if not judged:
        raise DataError(f"none of the {len(found)} queries has a judgement; give QueryFeatures.of grades")
    if len(judged) < len(found):
        left_out = [query.query_id for query in found if not query.grades]
        shown = ", ".join(left_out[:_SHOWN]) + (", …" if len(left_out) > _SHOWN else "")
        count = "1 query" if len(left_out) == 1 else f"{len(left_out)} queries"
        warn_user(f"{count} without a judgement left out: {shown}", DataWarning)
    return judged


def stacked(queries: Queries, names: Sequence[str], *, others: Iterable[str] = ()) -> Stack:
    """Put the documents of all queries below each other.

    Parameters
    ----------
    queries : QueryFeatures or iterable of them
        Columns with names are aligned to `names`; those without are taken to be in that order.
    names : sequence of str
        The k features.
    others : iterable of str
        Columns that may be there beside them.

    Raises
    ------
    DataError
        When a query lacks a feature, or has one that nobody asked for.
    """
    found = query_list(queries)
    aligned = _Alignment(tuple(names), frozenset(others))
    orders = [_by_id_descending(query.documents) for query in found]
    parts = [
        _picked(query.features, order, aligned.columns(query))
        for query, order in zip(found, orders, strict=True)
    ]
    for query, part in zip(found, parts, strict=True):
        if isinstance(part, np.ndarray):
            require_exact(part, names, f"query {query.query_id!r}")
    features = _joined(parts)
    host = to_host(features)[0]
    require_exact(host, names, "queries")
    documents = tuple(q.documents[i] for q, order in zip(found, orders, strict=True) for i in order)
    grades = [q.grades.get(q.documents[i], -np.inf) for q, o in zip(found, orders, strict=True) for i in o]
    return Stack(
        query_ids=QueryIndex([query.query_id for query in found]),
        starts=np.cumsum([0, *(len(query.documents) for query in found)]),
        documents=documents,
        features=features,
        host=host,
        grades=np.asarray(grades, dtype=np.float64),
        from_array=any(query.from_array for query in found),
        pools=[np.sort(np.asarray(list(q.grades.values()), dtype=np.float64))[::-1] for q in found],
    )


class _Alignment:
    """Where the columns of queries stand among the features; looked up once for each list of names."""

    def __init__(self, names: tuple[str, ...], others: frozenset[str]) -> None:
        self._names = names
        self._others = others
        self._known: dict[tuple[str, ...], list[int] | None] = {names: None}

    def columns(self, query: QueryFeatures) -> list[int] | None:
        """Return the column of each feature; None where they are in order already."""
        if query.names is None:
            if query.n_features != len(self._names):
                raise self._of_another_width(query)
            return None
        if query.names not in self._known:
            self._known[query.names] = self._looked_up(query.names, query.query_id)
        return self._known[query.names]

    def _of_another_width(self, query: QueryFeatures) -> DataError:
        width, known = query.n_features, len(self._names)
        advice = f"name them, or give read_letor n_features={known}"
        if known == width + 1:
            advice += (
                " and first=0 (for a model that LightGBM or XGBoost trained on such a file by itself: it "
                "counts features from 0) or first=1"
            )
        return DataError(
            f"query {query.query_id!r} has {width} features without names, and the model {known}; {advice}"
        )

    def _looked_up(self, given: tuple[str, ...], query: str) -> list[int]:
        position = {name: i for i, name in enumerate(given)}
        for name in self._names:
            if name not in position:
                near = nearest_names(name, given) or list(given)[:6]
                raise DataError(
                    f"query {query!r} lacks the feature {name!r}; it has {', '.join(map(repr, near))}"
                )
        surplus = [name for name in given if name not in self._names and name not in self._others]
        if surplus:
            raise DataError(
                f"query {query!r} has {surplus[0]!r}, which is no feature of the model; leave it out"
            )
        return [position[name] for name in self._names]


def _by_id_descending(documents: tuple[str, ...]) -> list[int]:
    # Code points sort as their UTF-8 bytes do.
    return sorted(range(len(documents)), key=documents.__getitem__, reverse=True)


def _picked(features: Any, order: list[int], columns: list[int] | None) -> Any:
    if isinstance(features, np.ndarray):
        found = features[order]
        return found if columns is None else found[:, columns]
    backend = backend_of(features)
    with backend.current():
        found = backend.xp.take(features, backend.asarray(np.asarray(order)), axis=0)
        if columns is None:
            return found
        return backend.xp.take(found, backend.asarray(np.asarray(columns)), axis=1)


def _joined(parts: list[Any]) -> Any:
    """Stack matrices, on their device where all lie on one."""
    if not any(isinstance(part, np.ndarray) for part in parts):
        places = {(b.name, str(b.device), str(p.dtype)) for p in parts for b in [backend_of(p)]}
        if len(places) == 1:
            backend = backend_of(parts[0])
            with backend.current():
                return backend.xp.concat(parts, axis=0)
    host = np.concatenate([to_host(part)[0] for part in parts], axis=0)
    return host if host.dtype in (np.float32, np.float64) else host.astype(np.float64)
