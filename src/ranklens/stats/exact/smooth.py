"""Rows that hardly repeat a value, as the batched inversions take them: in standard deviations of T."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, cut, rows_within
from ranklens.arrays.compile import steady_length
from ranklens.arrays.threads import for_each, n_cores
from ranklens.kernels.exact_recurrences import Nodes
from ranklens.stats.exact.bounds import modulus_bounds, nodes_needed
from ranklens.stats.exact.signed import Counts
from ranklens.stats.exact.tail import FlipTails

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)

LONG = 320
"""The width of a row from which on few nodes serve, and no single factor matters."""

NODES_OF_SHORT, _SEEN_OF_SHORT = Nodes(192, 8), 64
_NODES_OF_LONG = (12, 14, 16, 18, 20, 24, 32, 64)

_OF_LARGEST, _OF_MEAN = 0.125, 0.25
_CELLS_AT_ONCE = 1 << 16
_COPIES, _FLOAT_BYTES = 12, 8


class SmoothRows(NamedTuple):
    """Magnitudes in units of the standard deviation of T, shape (width, rows), and where the tails begin.

    `n`, `threshold` and `room`, the distance from there to the largest sum, `atom`, a bound of the chance of
    any single sum, and the `unit` itself have shape (rows,).
    """

    values: Floats
    n: Counts
    threshold: Floats
    room: Floats
    atom: Floats
    unit: Floats

    @classmethod
    def of(cls, tails: FlipTails, chosen: Counts) -> SmoothRows:
        own = tails.sums.take(chosen)
        unit, begin = own.spread, tails.begin[chosen]
        values = np.ascontiguousarray(own.magnitudes.T) / unit
        return cls(values, own.n, begin / unit, (own.total - begin) / unit, own.atom, unit)

    def take(self, places: Counts) -> SmoothRows:
        """Return some of the rows."""
        return SmoothRows(
            columns_of(self.values, places),
            self.n[places],
            self.threshold[places],
            self.room[places],
            self.atom[places],
            self.unit[places],
        )

    @property
    def is_long(self) -> bool:
        """Whether so many values stand in a row that few nodes serve."""
        return int(self.values.shape[0]) >= LONG

    def in_parts(
        self,
        compute: Callable[[slice], Any],
        nodes: Nodes,
        backend: Backend,
        cells_at_once: int = _CELLS_AT_ONCE,
    ) -> list[Any]:
        """Call `compute` with as many rows as the cache or the memory budget holds; the results in order."""
        width, rows = self.values.shape
        cells = steady_width(width, backend) * nodes.block
        most = max(1, cells_at_once // cells) if backend.name == "numpy" else max(1, rows)
        length = rows_within(_COPIES * _FLOAT_BYTES * (cells + nodes.n), min(max(rows, 1), most), share=0.125)
        parts = list(cut(range(rows), length))
        results: dict[int, Any] = {}

        def run(part: range) -> None:
            results[part.start] = compute(slice(part.start, part.stop))

        for_each(run, parts, n_threads=n_cores() if backend.name == "numpy" and len(parts) > 1 else 1)
        return [results[part.start] for part in parts]


class NodeGroup(NamedTuple):
    """Rows that are inverted with the same nodes.

    Attributes
    ----------
    nodes : Nodes
    first_seen : int
        From which node on the modulus says how large it may be beyond the last.
    places : numpy.ndarray of int64, shape (k,)
    beyond : numpy.ndarray of float64, shape (k,)
        What else is known of the modulus there.
    """

    nodes: Nodes
    first_seen: int
    places: Counts
    beyond: Floats


def steady_width(width: int, backend: Backend) -> int:
    """Return the number of values, zeros included, with which a row of `width` of them is shipped."""
    return steady_length(width) if backend.name == "jax" else width


def shipped_columns(values: Floats, some: slice, backend: Backend) -> Any:
    """Ship consecutive columns of `values` (width, rows).

    On JAX zeros before them, which change no product and no sum, make their number one of few.
    """
    columns = np.ascontiguousarray(values[:, some])
    missing = steady_width(len(values), backend) - len(values)
    return backend.asarray(np.pad(columns, ((missing, 0), (0, 0))) if missing else columns)


def columns_of(values: Floats, places: Counts) -> Floats:
    """Return some columns; all of them in their order without a copy."""
    return values if np.array_equal(places, np.arange(values.shape[1])) else values[:, places]


def half_odd(n: int) -> Floats:
    """Return the first odd multiples of a half as a column (n, 1)."""
    return np.arange(n, dtype=np.float64)[:, None] + 0.5


def node_groups(rows: SmoothRows, tanhs: Floats | None, step: Floats) -> list[NodeGroup]:
    """Group rows by how many nodes they need; long ones that need many are taken as short ones.

    `tanhs` (width, rows) are those of a tilt, and `step` (rows,) is the distance of the nodes. Rows whose
    angles the recurrences cannot take are in no group: near the end of the support few nodes lie far apart.
    """
    usable = np.flatnonzero(step * rows.values[-1] <= 1.0)
    needed = np.zeros(len(usable), dtype=np.int64)
    if rows.is_long and usable.size:
        own = None if tanhs is None else columns_of(tanhs, usable)
        bounds = modulus_bounds(columns_of(rows.values, usable), own, step[usable])
        needed = nodes_needed(bounds, _NODES_OF_LONG)
    groups = []
    for n in np.unique(needed).tolist():
        some = np.flatnonzero(needed == n)
        if n:
            beyond = bounds[n:].max(axis=0)[some]
            groups.append(NodeGroup(Nodes(n, 1), n - 1, usable[some], beyond))
        else:
            groups.append(NodeGroup(NODES_OF_SHORT, _SEEN_OF_SHORT, usable[some], np.zeros(len(some))))
    return groups


class Inverted(NamedTuple):
    """P(T ≥ threshold) of some rows: exp(log_scale) times `mass`, which may be off by `error`."""

    mass: Floats
    error: Floats
    log_scale: Floats

    @property
    def log_tail(self) -> Floats:
        """The natural logarithm of the tail."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(self.mass, 0.0)) + self.log_scale)


def unseen(largest: Floats, mean_square_root: Floats) -> Floats:
    """Bound what the nodes left out amount to, in parts of the tail's scale.

    They enter with alternating signs and weights of 1/(π(k + ½)), so past 192 nodes they add up to about
    1/(π√(2 · 192)) of their moduli's root mean square. More is allowed for, as values that are nearly
    commensurable bring the modulus back on many nodes at once.

    Parameters
    ----------
    largest : numpy.ndarray of float64, shape (rows,)
        The largest modulus seen late among the nodes, or beyond them.
    mean_square_root : numpy.ndarray of float64, shape (rows,)
        The root of the modulus's mean square over all frequencies, which for an untilted law is the chance
        that two draws of T are equal.
    """
    return _OF_LARGEST * largest + _OF_MEAN * mean_square_root
