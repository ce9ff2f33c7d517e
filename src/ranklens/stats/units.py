"""The units of a sample with weights or clusters, and the totals of differences in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Units:
    """What is flipped and resampled as one: queries, or clusters of them, of positive weight.

    Attributes
    ----------
    weights : numpy.ndarray of float64, shape (n_queries,)
        What each query counts for.
    place : numpy.ndarray of int64, shape (n_queries,)
        The unit of each query, numbered by the first query of each; -1 for a query of weight 0.
    sizes : numpy.ndarray of float64, shape (n,)
        The weight of each unit.
    clustered : bool
        Whether units are clusters.

    Examples
    --------
    >>> units = Units.of(np.array([1.0, 2.0, 1.0]), ["s1", "s2", "s1"])
    >>> units.sizes.tolist(), units.totals(np.array([0.5, 0.25, -0.5])).tolist()
    ([2.0, 2.0], [0.0, 0.5])
    """

    weights: Floats
    place: NDArray[np.int64]
    sizes: Floats
    clustered: bool

    @classmethod
    def of(cls, weights: Floats, names: Sequence[Any] | None) -> Units:
        """Number the units by their first query, so that no renaming of clusters changes a result."""
        place = np.full(len(weights), -1, dtype=np.int64)
        counted = np.flatnonzero(weights > 0.0)
        if names is None:
            place[counted] = np.arange(len(counted))
            return cls(weights, place, weights[counted], False)
        numbers: dict[Any, int] = {}
        for i in counted.tolist():
            place[i] = numbers.setdefault(names[i], len(numbers))
        return cls(weights, place, _sums(weights[counted], place[counted], len(numbers)), True)

    @property
    def n(self) -> int:
        """The number of units."""
        return len(self.sizes)

    @property
    def noun(self) -> str:
        """What the units are called."""
        return "clusters" if self.clustered else "queries of positive weight"

    @property
    def is_weighted(self) -> bool:
        """Whether queries differ in weight."""
        return bool(len(self.weights)) and bool(self.weights.min() != self.weights.max())

    @property
    def is_simple(self) -> bool:
        """Whether this is what it would be without weights and clusters."""
        return not self.is_weighted and self.n == len(self.weights)

    @property
    def even_size(self) -> float | None:
        """The size of every unit, or None where they differ: then a mean is a ratio of two random sums."""
        return float(self.sizes[0]) if self.n and self.sizes.min() == self.sizes.max() else None

    @classmethod
    def numbered(cls, weights: Floats, codes: NDArray[np.int64] | None) -> Units:
        """Do what `of` does for clusters that are whole numbers."""
        if codes is None:
            return cls.of(weights, None)
        place = np.full(len(weights), -1, dtype=np.int64)
        counted = np.flatnonzero(weights > 0.0)
        _, first, number = np.unique(codes[counted], return_index=True, return_inverse=True)
        by_first = np.empty(len(first), dtype=np.int64)
        by_first[np.argsort(first)] = np.arange(len(first))
        place[counted] = by_first[number]
        return cls(weights, place, _sums(weights[counted], place[counted], len(first)), True)

    def among(self, n_queries: int, places: NDArray[np.int64]) -> Units:
        """Return the same units where their queries stand at `places` among more, which take no part."""
        weights, place = np.zeros(n_queries), np.full(n_queries, -1, dtype=np.int64)
        weights[places], place[places] = self.weights, self.place
        return Units(weights, place, self.sizes, self.clustered)

    def totals(self, values: Floats) -> Floats:
        """Return Σ weight · value of each unit: from values by query (..., n_queries) to (..., n)."""
        counted = np.flatnonzero(self.place >= 0)
        weighted = (self.weights * values)[..., counted]
        if not self.clustered:
            # Sums are added up in the order of the memory.
            return np.ascontiguousarray(weighted)
        place = self.place[counted]
        if values.ndim == 1:
            return _sums(weighted, place, self.n)
        begins = np.arange(len(values))[:, None] * self.n
        flat = _sums(weighted.ravel(), (place + begins).ravel(), len(values) * self.n)
        return flat.reshape(len(values), self.n)

    def totals_on(self, values: Any, backend: Backend) -> Any:
        """Do what `totals` does for an array of any backend, where it lies."""
        if backend.name == "numpy":
            return self.totals(values)
        xp = backend.xp
        weighted = values * backend.asarray(self.weights)
        members = backend.asarray(self._members(), dtype=xp.int64)
        rows = tuple(values.shape[:-1])
        nothing = xp.zeros((*rows, 1), dtype=weighted.dtype, device=backend.device)
        padded = xp.concat([weighted, nothing], axis=-1)
        picked = xp.take(padded, xp.reshape(members, (-1,)), axis=-1)
        return xp.sum(xp.reshape(picked, (*rows, *members.shape)), axis=-1)

    def _members(self) -> NDArray[np.int64]:
        """Return the queries of each unit, shape (n, most), filled up with n_queries."""
        counted = np.flatnonzero(self.place >= 0)
        order = counted[np.argsort(self.place[counted], kind="stable")]
        counts = np.bincount(self.place[counted], minlength=self.n)
        starts = np.cumsum(counts) - counts
        within = np.arange(len(order)) - np.repeat(starts, counts)
        members = np.full((self.n, int(counts.max(initial=1))), len(self.weights), dtype=np.int64)
        members[self.place[order], within] = order
        return members


def _sums(values: Floats, place: NDArray[np.int64], n: int) -> Floats:
    return np.asarray(np.bincount(place, weights=values, minlength=n), dtype=np.float64)
