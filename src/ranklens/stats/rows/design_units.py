"""The units of every row of a batch: queries, or clusters of them, that are measured in the row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.core.per_query import QueryId
from ranklens.stats.design import Design
from ranklens.stats.rows.batch import Batch
from ranklens.stats.scaling import exponents_of
from ranklens.stats.units import Units

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_UNKNOWN = -1
_LIGHTEST, _HEAVIEST = 1e-50, 1e50


@dataclass(frozen=True, slots=True)
class QueryDesign:
    """What the queries of a batch weigh and which belong together.

    Attributes
    ----------
    design : Design
        Whose weights and clusters map queries to values.
    queries : sequence
        The queries of the batch.
    weights : numpy.ndarray of float64, shape (n_queries,)
        NaN where the design does not say.
    codes : numpy.ndarray of int64, shape (n_queries,), or None
        Numbers of the clusters, -1 where the design does not say; None without clusters.
    """

    design: Design
    queries: Sequence[QueryId]
    weights: Floats
    codes: Counts | None

    @classmethod
    def of(cls, design: Design, queries: Sequence[QueryId]) -> QueryDesign:
        """Look every query up once."""
        weights = np.ones(len(queries))
        if design.weights is not None:
            weights = _weights(design, queries)
        codes = None if design.clusters is None else _codes(design.clusters, queries)
        return cls(design, queries, weights, codes)

    def units(self, inside: Counts | None) -> Units | None:
        """Return the units of some queries, as `Design.units` does; raises the same errors."""
        weights = self.weights if inside is None else self.weights[inside]
        codes = self.codes if self.codes is None or inside is None else self.codes[inside]
        if not _is_sound(weights, codes):
            named = self.queries if inside is None else [self.queries[i] for i in inside.tolist()]
            return self.design.units(named)
        return _units(weights, codes)

    def union(self) -> Units | None:
        """Return the units of all queries that the design speaks of; None where these are single queries."""
        known = np.isfinite(self.weights) & (self.weights >= 0.0)
        if self.codes is not None:
            known &= self.codes != _UNKNOWN
        places = np.flatnonzero(known)
        codes = None if self.codes is None else self.codes[places]
        units = _units(self.weights[places], codes)
        return None if units is None else units.among(len(self.queries), places)


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of a batch with as many units, which all have the sizes of one set of them.

    Attributes
    ----------
    rows : numpy.ndarray of int64, shape (k,)
        Their places in the batch.
    n : int
        The number of units.
    units : Units or None
        Those of the measured queries; None where these are the units and all weigh the same.
    inside : numpy.ndarray of int64, shape (n_measured,) or (k, n_measured), or None
        The measured queries of all rows, or of each; None for all queries.
    """

    rows: Counts
    n: int
    units: Units | None
    inside: Counts | None

    def among(self, rows: Counts) -> Group:
        """Return those of its rows that are among `rows` of the batch (ascending), by their places there."""
        at = np.searchsorted(rows, self.rows)
        chosen = np.flatnonzero(rows[np.minimum(at, len(rows) - 1)] == self.rows)
        inside = self.inside[chosen] if self.inside is not None and self.inside.ndim == 2 else self.inside
        return Group(at[chosen], self.n, self.units, inside)

    def part(self, some: slice) -> Group:
        """Return consecutive ones of its rows."""
        inside = self.inside[some] if self.inside is not None and self.inside.ndim == 2 else self.inside
        return Group(self.rows[some], self.n, self.units, inside)

    @property
    def even_size(self) -> float | None:
        """The size of every unit; None where they differ."""
        return 1.0 if self.units is None else self.units.even_size

    @property
    def sizes(self) -> Floats:
        """The sizes of the units, shape (n,)."""
        return np.ones(self.n) if self.units is None else self.units.sizes

    def exponents(self, values: Floats) -> Counts | None:
        """Return by which powers of two rows on the host are to be divided; None where all are moderate."""
        weight = 1.0 if self.units is None else float(self.units.sizes.sum())
        return exponents_of(np.abs(values).max(axis=1, initial=0.0), weight)

    def measured(self, values: Floats) -> Floats:
        """Return the measured values of rows on the host, from (k, n_queries) to (k, n_measured)."""
        if self.inside is None:
            return values
        if self.inside.ndim == 1:
            return np.ascontiguousarray(values[:, self.inside])
        return np.take_along_axis(values, self.inside, axis=1)

    def totals(self, values: Any, backend: Backend) -> Any:
        """Return the totals of the units, from (k, n_queries) to (k, n)."""
        if self.units is not None:
            units = self.units
            if self.inside is not None:
                units = units.among(int(values.shape[1]), self.inside)
            return units.totals_on(values, backend)
        if backend.name == "numpy" or self.inside is None:
            return self.measured(values) if backend.name == "numpy" else values
        xp = backend.xp
        if self.inside.ndim == 1:
            return xp.take(values, backend.asarray(self.inside, dtype=xp.int64), axis=1)
        flat = self.inside + np.arange(len(self.inside))[:, None] * int(values.shape[1])
        places = backend.asarray(flat.ravel(), dtype=xp.int64)
        return xp.reshape(xp.take(xp.reshape(values, (-1,)), places), tuple(self.inside.shape))


def groups_of(batch: Batch, design: QueryDesign) -> Iterator[Group]:
    """Yield the rows of each set of measured queries, or of each number of them where no more matters."""
    if batch.mask is None:
        units = design.units(None)
        yield _group(np.arange(batch.shape[0]), units, None, batch.shape[1])
    elif design.design.is_simple:
        for size in np.unique(batch.n_queries).tolist():
            rows = np.flatnonzero(batch.n_queries == size)
            yield Group(rows, size, None, batch.places(rows, size))
    else:
        for rows in _rows_by_mask(batch.mask):
            inside = np.flatnonzero(batch.mask[rows[0]])
            yield _group(rows, design.units(inside), inside, len(inside))


def _group(rows: Counts, units: Units | None, inside: Counts | None, n_queries: int) -> Group:
    return Group(rows, n_queries if units is None else units.n, units, inside)


def _rows_by_mask(mask: NDArray[np.bool_]) -> list[Counts]:
    places: dict[bytes, list[int]] = {}
    for i, packed in enumerate(np.packbits(mask, axis=1)):
        places.setdefault(packed.tobytes(), []).append(i)
    return [np.array(rows) for rows in places.values()]


def _weights(design: Design, queries: Sequence[QueryId]) -> Floats:
    found = [design.weights.get(query, np.nan) for query in queries]
    try:
        return np.array(found, dtype=np.float64)
    except (TypeError, ValueError):
        # It names what is no number.
        design.units([query for query in queries if query in design.weights])
        raise


def _codes(clusters: Mapping[QueryId, Any], queries: Sequence[QueryId]) -> Counts:
    numbers: dict[Any, int] = {}
    codes = np.full(len(queries), _UNKNOWN, dtype=np.int64)
    for i, query in enumerate(queries):
        name = clusters.get(query)
        if name is not None and name != "" and name == name:
            codes[i] = numbers.setdefault(name, len(numbers))
    return codes


def _is_sound(weights: Floats, codes: Counts | None) -> bool:
    """Whether nothing about the weights and clusters of some queries needs a closer look."""
    if codes is not None and (codes == _UNKNOWN).any():
        return False
    positive = weights[weights != 0.0]
    return bool((positive > _LIGHTEST).all() and (positive < _HEAVIEST).all() and positive.size)


def _units(weights: Floats, codes: Counts | None) -> Units | None:
    if len(weights) and weights.min() == weights.max():
        weights = np.ones(len(weights))
    units = Units.numbered(weights, codes)
    return None if units.is_simple else units
