"""The law of whole steps and noise together: the chance of so many steps with noise beyond a point."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.exact.clusters import clustered_chance
from ranklens.stats.exact.noise_steps import noise_atom
from ranklens.stats.exact.noisy import NoisySteps
from ranklens.stats.exact.spectrum import log_coincidence

Floats = NDArray[np.float64]

_REACH, _LATTICE_REACH = 8.5, 4.5
_NODES = 64
MOST_CELLS, _CELLS_AT_ONCE = 1 << 23, 1 << 18
_NEGLIGIBLE = 1e-8
_CAUTION, _MORE_CAUTION, _FADING = 4.0, 30.0, 0.3
_SAMPLED, _TOLD_APART = 2, 0.3
_EPS = float(np.finfo(np.float64).eps)


class NoisyLaw(NamedTuple):
    """The law of the whole steps and the noise together, tilted until a number of steps is its mean.

    Attributes
    ----------
    steps, noise : numpy.ndarray of float64, shape (n,)
        The noise in standard deviations of its sum.
    wanted : float
        The sum of signed steps of which the chance is asked.
    tanhs : numpy.ndarray of float64, shape (n,)
    log_scale : float
        The logarithm of the chance of the wanted sum over that under the tilt.
    """

    steps: Floats
    noise: Floats
    wanted: float
    tanhs: Floats
    log_scale: float

    @classmethod
    def of(cls, noisy: NoisySteps, flipped: int) -> NoisyLaw:
        steps = noisy.multiples.astype(np.float64)
        wanted = float(noisy.multiples.sum() - 2 * flipped)
        low, high = -350.0 / steps.max(), 350.0 / steps.max()
        for _ in range(60):
            tilt = 0.5 * (low + high)
            low, high = (tilt, high) if np.dot(steps, np.tanh(tilt * steps)) < wanted else (low, tilt)
        angles = np.abs(tilt * steps)
        log_mgf = float(np.sum(angles + np.log1p(np.exp(-2.0 * angles)))) - len(steps) * math.log(2.0)
        return cls(steps, noisy.noise / noisy.spread, wanted, np.tanh(tilt * steps), log_mgf - tilt * wanted)

    def chance(self, beyond: float, n_cells: int = MOST_CELLS) -> tuple[float, float, float] | None:
        """Return P(steps as wanted), the part of it with noise beyond a point, and a bound of its error.

        All three in units of exp(log_scale); None where that takes more than `n_cells` cosines. The error
        bounds what later nodes still add if they go on as the last ones, what those left out do if their
        phases are as good as random, and the chance at the point itself where values are nearly equal or the
        noise has blurred steps, for an inversion takes a part of that.
        """
        mean = float(np.dot(self.noise, self.tanhs))
        half_period = abs(beyond - mean) + _REACH
        nodes = (np.arange(_NODES) + 0.5) * 2.0 * math.pi / half_period
        frequencies, weight = self._frequencies(np.concatenate([[0.0], nodes[::_SAMPLED]]))
        if not 0 < len(frequencies) * _NODES * len(self.steps) <= n_cells:
            return None
        coincidence = self._coincidence()
        waves = 2.0 / math.pi / (np.arange(_NODES) + 0.5)
        at_zero, *others = self._at(frequencies, np.concatenate([[0.0], nodes])) * weight
        whole = float(at_zero.real)
        turned = np.asarray(others) * np.exp(-1j * nodes * beyond)
        part = 0.5 * whole + 0.5 * float(np.dot(waves, turned.imag))
        sizes = np.add.reduceat(waves * np.abs(turned), [_NODES // 4, _NODES // 2])
        fading = sizes[1] <= max(_FADING * float(sizes[0]), 4.0 * math.sqrt(max(whole, 0.0) * coincidence))
        late = float(sizes[1]) * (_CAUTION if fading else _MORE_CAUTION)
        unseen = 2.0 / math.pi * math.sqrt(max(whole, 0.0) * coincidence / (2.0 * _NODES))
        rounding = _EPS * 64.0 * (len(self.steps) + 16.0)
        resolved = _TOLD_APART / float(nodes[-1])
        clustered = clustered_chance(self.steps, self.noise, resolved)
        error = late + _CAUTION * unseen + _NEGLIGIBLE + rounding
        error += whole * max(noise_atom(self.steps, self.noise, resolved), clustered)
        return whole, min(max(part, 0.0), max(whole, 0.0)), error

    def _coincidence(self) -> float:
        """Return about the chance that two draws have the same noise, by how often values repeat."""
        _, times = np.unique(np.stack([self.steps, self.noise]), axis=1, return_counts=True)
        return math.exp(log_coincidence(times.astype(np.float64)))

    def _frequencies(self, sampled: Floats) -> tuple[Floats, float]:
        """Return the frequencies of the lattice at which anything is left of the law at some of the noise's.

        Noise that goes with the steps moves what is left to other frequencies of the lattice.
        """
        spread = math.sqrt(float(np.dot(self.steps, self.steps)))
        period = int(min(self.steps.sum(), math.ceil(_LATTICE_REACH * spread))) + 1
        if len(sampled) * period * len(self.steps) > MOST_CELLS:
            return np.zeros(0), 0.0
        all_of_them: Floats = math.pi / period * (np.arange(period, dtype=np.float64) - period // 2)
        seen = np.concatenate(
            [
                np.abs(self._products(part, sampled)).max(axis=1)
                for part in self._parts(all_of_them, len(sampled))
            ]
        )
        return all_of_them[seen > _NEGLIGIBLE], 1.0 / period

    def _at(self, frequencies: Floats, nodes: Floats) -> NDArray[np.complex128]:
        found = np.zeros(len(nodes), dtype=np.complex128)
        for part in self._parts(frequencies, len(nodes)):
            found += np.exp(-1j * part * self.wanted) @ self._products(part, nodes)
        return found

    def _products(self, frequencies: Floats, nodes: Floats) -> NDArray[np.complex128]:
        angles = np.multiply.outer(frequencies, self.steps)[:, None] + np.multiply.outer(nodes, self.noise)
        return np.asarray(np.prod(np.cos(angles) + 1j * self.tanhs * np.sin(angles), axis=-1))

    def _parts(self, frequencies: Floats, n_nodes: int) -> list[Floats]:
        rows = max(1, _CELLS_AT_ONCE // (n_nodes * len(self.steps)))
        return [frequencies[i : i + rows] for i in range(0, len(frequencies), rows)]
