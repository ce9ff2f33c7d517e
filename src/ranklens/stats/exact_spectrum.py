"""Characteristic functions of T = Σ ±a on many nodes, and how large they may still be beyond the last one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.kernels.exact_fourier import tilted_products
from ranklens.stats.exact_tail import FlipTail

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)

MOST_CELLS = 1 << 22
"""Nodes times distinct values of a lattice up to which its finite sum is taken whole."""

FEW_VALUES = 96
"""So many values are few enough for a thousand nodes, and many enough to bound a product of more."""

_CELLS_AT_ONCE = 1 << 16
_NEGLIGIBLE = 1e-14
_SCANNED_FEW, _SCANNED_MANY = 2048, 512
_LEAST_SINE = 0.5 * math.sin(1.0) ** 2
"""sin²(x)/2 is at least this times x² up to x = 1."""


@dataclass(frozen=True)
class Spectrum:
    """The magnitudes of a tail in the unit of the nodes.

    Attributes
    ----------
    values : numpy.ndarray of float64, shape (k,)
        Ascending.
    multiplicities : numpy.ndarray of float64, shape (k,), or None
        None when every value stands for itself.
    threshold : float
        Where the tail begins: between two atoms of T on a lattice.
    room : float
        How far the threshold lies below the largest sum.
    whole_lattice : bool
        Whether the unit is the lattice's own, so that the atoms of T are every second integer and a finite
        sum is exact. Otherwise it is the standard deviation of T.
    """

    values: Floats
    multiplicities: Floats | None
    threshold: float
    room: float
    whole_lattice: bool

    def weighted(self, per_value: Floats) -> Floats:
        """Multiply by the multiplicities."""
        return per_value if self.multiplicities is None else self.multiplicities * per_value

    def on_nodes(
        self, backend: Backend, evaluate: Callable[..., Any], nodes: Floats, *per_value: Floats
    ) -> Any:
        """Evaluate a product over the values at all nodes, a cacheful of them at a time."""
        ship = backend.asarray
        columns = [ship(column) for column in (self.values, *per_value)]
        counted = None if self.multiplicities is None else ship(self.multiplicities)
        rows = max(1, _CELLS_AT_ONCE // self.values.shape[0])
        starts = range(0, nodes.shape[0], rows)
        return backend.xp.concat([evaluate(*columns, ship(nodes[i : i + rows]), counted) for i in starts])


def spectrum_of(tail: FlipTail, *, whole_lattice: bool) -> Spectrum:
    """Rescale a tail for inversion on the lattice's own nodes, or in standard deviations."""
    values, counts = tail.groups
    unit = 1.0 if whole_lattice else tail.spread
    gap = 1 if tail.sums.lattice else 0
    begin = abs(tail.sums.observed) + (gap if tail.strict else -gap)
    repeated = 2 * values.shape[0] <= tail.n
    return Spectrum(
        (values if repeated else tail.sums.magnitudes) / unit,
        counts.astype(np.float64) if repeated else None,
        begin / unit,
        (tail.total - begin) / unit,
        whole_lattice,
    )


def half_odd_nodes(n: int, step: float) -> Floats:
    """Return the first `n` odd multiples of half the step."""
    return (np.arange(n, dtype=np.float64) + 0.5) * step


def choose_nodes(spectrum: Spectrum, step: float, tanhs: Floats) -> tuple[int, Floats]:
    """Find how many nodes carry weight, and what the modulus may still be at those scanned beyond them.

    `tanhs` are those of the tilt, zeros without one. Few values are evaluated on a thousand nodes, whatever
    their modulus; many on those nodes only at which it is not negligible.

    Returns
    -------
    n_nodes : int
    beyond : numpy.ndarray
        A bound of the modulus at each of the scanned nodes past them.
    """
    few = spectrum.values.shape[0] <= FEW_VALUES
    nodes = half_odd_nodes(_SCANNED_FEW if few else _SCANNED_MANY, step)
    bound = np.minimum(_witnessed(spectrum, tanhs, nodes), _gaussian(spectrum, tanhs, nodes))
    alive = int(np.flatnonzero(bound > _NEGLIGIBLE).max(initial=0)) + 2
    n_nodes = _SCANNED_FEW // 2 if few else min(alive, _SCANNED_MANY - 1)
    return n_nodes, bound[n_nodes:]


def even_at_least(minimum: float, divisor: int) -> int:
    """Round up to a multiple of `divisor`, which is even."""
    return divisor * max(1, math.ceil(minimum / divisor))


def _witnessed(spectrum: Spectrum, tanhs: Floats, nodes: Floats) -> Floats:
    """Bound the modulus by some of the factors, each of which is at most 1."""
    n_values = spectrum.values.shape[0]
    chosen = np.linspace(0, n_values - 1, min(n_values, FEW_VALUES)).astype(np.int64)
    counts = None if spectrum.multiplicities is None else spectrum.multiplicities[chosen]
    products: NDArray[np.complex128] = tilted_products(spectrum.values[chosen], tanhs[chosen], nodes, counts)
    return np.abs(products)


def _gaussian(spectrum: Spectrum, tanhs: Floats, nodes: Floats) -> Floats:
    """Bound the modulus by the factors with angles up to 1; each is at most exp(-sin²(ya)/(2 cosh²(ta)))."""
    values = spectrum.values
    variances = np.cumsum(spectrum.weighted(values * values * (1.0 - tanhs * tanhs)))
    within = np.searchsorted(values, 1.0 / nodes, side="right")
    exponents: Floats = _LEAST_SINE * nodes * nodes * np.concatenate(([0.0], variances))[within]
    return np.exp(-exponents)
