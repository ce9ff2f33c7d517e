"""The far tail: tilt the law until the observed sum is its mean, then invert."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ranklens.arrays import Backend, to_host
from ranklens.kernels.exact_fourier import tilted_products, tilted_tail
from ranklens.stats.exact.returning import returning
from ranklens.stats.exact.spectrum import (
    EPS,
    MOST_CELLS,
    Floats,
    Spectrum,
    alive,
    choose_nodes,
    even_at_least,
    half_odd_nodes,
    spectrum_of,
)
from ranklens.stats.exact.tail import FlipTail, Mass

STEP = "tilted characteristic function"

_REACH = 9.0
_FADED = 38.0
"""exp(-38) is below 1e-16: where the tilted tail has faded away."""

_LEAST_TILT = 0.5
_WITNESSES = (2, 16)
_MOST_TILT = 1e6


@dataclass(frozen=True)
class Tilt:
    """The exponential tilt of T, in the unit of a spectrum.

    Attributes
    ----------
    rate : float
        t > 0 in the density exp(t T).
    spread : float
        The tilted standard deviation.
    log_scale : float
        log(2^n · exp(K(t) - t·threshold)).
    tanhs : numpy.ndarray of float64, shape (k,)
        tanh(t a) of the values.
    """

    rate: float
    spread: float
    log_scale: float
    tanhs: Floats

    @property
    def period(self) -> float:
        """A distance at which neither the tilted law nor its fading tail overlaps with itself."""
        return _REACH * self.spread + _FADED / self.rate


def tilt_of(spectrum: Spectrum, least: float = _LEAST_TILT) -> Tilt:
    """Solve Σ a tanh(t a) = threshold by Newton's method inside a bracket, down to `least` over sd(T)."""
    values, squares = spectrum.values, spectrum.values**2
    unit = math.sqrt(float(np.sum(spectrum.weighted(squares))))
    low, high = 0.0, _MOST_TILT / float(values[-1])
    rate = min(spectrum.threshold / unit**2, 0.5 * high)
    for _ in range(60):
        tanhs = np.tanh(rate * values)
        excess = float(np.sum(spectrum.weighted(values * tanhs))) - spectrum.threshold
        low, high = (rate, high) if excess < 0.0 else (low, rate)
        slope = float(np.sum(spectrum.weighted(squares * (1.0 - tanhs * tanhs))))
        moved = rate - excess / slope if slope > 0.0 else math.nan
        former, rate = rate, moved if low < moved < high else 0.5 * (low + high)
        # Any tilt gives the right tail; one near the saddlepoint gives it with the fewest nodes.
        if abs(rate - former) <= 1e-3 * rate:
            break
    return _tilt_at(spectrum, max(rate, least / unit))


class TiltedSpectrum(NamedTuple):
    """The spectrum of a tail, and the tilt that makes its beginning the mean."""

    spectrum: Spectrum
    tilt: Tilt

    @classmethod
    def of(cls, tail: FlipTail, least: float = _LEAST_TILT) -> TiltedSpectrum:
        spectrum = spectrum_of(tail)
        return cls(spectrum, tilt_of(spectrum, least))

    @property
    def lattice_nodes(self) -> int:
        """How many nodes a lattice has: with all of them the inversion is a finite sum."""
        return even_at_least(self.tilt.period / (2.0 * self.spectrum.half_step), 2) // 2

    def log_tail(self, n: int) -> float:
        """Estimate the natural logarithm of the tail of n values, to a few percent, by its saddlepoint."""
        width = max(self.tilt.rate * self.tilt.spread, 0.4)
        return self.tilt.log_scale - n * math.log(2.0) - math.log(width * math.sqrt(2.0 * math.pi))


def tilted_inversion(
    tail: FlipTail, backend: Backend, tilted: TiltedSpectrum | None = None, most_nodes: int = 0
) -> Mass:
    """Invert the tilted characteristic function, whose factors never exceed 1 in modulus.

    ``P(T ≥ s) = exp(K(t) - t s)/π · ∫ Re{exp(-iys) ∏ [cos(y a) + i tanh(t a) sin(y a)] / (t + iy)} dy`` over
    the positive y, by the midpoint rule. The reported error is the sum of the moduli
    that were seen beyond the last node, or half of the largest where that is more. Up to `most_nodes` of a
    lattice are all taken even where they are many for its distinct values.
    """
    tilted = tilted or TiltedSpectrum.of(tail)
    spectrum, tilt = tilted
    period, n_nodes, beyond = tilt.period, 0, 0.0
    if spectrum.half_step:
        n_nodes = tilted.lattice_nodes
        period = 4.0 * n_nodes * spectrum.half_step
    step = 2.0 * math.pi / period
    if not n_nodes or (n_nodes > most_nodes and n_nodes * spectrum.values.shape[0] > MOST_CELLS):
        n_nodes, left = choose_nodes(spectrum, step, tilt.tanhs)
        far = half_odd_nodes(n_nodes + left.shape[0], step)[n_nodes:]
        seen = step / math.pi * float(np.sum(left / np.hypot(tilt.rate, far)))
        beyond = spectrum.caution * max(seen, 0.5 * float(left.max()))
    inverted = max(_invert(spectrum, tilt, n_nodes, step, backend, _WITNESSES[most_nodes > 0]), EPS * beyond)
    if beyond:
        beyond += 2.0 * max(1.0, spectrum.threshold) * returning(tail, n_nodes * step) * inverted
    doublings = math.floor(tilt.log_scale / math.log(2.0))
    scale = math.exp(tilt.log_scale - doublings * math.log(2.0))
    atom = 0.0 if spectrum.half_step else math.ldexp(1.0, -min(doublings, 1000))
    rounding = EPS * (64.0 * tail.n + abs(tilt.log_scale) + 256.0) * inverted
    return Mass(scale * inverted, tail.n - doublings, scale * (beyond + rounding) + atom, STEP)


def _tilt_at(spectrum: Spectrum, rate: float) -> Tilt:
    angles = rate * spectrum.values
    tanhs = np.tanh(angles)
    variance = float(np.sum(spectrum.weighted(spectrum.values**2 * (1.0 - tanhs * tanhs))))
    log_scale = rate * spectrum.room + float(np.sum(spectrum.weighted(np.log1p(np.exp(-2.0 * angles)))))
    return Tilt(rate, math.sqrt(variance), log_scale, tanhs)


def _invert(
    spectrum: Spectrum, tilt: Tilt, n_nodes: int, step: float, backend: Backend, n_witnesses: int
) -> float:
    ship = backend.asarray
    nodes = half_odd_nodes(n_nodes, step)
    if spectrum.half_step:
        nodes = alive(spectrum, tilt.tanhs, nodes, n_witnesses)
    products = spectrum.on_nodes(backend, tilted_products, nodes, tilt.tanhs)
    point, rate = ship(np.asarray(spectrum.threshold)), ship(np.asarray(tilt.rate))
    (inverted,) = to_host(tilted_tail(products, ship(nodes), point, rate, step, spectrum.half_step))
    return float(inverted)
