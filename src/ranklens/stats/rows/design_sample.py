"""The units of a group of rows, scaled so that resampling them neither over- nor underflows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, steady
from ranklens.kernels.ties import safe_factor
from ranklens.stats.rows.design_units import Group
from ranklens.stats.rows.lattices import comparable_rows

Floats = NDArray[np.float64]


class Ends(NamedTuple):
    """The estimate of each row and both ends of its interval, shape (k,) each."""

    delta: Floats
    low: Floats
    high: Floats

    def times_two_to(self, exponents: NDArray[np.int64] | None) -> Ends:
        """Return them in units of a power of two."""
        if exponents is None:
            return self
        with np.errstate(over="ignore", under="ignore"):
            return Ends(*(np.ldexp(column, exponents) for column in self))


class Sample(NamedTuple):
    """The totals (k, n) of the units of a group times `factor` (k,), and their sizes over `divisor`.

    Zeros follow the totals on JAX.
    """

    values: Any
    factor: Any
    sizes: Floats
    divisor: float
    backend: Backend

    @property
    def n(self) -> int:
        return len(self.sizes)

    def unscaled(self, means: Floats, factor: Any) -> Floats:
        """Turn ratios of scaled totals and sizes into means of differences."""
        return np.asarray(means / np.asarray(factor, dtype=np.float64) / self.divisor + 0.0)

    @classmethod
    def of(cls, group: Group, totals: Any, eps: float, backend: Backend) -> Sample:
        totals, even = steady(totals, backend), group.even_size
        if even is not None:
            values, factor, _ = comparable_rows(totals, backend, eps)
            return cls(values, factor, np.ones(group.n), even, backend)
        # No lattice may round a light unit's total, which is small beside others but not beside its size.
        factor = safe_factor(backend.xp.max(backend.xp.abs(totals), axis=-1))
        divisor = math.ldexp(1.0, math.frexp(float(group.sizes.max()))[1] - 1)
        return cls(totals * factor[:, None], factor, group.sizes / divisor, divisor, backend)
