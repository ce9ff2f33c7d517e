"""Rows that hardly repeat a value, as the batched inversions take them: in standard deviations of T."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, cut, rows_within
from ranklens.arrays.threads import for_each, n_cores
from ranklens.kernels.exact_folds import folded_sum
from ranklens.kernels.exact_recurrences import Nodes, squared_moduli
from ranklens.stats.exact.signed import Counts
from ranklens.stats.exact.tail import FlipTails

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)

LONG = 320
"""The width of a row from which on few nodes serve, and no single factor matters."""

_OF_LARGEST, _OF_MEAN = 0.125, 0.25
_WITNESSES, _WITNESS_NODES = 96, Nodes(512, 32)
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
        values = np.ascontiguousarray(own.magnitudes.T).astype(np.float64)
        unit = np.sqrt(folded_sum(values * values))
        begin = tails.begin[chosen]
        room = own.magnitudes.sum(axis=1) - begin
        return cls(values / unit, own.n, begin / unit, room / unit, own.atom, unit)

    def take(self, places: Counts) -> SmoothRows:
        """Return some of the rows."""
        return SmoothRows(
            self.values[:, places],
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

    def in_parts(self, compute: Callable[[slice], Any], nodes: Nodes, backend: Backend) -> list[Any]:
        """Call `compute` with as many rows as the cache or the memory budget holds; the results in order."""
        width, rows = self.values.shape
        cells = width * nodes.block
        most = max(1, _CELLS_AT_ONCE // cells) if backend.name == "numpy" else max(1, rows)
        length = rows_within(_COPIES * _FLOAT_BYTES * (cells + nodes.n), min(max(rows, 1), most), share=0.125)
        parts = list(cut(range(rows), length))
        results: dict[int, Any] = {}

        def run(part: range) -> None:
            results[part.start] = compute(slice(part.start, part.stop))

        for_each(run, parts, n_threads=n_cores() if backend.name == "numpy" else 1)
        return [results[part.start] for part in parts]

    def witnessed(self, some: slice, tanhs: Floats | None, step: Floats, first: int, backend: Backend) -> Any:
        """Bound the squared modulus at the nodes from `first` to 512 by 96 of the factors, shape (rows,).

        They come from all over the row, so that in a long one each stands for a quarter of its share.
        """
        width = self.values.shape[0]
        # Each row fills more than three quarters of its width.
        chosen = np.linspace(width // 4, width - 1, _WITNESSES).astype(np.int64)
        values = self.values[chosen, some]
        own = np.zeros_like(values) if tanhs is None else tanhs[chosen]
        ship = backend.asarray
        moduli = squared_moduli(ship(values), ship(own), ship(step), _WITNESS_NODES)
        return backend.xp.max(moduli[first:, :], axis=0) ** max(1.0, 0.25 * width / _WITNESSES)


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

    They enter with alternating signs and weights of 1/(π(k + ½)), so they add up to about
    1/(π√(2 · 192)), or 1/(π√(2 · 32)) in long rows, of their moduli's root mean square. More is allowed for,
    as values that are nearly commensurable bring the modulus back on many nodes at once.

    Parameters
    ----------
    largest : numpy.ndarray of float64, shape (rows,)
        The largest modulus seen late among the nodes, or beyond them.
    mean_square_root : numpy.ndarray of float64, shape (rows,)
        The root of the modulus's mean square over all frequencies, which for an untilted law is the chance
        that two draws of T are equal.
    """
    return _OF_LARGEST * largest + _OF_MEAN * mean_square_root
