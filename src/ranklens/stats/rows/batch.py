"""A batch of samples over the same queries, some of which may not be measured in some rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, compiled, cut, is_array, open_backend, rows_within, steady, to_host
from ranklens.arrays.compile import steady_length, steady_rows
from ranklens.kernels.row_moments import compacted, measured_rows
from ranklens.stats.rows.jobs import Job, together
from ranklens.stats.sample import eps_of
from ranklens.stats.scaling import extreme_exponents

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Batch:
    """Differences (rows, queries) where they lie, and on the host which of them are measured.

    Attributes
    ----------
    deltas : array of float, shape (rows, queries)
        Of the backend's floating type; finite on the host, unless not measured.
    mask : numpy.ndarray of bool, shape (rows, queries), or None
        None when all are measured.
    backend : Backend
        Where `deltas` lie.
    eps : float
        The spacing of the type in which they were computed.
    """

    deltas: Any
    mask: NDArray[np.bool_] | None
    backend: Backend
    eps: float

    @classmethod
    def of(cls, deltas: Any, mask: Any, backend: Backend) -> Batch:
        """Check the shapes and types, and widen integers and booleans."""
        values = deltas if is_array(deltas) else _host_rows(deltas)
        if values.ndim != 2:
            raise ValueError(
                f"deltas must have shape (comparisons, queries), got {tuple(values.shape)}; "
                "permutation_test and paired_bootstrap take a single sample"
            )
        shape = tuple(values.shape)
        batch = cls(_as_floats(values, backend), _as_mask(mask, shape), backend, eps_of(deltas, backend))
        if backend.name == "numpy":
            batch.require_finite()
        return batch

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of queries."""
        rows, n = self.deltas.shape
        return int(rows), int(n)

    @property
    def n_queries(self) -> NDArray[np.int64]:
        """How many queries are measured in each row."""
        rows, n = self.shape
        return np.full(rows, n) if self.mask is None else np.count_nonzero(self.mask, axis=1)

    def within(self, rows: range) -> Batch:
        """Return consecutive rows."""
        part = slice(rows.start, rows.stop)
        mask = None if self.mask is None else self.mask[part]
        return Batch(self.deltas[part, :], mask, self.backend, self.eps)

    def take(self, rows: NDArray[np.int64]) -> Batch:
        """Return some rows."""
        if len(rows) == self.shape[0]:
            return self
        index = self.backend.asarray(rows, dtype=self.backend.xp.int64)
        mask = None if self.mask is None else self.mask[rows]
        return Batch(self.backend.xp.take(self.deltas, index, axis=0), mask, self.backend, self.eps)

    def extreme_exponents(self) -> NDArray[np.int64]:
        """Return for each row on the host e such that row · 2^-e is of moderate size; mostly 0."""
        rows, n = self.shape
        if self.backend.name != "numpy" or n == 0:
            return np.zeros(rows, dtype=np.int64)
        counted = True if self.mask is None else self.mask
        highest = np.max(self.deltas, axis=1, initial=0.0, where=counted)
        lowest = np.min(self.deltas, axis=1, initial=0.0, where=counted)
        return extreme_exponents(np.maximum(highest, -lowest))

    def scaled(self, exponents: NDArray[np.int64]) -> Batch:
        """Return the rows on the host times 2^`exponents`."""
        with np.errstate(over="ignore", under="ignore"):
            deltas = np.ldexp(self.deltas, exponents[:, None])
        return Batch(deltas, self.mask, self.backend, self.eps)

    def filled(self) -> tuple[Any, Any]:
        """Return the rows, zeros where nothing is measured, and how many values of each are not finite.

        On JAX zeros follow (`ranklens.arrays.steady`).
        """
        if self.backend.name == "numpy":
            values = self.deltas if self.mask is None else np.where(self.mask, self.deltas, 0.0)
            return values, np.zeros(self.shape[0])
        wanted = None if self.mask is None else steady(self.backend.asarray(self.mask), self.backend)
        return compiled(measured_rows, self.backend)(steady(self.deltas, self.backend), wanted)

    def gathered(self, values: Any, rows: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], Any]:
        """Return what is measured in some rows of `values`, `size` a row, as single samples would have it.

        On JAX rows may be repeated, and zeros follow, so that few shapes occur; the rows come back as they
        were taken.
        """
        backend, xp = self.backend, self.backend.xp
        places = self.places(rows, size)
        if places is None and len(rows) == self.shape[0]:
            return rows, values
        if backend.name == "jax":
            repeats = steady_rows(len(rows)) - len(rows)
            rows = np.pad(rows, (0, repeats), mode="edge")
            if places is not None:
                more = ((0, repeats), (0, 0)), ((0, 0), (0, steady_length(size) - size))
                places = np.pad(np.pad(places, more[0], mode="edge"), more[1], constant_values=-1)
        index = backend.asarray(rows, dtype=xp.int64)
        if places is None:
            return rows, xp.take(values, index, axis=0)
        taken = compiled(compacted, backend)(values, index, backend.asarray(places, dtype=xp.int64))
        return rows, taken

    def host_rows(self) -> NDArray[np.float64]:
        """Bring the rows to the host, zeros where nothing is measured; all of them finite."""
        (rows,) = together([self.fetched()])
        return np.asarray(rows)

    def fetched(self) -> Job[NDArray[np.float64]]:
        """Do what `host_rows` does, in one transfer with other jobs."""
        (host,) = yield (self.deltas,)
        host = np.asarray(host, dtype=np.float64)
        _require_finite(host, self.mask)
        return host if self.mask is None else np.where(self.mask, host, 0.0)

    def on_host(self, rows: NDArray[np.float64]) -> Batch:
        """Return the same batch of `rows`, which are those of `host_rows`."""
        return Batch(rows, self.mask, open_backend("numpy"), self.eps)

    def require_finite(self) -> None:
        """Raise a ValueError that counts and names the measured values that are NaN or infinite."""
        _require_finite(to_host(self.deltas)[0], self.mask)

    def by_size(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield each number of measured queries, and the rows that have it; rows without any are left out."""
        sizes = self.n_queries
        for size in np.unique(sizes).tolist():
            if size:
                yield size, np.flatnonzero(sizes == size)

    def places(self, rows: NDArray[np.int64], size: int) -> NDArray[np.int64] | None:
        """Return the measured places (rows, size) of rows with `size` of them; None where that is all."""
        if self.mask is None or size == self.shape[1]:
            return None
        return np.nonzero(self.mask[rows])[1].reshape(len(rows), size)


def _host_rows(values: Any) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"deltas must be rows of numbers, all of one length: {error}") from error
    return array.astype(np.float64) if array.size == 0 else array


def _as_floats(values: Any, backend: Backend) -> Any:
    if isinstance(values, np.ndarray):
        if values.dtype.kind not in "fiub":
            raise ValueError(f"deltas must be real numbers, got an array of {values.dtype}")
        return backend.asarray(values.astype(np.float64, copy=False))
    if not backend.xp.isdtype(values.dtype, ("bool", "integral", "real floating")):
        raise ValueError(f"deltas must be real numbers, got an array of {values.dtype}")
    return backend.asarray(values, dtype=backend.float_dtype)


def _as_mask(mask: Any, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    if mask is None:
        return None
    host = to_host(mask)[0] if is_array(mask) else np.asarray(mask)
    if host.dtype != np.bool_:
        raise ValueError(f"mask must hold booleans (True where a query is measured), got {host.dtype}")
    if host.shape not in (shape, shape[1:]):
        raise ValueError(f"mask must have the shape of deltas, {shape}, or of a row of it, got {host.shape}")
    full = np.broadcast_to(host, shape)
    return None if full.all() else full


def _require_finite(host: NDArray[Any], mask: NDArray[np.bool_] | None) -> None:
    rows, n = host.shape
    found = []
    for part in cut(range(rows), rows_within(2 * n, rows, share=0.25)):
        bad = ~np.isfinite(host[part.start : part.stop])
        if mask is not None:
            bad &= mask[part.start : part.stop]
        if bad.any():
            found.append(np.add(np.argwhere(bad), [part.start, 0]))
    if not found:
        return
    places = np.concatenate(found)
    shown = ", ".join(f"comparison {row} query {query}" for row, query in places[:_SHOWN].tolist())
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    raise ValueError(
        f"deltas has {len(places)} of {host.size} values that are not finite (at {shown}{more}); "
        "leave them out with mask=, or repair the values"
    )
