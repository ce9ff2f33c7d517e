"""Differences that lie near a lattice but not on it: whole steps, and what is left of each after rounding."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.exact.clusters import clustered_chance
from ranklens.stats.exact.steps import commensurable_multiples

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_RATIO_SLACK = 32.0
_NOISE = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 1e-9, 1e-10, 1e-11)
"""Relative to the largest difference; tried from above, as a coarse lattice says more than a fine one."""

_BLURS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""Of steps of the noise, in parts of its largest."""

_PAIRS, _ALIKE = 100, 0.05
_ATOM = 3.0
"""The chance of a point in the middle of the noise is at most this over its spread, in its own steps."""
_SURE, _BELIEVED = 0.1, 0.7
MOST_AMBIGUOUS = 24

_SCALES = np.array(
    sorted(
        c * 10.0**j * 2.0**-k
        for c, j in ((1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2.52, 3))
        for k in range(17)
    )
)
"""Steps per unit of the largest difference's power of two, for those that scores and measures have."""

_STRAYING = 0.25
_GLANCE = 48
_REACH, _SURE_REACH, _LATTICE_REACH = 8.5, 9.5, 4.5
_NODES = 64
MOST_CELLS, _CELLS_AT_ONCE = 1 << 23, 1 << 18
_NEGLIGIBLE = 1e-8
_CAUTION, _MORE_CAUTION, _FADING = 4.0, 30.0, 0.3
_SAMPLED, _TOLD_APART = 2, 0.3
_MOST_LATTICES, _LESS = 3, 0.25
_EPS = float(np.finfo(np.float64).eps)


class NoisySteps(NamedTuple):
    """Magnitudes as ``step · multiples + noise``, whole numbers all; shapes (n,)."""

    step: int
    multiples: Counts
    noise: Counts

    @classmethod
    def near(cls, magnitudes: Counts) -> list[NoisySteps]:
        """Find the widest lattices from which no difference strays by much of a step, at most three."""
        found: list[NoisySteps] = []
        for multiples in _candidates(magnitudes.astype(np.float64)):
            own = multiples // np.gcd.reduce(multiples)
            squares = float(np.dot(own.astype(np.float64), own.astype(np.float64)))
            step = round(float(np.dot(magnitudes.astype(np.float64), own)) / squares)
            noisy = cls(step, own, magnitudes - step * own)
            # Where most are noise, conditioning on the others does better.
            suits = 2 * np.count_nonzero(own) >= len(own) and noisy.reach < MOST_AMBIGUOUS * step
            # A finer lattice serves only with less noise in its steps.
            if suits and (not found or noisy.spread < _LESS * found[-1].spread):
                found.append(noisy)
            if len(found) == _MOST_LATTICES:
                break
        return found

    @property
    def spread(self) -> float:
        """The standard deviation of the signed noise."""
        own = self.noise.astype(np.float64)
        return max(math.sqrt(float(np.dot(own, own))), 1.0)

    @property
    def reach(self) -> int:
        """How large the signed noise gets, but for a chance below 1e-19."""
        return min(int(np.abs(self.noise).sum()), math.ceil(_SURE_REACH * self.spread))

    def ambiguous(self, limit: int) -> range:
        """Return the numbers of flipped steps at which the noise decides whether a subset fits."""
        flipped_noise = int(self.noise.sum())
        most, least = (flipped_noise + self.reach) // 2 + 1, (flipped_noise - self.reach) // 2
        return range((limit - most) // self.step + 1, (limit - least) // self.step + 1)


def _candidates(values: Floats) -> Iterator[Counts]:
    scaled = np.ldexp(values, 10 - int(np.frexp(values.max())[1]))
    few = scaled[np.linspace(0, len(scaled) - 1, min(len(scaled), _GLANCE)).astype(np.int64)]
    steps = np.multiply.outer(_SCALES, few)
    for i in np.flatnonzero(np.abs(steps - np.rint(steps)).max(axis=1) <= _STRAYING).tolist():
        multiples = np.rint(scaled * _SCALES[i])
        if multiples.any() and np.abs(scaled * _SCALES[i] - multiples).max() <= _STRAYING:
            yield multiples.astype(np.int64)
    for noise in _NOISE:
        found, own = commensurable_multiples(
            values[None], noise / _RATIO_SLACK, sure=_SURE, believed=_BELIEVED
        )
        if found[0] and own.any():
            yield own[0]


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

        All three in units of exp(log_scale); None where that takes more than `n_cells` cosines.
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
        # Two sums of m fair signs are equal with a chance of about 1/√(πm), and 1/2 for m = 1.
        return float(np.exp(-np.sum(np.log(np.maximum(np.sqrt(math.pi * times), 2.0)))))

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


def noise_atom(steps: Floats, noise: Floats, resolved: float) -> float:
    """Return the chance that signed noise may have at a single point because it has steps of its own.

    What goes with the steps moves all noise alike, given their sum. Blurred steps count as well, unless the
    blur is `resolved`.
    """
    if not noise.any():
        return 1.0
    own = noise - _common_slope(steps, noise) * steps
    largest = float(np.abs(own).max())
    if largest <= resolved:
        return 1.0
    atom = 0.0
    for blur in _BLURS:
        if blur * largest <= resolved:
            found, multiples = commensurable_multiples(
                own[None], blur / _RATIO_SLACK, sure=_SURE, believed=_BELIEVED
            )
            spread = math.sqrt(float(np.sum(multiples[0].astype(np.float64) ** 2)))
            atom = max(atom, min(1.0, _ATOM / max(spread, 1.0))) if found[0] else atom
    return atom


def _common_slope(steps: Floats, noise: Floats) -> float:
    """Return the slope of the noise over the steps at which most pairs of values lie close together."""
    few = np.linspace(0, len(steps) - 1, min(len(steps), _PAIRS)).astype(np.int64)
    first, second = np.triu_indices(len(few), 1)
    apart = steps[few[first]] - steps[few[second]]
    rises = (noise[few[first]] - noise[few[second]])[apart != 0.0]
    slopes = np.sort(rises / apart[apart != 0.0])
    width = math.ceil(_ALIKE * len(slopes))
    if not width:
        return 0.0
    densest = int(np.argmin(slopes[width - 1 :] - slopes[: len(slopes) - width + 1]))
    return float(slopes[densest + width // 2])
