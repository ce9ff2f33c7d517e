"""Differences that lie near a lattice but not on it: whole steps, and what is left of each after rounding.

What such a row takes depends on what is left, the noise:

==============================  ==============  ========================================================
noise                           module          how
==============================  ==============  ========================================================
none                            `counting`      all sums, or all nodes of the lattice
multiples of a far finer step   `nested`        as a lattice on which both steps' sums keep their order
any other, less than a step     `noisy_mass`    fewer steps counted, ties of steps inverted by noise
any, of most differences        `conditioning`  the few whole ones chosen one by one, the rest inverted
none that is found              `peaks`         an inversion that allows for what a lattice may change
==============================  ==============  ========================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut
from ranklens.arrays.threads import for_each, n_cores
from ranklens.stats.exact.steps import commensurable_multiples

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]

_RATIO_SLACK = 32.0
_NOISE = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 1e-9, 1e-10, 1e-11)
"""Relative to the largest difference; tried from above, as a coarse lattice says more than a fine one."""

_SURE, _BELIEVED = 0.1, 0.7
MOST_AMBIGUOUS = 24

_OF_WHOLE_NUMBERS = tuple((2.0**20, -j) for j in range(2, 7))
"""A hundred to a million steps of a finer lattice that the differences lie on."""

_SCALES = np.array(
    sorted(
        c * 10.0**j * 2.0**-k
        for c, j in ((1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2.52, 3), *_OF_WHOLE_NUMBERS)
        for k in range(17)
    )
)
"""Steps per unit of the largest difference's power of two, for those that scores and measures have."""

_STRAYING = 0.25
_SEVERAL, _LEAST_NOISE = 0.4, 0.25
_GLANCE = 48
_SURE_REACH = 9.5
_MOST_LATTICES, _LESS = 3, 0.25
_FEW, _ROWS_AT_ONCE = 16, 64


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
            suits = 0 < noisy.reach < MOST_AMBIGUOUS * step
            # A finer lattice serves only with less noise in its steps.
            if suits and (not found or noisy.spread < _LESS * found[-1].spread):
                found.append(noisy)
            if len(found) == _MOST_LATTICES:
                break
        return found

    @property
    def has_steps(self) -> bool:
        """Whether most are whole steps; else conditioning on those few does better."""
        return 2 * int(np.count_nonzero(self.multiples)) >= len(self.multiples)

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


def may_lie_near(magnitudes: Counts, places: Counts) -> Rows:
    """Whether some rows (rows, width), ascending, may lie near a lattice: what a few of each do not rule out.

    Row by row `NoisySteps.near` takes several times as long to find out.
    """
    few = magnitudes[:, :: -max(1, magnitudes.shape[1] // _FEW)][places].astype(np.float64)
    near = np.zeros(len(places), dtype=bool)

    def look(rows: range) -> None:
        part = slice(rows.start, rows.stop)
        near[part] = _few_lie_near(few[part])

    for_each(look, cut(range(len(places)), _ROWS_AT_ONCE), n_threads=n_cores())
    return near


def _few_lie_near(few: Floats) -> Rows:
    """Whether values (rows, k), the largest first, suit a step that `_candidates` would try."""
    steps = np.multiply.outer(_SCALES, few * np.ldexp(1.0, 10 - np.frexp(few[:, :1])[1]))
    multiples = np.rint(steps)
    fits = (np.abs(steps - multiples).max(axis=2) <= _STRAYING) & (multiples[:, :, 0] > 0.0)
    found = np.asarray(fits.any(axis=0))
    for noise in _NOISE:
        left = np.flatnonzero(~found)
        if left.size:
            found[left], _ = commensurable_multiples(
                few[left], noise / _RATIO_SLACK, sure=_SURE, believed=_BELIEVED
            )
    return found


def _candidates(values: Floats) -> Iterator[Counts]:
    """Yield the multiples of each step that may be that of whole numbers, of which it is several."""
    exponent = 10 - int(np.frexp(values.max())[1])
    scaled = np.ldexp(values, exponent)
    few = scaled[np.linspace(0, len(scaled) - 1, min(len(scaled), _GLANCE)).astype(np.int64)]
    scales = _SCALES[: np.searchsorted(_SCALES, math.ldexp(_SEVERAL, -exponent))]
    steps = np.multiply.outer(scales, few)
    for scale in scales[np.abs(steps - np.rint(steps)).max(axis=1) <= _STRAYING].tolist():
        multiples = np.rint(scaled * scale)
        if multiples.any() and np.abs(scaled * scale - multiples).max() <= _STRAYING:
            yield multiples.astype(np.int64)
    for noise in _NOISE:
        if noise * values.max() < _LEAST_NOISE:
            return
        found, own = commensurable_multiples(
            values[None], noise / _RATIO_SLACK, sure=_SURE, believed=_BELIEVED
        )
        if found[0] and own.any():
            yield own[0]
