"""Differences on a lattice but for multiples of a far finer step: of sums with as many steps these decide.

That is a lattice of two dimensions, in which sums are ordered by whole steps first. So are they on a lattice
of one, with the whole steps as many fine ones apart as their sums may differ by.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import open_backend
from ranklens.stats.exact.counting import lattice_convolution
from ranklens.stats.exact.noise_steps import steps_of_noise
from ranklens.stats.exact.noisy import NoisySteps
from ranklens.stats.exact.tail import FlipTail, Mass
from ranklens.stats.exact.tilt import TiltedSpectrum, tilted_inversion

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_EPS = float(np.finfo(np.float64).eps)
_SURE_REACH = 9.5
_FAR = 5.0
"""Standard deviations from which on what no sum reaches but for 1e-19 matters."""

_LARGEST = 1 << 60
_MOST_CELLS, _MOST_NODES = 3e7, 1 << 22
_LEAST_TILT, _CAUTION = 2.0, 4.0


class NestedSteps(NamedTuple):
    """Magnitudes as ``(step + slope) · whole + fine · part + rest``, of which `rest` decides nothing.

    `step` is a whole number, so that a difference of large sums loses no digit; `whole`, `part` and `rest`
    have shape (n,).
    """

    step: int
    slope: float
    fine: float
    whole: Counts
    part: Counts
    rest: Floats

    @classmethod
    def of(cls, noisy: NoisySteps) -> NestedSteps | None:
        """Find the steps that the noise has of its own; None where it has none."""
        whole, noise = noisy.multiples.astype(np.float64), noisy.noise.astype(np.float64)
        found = steps_of_noise(whole, noise)
        if found is None:
            return None
        # What goes with the whole steps widens them, and the less of it in the fine ones the better.
        part = found - round(float(np.dot(found, whole) / np.dot(whole, whole))) * whole
        columns = np.stack([whole, part], axis=1)
        (slope, fine), *_ = np.linalg.lstsq(columns, noise, rcond=None)
        rest = noise - slope * whole - fine * part
        return cls(noisy.step, float(slope), float(fine), noisy.multiples, part.astype(np.int64), rest)

    def tail(self, tail: FlipTail) -> FlipTail | None:
        """Write a tail in whole numbers of the same order, the fine steps as wide as they need to be.

        None where the noise reaches from step to step, or what is left over could decide.
        """
        surely = tail.begin >= _FAR * tail.spread
        least, most = _flipped(self.part.astype(np.float64), surely)
        below, above = _flipped(self.rest, surely)
        lowest, highest = math.floor(least), math.ceil(most)
        whole = math.floor((tail.limit - self.fine * lowest - below) / (self.step + self.slope))
        if not (
            self._left(tail.limit, whole - 1) >= self.fine * highest + above
            and self._left(tail.limit, whole + 1) < self.fine * lowest + below
        ):
            return None
        left = self._left(tail.limit, whole)
        part = min(max(math.floor(left / self.fine), lowest - 1), highest)
        decided = left - self.fine * part >= above or part < lowest
        decided &= self.fine * (part + 1) + below > left or part == highest
        width = highest - lowest + 1
        if not decided or width * int(self.whole.sum()) > _LARGEST:
            return None
        magnitudes = np.sort(width * self.whole + self.part)
        if magnitudes[0] < 0:
            return None
        divisor = int(np.gcd.reduce(magnitudes))
        magnitudes, limit = magnitudes[magnitudes > 0] // divisor, (width * whole + part) // divisor
        return FlipTail(magnitudes, limit, int(magnitudes.sum()) - 2 * limit, True)

    def _left(self, limit: int, whole: int) -> float:
        """Return what so many whole steps leave of the limit, between two whole numbers."""
        return float(limit - self.step * whole) + 0.5 - self.slope * whole


def nested_mass(tail: FlipTail) -> Mass | None:
    """Compute a tail whose differences have steps and, within these, far smaller ones; else None.

    With the fine steps as wide as needed the sums of both are whole numbers in the same order.
    """
    for noisy in NoisySteps.near(tail.magnitudes):
        nested = NestedSteps.of(noisy)
        own = None if nested is None else nested.tail(tail)
        if own is not None and own.limit >= 0:
            return _on_lattice(own)
    return None


def _on_lattice(tail: FlipTail) -> Mass | None:
    """Count the sums of a tail, or invert on all nodes of its lattice; None where these are too many."""
    if tail.n * (tail.limit + 1.0) <= _MOST_CELLS:
        return lattice_convolution(tail)
    tilted = TiltedSpectrum.of(tail, _LEAST_TILT)
    if tilted.lattice_nodes > _MOST_NODES:
        return None
    mass = tilted_inversion(tail, open_backend("numpy"), tilted, _MOST_NODES)
    # Tilted further than the tail begins, a law's terms cancel; and angles of many turns are rounded.
    excess = max(0.0, _LEAST_TILT - tail.begin / tail.spread)
    rounding = mass.error + _EPS * (tail.begin + tail.spread) * mass.ways
    return mass._replace(error=_CAUTION * math.exp(0.5 * excess * excess) * rounding)


def _flipped(values: Floats, surely: bool) -> tuple[float, float]:
    """Bound the sum of a subset of values: of any one if `surely`, else of all but a share below 1e-19."""
    total, most = float(values.sum()), float(np.abs(values).sum())
    reach = most if surely else min(most, _SURE_REACH * math.sqrt(float(np.dot(values, values))))
    return 0.5 * (total - reach), 0.5 * (total + reach)
