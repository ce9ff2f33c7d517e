"""The tail by inverting the characteristic function itself, where the subsets are too many to count."""

from __future__ import annotations

import math

import numpy as np

from ranklens.arrays import Backend, to_host
from ranklens.kernels.exact_fourier import cosine_products, square_wave_tail
from ranklens.stats.exact.returning import returning
from ranklens.stats.exact.spectrum import (
    EPS,
    MOST_CELLS,
    Spectrum,
    alive,
    choose_nodes,
    even_at_least,
    half_odd_nodes,
    spectrum_of,
)
from ranklens.stats.exact.tail import FlipTail, Mass

STEP = "characteristic function"

_REACH = 8.5
"""Standard deviations beyond which T has a chance below 1e-15, by Hoeffding's 2·exp(-z²/2)."""


_CAUTION = 2.0


def plain_inversion(tail: FlipTail, backend: Backend) -> Mass:
    """Invert ∏ cos(y a_j) against a square wave that changes sign at the threshold, and again beyond T.

    The absolute error is near 1e-15 on a lattice, where the sum is finite. Elsewhere the nodes stop, and the
    largest modulus that was seen beyond them is reported as the error, thirty times that for repeated values:
    they can bring the modulus back after it looked dead.

    Parameters
    ----------
    tail : FlipTail
        Above about 1e-9, where the absolute error is small beside it.
    backend : Backend
        Where the products are computed.
    """
    spectrum = spectrum_of(tail)
    half_period, n_nodes, beyond = spectrum.threshold + _REACH, 0, 0.0
    if spectrum.half_step:
        # The wave's half period is a multiple of four steps, so that the lattice's nodes fold onto a quarter.
        steps = even_at_least(half_period / spectrum.half_step, 4)
        half_period, n_nodes = steps * spectrum.half_step, steps // 4
    step = 2.0 * math.pi / half_period
    if not n_nodes or n_nodes * spectrum.values.shape[0] > MOST_CELLS:
        n_nodes, left = choose_nodes(spectrum, step, np.zeros_like(spectrum.values))
        # Phases that are as good as random add up to the root of a sum of squares.
        scattered = _CAUTION * spectrum.unseen / math.sqrt(n_nodes)
        beyond = spectrum.caution * float(left.max()) + scattered + returning(tail, n_nodes * step)
    both_sides = min(max(_outside(spectrum, n_nodes, step, backend), 0.0), 1.0)
    rounding = 8.0 * EPS * (tail.n + 16)
    return Mass(0.5 * both_sides, 0, 0.5 * (beyond + rounding), STEP)


def _outside(spectrum: Spectrum, n_nodes: int, step: float, backend: Backend) -> float:
    """Return P(|T| ≥ threshold)."""
    ship = backend.asarray
    nodes = half_odd_nodes(n_nodes, step)
    if spectrum.half_step:
        nodes = alive(spectrum, np.zeros_like(spectrum.values), nodes)
    # The Fourier series of the wave: over all frequencies, or folded onto those that a lattice tells apart.
    half_step = spectrum.half_step
    kernel = half_step / np.sin(half_step * nodes) if half_step else 1.0 / nodes
    weights = 2.0 * step / math.pi * kernel
    threshold = ship(np.asarray(spectrum.threshold - half_step))
    products = spectrum.on_nodes(backend, cosine_products, nodes)
    (outside,) = to_host(square_wave_tail(products, ship(nodes), ship(weights), threshold))
    return float(outside)
