"""Characteristic functions of T = Σ ±a on many nodes, and how large they may still be beyond the last one."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.stats.exact.tail import FlipTail

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)

MOST_CELLS = 1 << 22
"""Nodes times distinct values of a lattice up to which all its nodes are taken, and the sum is exact."""

FEW_VALUES = 96
"""So many values are few enough for a thousand nodes, and many enough to bound a product of more."""

_CELLS_AT_ONCE = 1 << 16
_NEGLIGIBLE = 1e-14
_TINY = 1e-300
_DEAD = 60.0
_CAUTION = 30.0
_SCANNED_CELLS, _FEWEST_SCANNED, _MOST_SCANNED = 1 << 17, 2048, 16384
_SCANNED_MANY = (512, 2048)
_WITNESS_CELLS = 1 << 18
_LEAST_SINE = 0.5 * math.sin(1.0) ** 2
"""sin²(x)/2 is at least this times x² up to x = 1."""


@dataclass(frozen=True)
class Spectrum:
    """The magnitudes of a tail in standard deviations of T, as the nodes take them.

    Attributes
    ----------
    values : numpy.ndarray of float64, shape (k,)
        Ascending.
    multiplicities : numpy.ndarray of float64, shape (k,), or None
        None when every value stands for itself.
    threshold : float
        Where the tail begins: the smallest of its sums.
    room : float
        How far the threshold lies below the largest sum.
    half_step : float
        Half the distance of the atoms of T on a lattice, else 0.
    """

    values: Floats
    multiplicities: Floats | None
    threshold: float
    room: float
    half_step: float

    @property
    def caution(self) -> float:
        """What the largest modulus seen is multiplied by to bound those not seen."""
        return 1.0 if self.multiplicities is None else _CAUTION

    @property
    def unseen(self) -> float:
        """The root mean square of the modulus over all frequencies, unless different values make it larger.

        Its square is the chance that two draws of T are equal.
        """
        n_values = self.values.shape[0]
        return math.exp(
            0.5 * log_coincidence(np.ones(n_values) if self.multiplicities is None else self.multiplicities)
        )

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
        parts = [evaluate(*columns, ship(nodes[i : i + rows]), counted) for i in starts]
        if isinstance(parts[0], tuple):
            return tuple(backend.xp.concat(column) for column in zip(*parts, strict=True))
        return backend.xp.concat(parts)


def spectrum_of(tail: FlipTail) -> Spectrum:
    """Rescale a tail for inversion."""
    values, counts = tail.groups
    unit = tail.spread
    repeated = 2 * values.shape[0] <= tail.n
    return Spectrum(
        (values if repeated else tail.magnitudes) / unit,
        counts.astype(np.float64) if repeated else None,
        tail.begin / unit,
        (tail.total - tail.begin) / unit,
        (1 if tail.lattice else 0) / unit,
    )


def log_coincidence(times: Floats) -> float:
    """Return the logarithm of the chance that two draws of Σ ±a are equal, for different a so many `times`.

    Sums of different values are taken not to agree by themselves.
    """
    different, occurring = np.unique(times, return_counts=True)
    pairs = zip(different.tolist(), occurring.tolist(), strict=True)
    return math.fsum(many * _log_central(int(time)) for time, many in pairs)


@functools.lru_cache(maxsize=1024)
def _log_central(times: int) -> float:
    return math.lgamma(2 * times + 1) - 2.0 * math.lgamma(times + 1) - 2.0 * times * math.log(2.0)


def half_odd_nodes(n: int, step: float) -> Floats:
    """Return the first `n` odd multiples of half the step."""
    return (np.arange(n, dtype=np.float64) + 0.5) * step


def alive(spectrum: Spectrum, tanhs: Floats, nodes: Floats, n_witnesses: int = 2) -> Floats:
    """Return the nodes at which the most frequent values leave more of the modulus than any sum shows.

    `tanhs` are those of the tilt, zeros without one.
    """
    strength = spectrum.weighted(1.0 - tanhs * tanhs)
    strongest = np.argsort(-strength, kind="stable")[:n_witnesses]
    rows = max(1, _WITNESS_CELLS // len(strongest))
    kept = []
    for part in (nodes[i : i + rows] for i in range(0, len(nodes), rows)):
        sines = np.sin(np.multiply.outer(spectrum.values[strongest], part))
        exponents = np.sum(strength[strongest, None] * sines * sines, axis=0)
        kept.append(part[0.5 * exponents < _DEAD])
    return np.concatenate(kept)


def choose_nodes(spectrum: Spectrum, step: float, tanhs: Floats) -> tuple[int, Floats]:
    """Find how many nodes carry weight, and what the modulus may still be at those scanned beyond them.

    `tanhs` are those of the tilt, zeros without one. Few values are evaluated on thousands of nodes, whatever
    their modulus, the more the fewer they are; many on those nodes only at which it is not negligible.

    Returns
    -------
    n_nodes : int
    beyond : numpy.ndarray
        A bound of the modulus at each of the scanned nodes past them.
    """
    n_values = spectrum.values.shape[0]
    if n_values <= FEW_VALUES:
        n_scanned = min(max(_SCANNED_CELLS // n_values, _FEWEST_SCANNED), _MOST_SCANNED)
        return n_scanned // 2, _bounds(spectrum, tanhs, half_odd_nodes(n_scanned, step))[n_scanned // 2 :]
    for n_scanned in _SCANNED_MANY:
        bound = _bounds(spectrum, tanhs, half_odd_nodes(n_scanned, step))
        alive = int(np.flatnonzero(bound > _NEGLIGIBLE).max(initial=0)) + 2
        if alive <= n_scanned // 2:
            break
    # What comes back so late comes back again: it must be among what is seen beyond.
    n_nodes = min(alive, n_scanned // 2)
    return n_nodes, bound[n_nodes:]


def _bounds(spectrum: Spectrum, tanhs: Floats, nodes: Floats) -> Floats:
    bound = _gaussian(spectrum, tanhs, nodes)
    doubtful = np.flatnonzero(bound > _NEGLIGIBLE)
    bound[doubtful] = np.minimum(bound[doubtful], _witnessed(spectrum, tanhs, nodes[doubtful]))
    return bound


def even_at_least(minimum: float, divisor: int) -> int:
    """Round up to a multiple of `divisor`, which is even."""
    return divisor * max(1, math.ceil(minimum / divisor))


def _witnessed(spectrum: Spectrum, tanhs: Floats, nodes: Floats) -> Floats:
    """Bound the modulus by some of its factors √(1 - sin²(ya)/cosh²(ta)), each of which is at most 1."""
    n_values = spectrum.values.shape[0]
    most = max(FEW_VALUES, _WITNESS_CELLS // max(nodes.shape[0], 1))
    chosen = np.linspace(0, n_values - 1, min(n_values, most)).astype(np.int64)
    sines = np.sin(nodes[:, None] * spectrum.values[chosen])
    squares = np.maximum(1.0 - (1.0 - tanhs[chosen] ** 2) * sines * sines, _TINY)
    logs: Floats = np.sum(np.log(squares) * spectrum.weighted(np.ones(n_values))[chosen], axis=1)
    return np.exp(0.5 * logs)


def _gaussian(spectrum: Spectrum, tanhs: Floats, nodes: Floats) -> Floats:
    """Bound the modulus by the factors with angles up to 1; each is at most exp(-sin²(ya)/(2 cosh²(ta)))."""
    values = spectrum.values
    variances = np.cumsum(spectrum.weighted(values * values * (1.0 - tanhs * tanhs)))
    within = np.searchsorted(values, 1.0 / nodes, side="right")
    exponents: Floats = _LEAST_SINE * nodes * nodes * np.concatenate(([0.0], variances))[within]
    return np.exp(-exponents)
