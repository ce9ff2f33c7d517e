"""Tails of differences near a lattice: the lattice decides, and where it leaves a tie the noise does."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ranklens.stats.exact.noisy import NoisySteps
from ranklens.stats.exact.noisy_law import MOST_CELLS, NoisyLaw
from ranklens.stats.exact.tail import FlipTail, Mass

INVERTED = "conditional characteristic function"

_SURE = 1e-19


def noisy_mass(tail: FlipTail, noisy: NoisySteps, on_lattice: Callable[[FlipTail], Mass]) -> Mass | None:
    """Add the chance of fewer steps than the noise can change to that of ties which the noise decides.

    `on_lattice` computes the tail of the whole steps alone.
    """
    ambiguous = noisy.ambiguous(tail.limit)
    found = _below(noisy, ambiguous.start, on_lattice)
    logs, parts, errors = [0.0, found[0]], [0.0, found[1]], [_SURE, found[2]]
    for flipped in ambiguous:
        law = NoisyLaw.of(noisy, flipped)
        beyond = int(noisy.noise.sum()) - 2 * (tail.limit - noisy.step * flipped) - 1
        chance = law.chance(beyond / noisy.spread, MOST_CELLS // len(ambiguous))
        if chance is None:
            return None
        whole, part, error = chance
        logs.append(law.log_scale)
        parts.append(part)
        errors.append(min(error, max(part, whole - part)))
    highest = max(log for log, part, error in zip(logs, parts, errors, strict=True) if part or error)
    exponent = math.ceil(highest / math.log(2.0))
    scales = [math.exp(log - exponent * math.log(2.0)) for log in logs]
    ways = math.fsum(scale * part for scale, part in zip(scales, parts, strict=True))
    error = math.fsum(scale * part for scale, part in zip(scales, errors, strict=True))
    return Mass(ways, -exponent, error, INVERTED) if ways > 0.0 else None


def _below(
    noisy: NoisySteps, flipped: int, on_lattice: Callable[[FlipTail], Mass]
) -> tuple[float, float, float]:
    """Return the logarithm of the scale, the chance of fewer flipped steps than `flipped`, and its error."""
    if flipped <= 0:
        return 0.0, 0.0, 0.0
    # The tail begins above zero, so that these are fewer than half of all steps.
    steps = np.sort(noisy.multiples[noisy.multiples > 0])
    mass = on_lattice(FlipTail(steps, flipped - 1, int(steps.sum()) - 2 * (flipped - 1), True))
    return -mass.exponent * math.log(2.0), mass.ways, mass.error
