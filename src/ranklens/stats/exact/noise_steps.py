"""Steps that the noise of differences near a lattice has of its own."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.exact.steps import commensurable_multiples

Floats = NDArray[np.float64]

_RATIO_SLACK = 32.0
_BLURS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""Of steps of the noise, in parts of its largest."""

_ATOM = 3.0
"""The chance of a point in the middle of the noise is at most this over its spread, in its own steps."""

_SURE, _BELIEVED = 0.1, 0.7
_STRAYING = 0.25


def noise_atom(steps: Floats, noise: Floats, resolved: float) -> float:
    """Return the chance that signed noise may have at a single point because it has steps of its own.

    Blurred steps count as well, unless the blur is `resolved`.
    """
    largest = float(np.abs(noise).max())
    if largest <= resolved:
        return 1.0
    atom = 0.0
    for blur in _BLURS:
        part = _in_own_steps(steps, noise, blur) if blur * largest <= resolved else None
        if part is not None:
            spread = math.sqrt(float(np.dot(part, part)))
            atom = max(atom, min(1.0, _ATOM / max(spread, 1.0)))
    return atom


def steps_of_noise(steps: Floats, noise: Floats) -> Floats | None:
    """Return the noise in steps of its own, but for what goes with the steps; None where it has none."""
    found = (_in_own_steps(steps, noise, blur) for blur in _BLURS)
    return next((part for part in found if part is not None), None)


def _in_own_steps(steps: Floats, noise: Floats, blur: float) -> Floats | None:
    """Return whole numbers, of which the noise is a multiple but for a multiple of the steps and the blur.

    The noise of differences of as many steps tells how large its own are, and that of the others how much of
    it goes with the steps.
    """
    groups, first, place = np.unique(steps, return_index=True, return_inverse=True)
    bases = noise[first]
    apart = noise - bases[place]
    if not apart.any():
        return None
    found, multiples = commensurable_multiples(
        apart[None], blur / _RATIO_SLACK, sure=_SURE, believed=_BELIEVED
    )
    if not found[0]:
        return None
    part = multiples[0].astype(np.float64)
    fine = float(np.dot(part, apart) / np.dot(part, part))
    fewest = int(np.flatnonzero(groups)[0])
    slopes = (bases[fewest] + fine * np.arange(groups[fewest])) / groups[fewest]
    own = (bases - np.multiply.outer(slopes, groups)) / fine
    off = np.abs(own - np.rint(own)).max(axis=1)
    best = int(np.argmin(off))
    return part + np.rint(own[best])[place] if off[best] <= _STRAYING else None
