"""Samples in a form that neither order, sign nor magnitude changes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.ideal.levels import centred_rows
from ranklens.stats.rows.lattices import lattice_scales

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_COMMON = 10
_NEAR = 1e-3
"""How far a multiple of a step may lie from a value, in standard errors of the mean."""


class OrderedRows(NamedTuple):
    """Samples (rows, n) in ascending order, none of them constant.

    A sample and its negative have the same `values`, so that their intervals mirror each other bit for bit;
    `turned` tells them apart. The largest of a row lies in [0.5, 1) before it is multiplied by 2^`exponents`.
    """

    values: Floats
    exponents: NDArray[np.int64]
    turned: Flags

    @classmethod
    def of(cls, samples: Floats) -> OrderedRows:
        """Bring samples into the form."""
        ordered = np.sort(samples, axis=1)
        mirrored = np.ascontiguousarray(-ordered[:, ::-1])
        first = np.argmax(mirrored != ordered, axis=1)[:, None]
        ahead, behind = (np.take_along_axis(x, first, axis=1)[:, 0] for x in (mirrored, ordered))
        turned = ahead < behind
        ordered = np.where(turned[:, None], mirrored, ordered)
        exponents = np.frexp(np.maximum(-ordered[:, 0], ordered[:, -1]))[1].astype(np.int64)
        return cls(times_two_to(ordered, -exponents), exponents, turned)

    def take(self, rows: NDArray[np.int64]) -> OrderedRows:
        """Return some rows."""
        return OrderedRows(self.values[rows], self.exponents[rows], self.turned[rows])

    def interval(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the ends, both of shape (rows,), as those of the samples as they came."""
        low = np.minimum(np.maximum(low, self.values[:, 0]), self.values[:, -1])
        high = np.minimum(np.maximum(high, self.values[:, 0]), self.values[:, -1])
        low, high = (np.ldexp(end, self.exponents) for end in (low, high))
        return np.where(self.turned, 0.0 - high, low) + 0.0, np.where(self.turned, 0.0 - low, high) + 0.0


def times_two_to(values: Floats, exponents: NDArray[np.int64]) -> Floats:
    """Return the rows times 2^`exponents`, by two factors that stay within the range of numbers."""
    half = exponents // 2
    rest = np.ldexp(1.0, exponents - half)[:, None]
    return np.asarray(values * np.ldexp(1.0, half)[:, None] * rest)


def multiples_of_steps(samples: Floats, ordered: OrderedRows, eps: float) -> tuple[Flags, Floats]:
    """Say which samples lie on a lattice, and write these in `ordered` as whole multiples of their step.

    A lattice is looked for in the samples as given, and with the largest in [512, 1024), so that a common
    factor of 2^k hides no step. `eps` is the spacing of the type in which they were computed.
    """
    scales = lattice_scales(samples, np.abs(samples).max(axis=1), eps)
    fits = np.isfinite(scales)
    values = np.empty_like(ordered.values)
    values[fits] = times_two_to(ordered.values[fits], ordered.exponents[fits])
    others = np.flatnonzero(~fits)
    rescaled = np.ldexp(1.0, _COMMON) * ordered.values[others]
    scales[others] = lattice_scales(rescaled, np.abs(rescaled).max(axis=1, initial=0.0), eps)
    values[others] = rescaled
    fits = np.isfinite(scales)
    scaled = values[fits] * scales[fits, None]
    multiples = np.rint(scaled)
    _, spread = centred_rows(multiples)
    # In half precision nearly all samples pass for multiples of a hundredth, and would be moved to them.
    near = np.abs(scaled - multiples).max(axis=1, initial=0.0) <= _NEAR * spread / math.sqrt(samples.shape[1])
    fits[fits] = near
    multiples = multiples[near]
    # Most neighbours are equal, and the divisor of a number and 0 is quickly found.
    gaps = np.diff(multiples, axis=1, prepend=0.0).astype(np.int64)
    divisor = np.gcd.reduce(gaps, axis=1, initial=0)
    return fits, multiples / divisor[:, None]
