"""The distribution that a studentised estimate is referred to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.core.errors import MissingDependencyError


@dataclass(frozen=True, slots=True)
class Reference:
    """The standard normal (`df` infinite) or Student's t distribution.

    Examples
    --------
    >>> normal = Reference(math.inf)
    >>> round(normal.quantile(0.975), 6), round(normal.two_sided(1.959964), 6)
    (1.959964, 0.05)
    """

    df: float

    def quantile(self, p: float) -> float:
        """Return the value below which a share `p` lies."""
        if math.isinf(self.df):
            return NormalDist().inv_cdf(p)
        return float(_scipy_special().stdtrit(self.df, p))

    def above(self, z: float) -> float:
        """Return the probability of a value of at least `z`."""
        if math.isinf(self.df):
            return 0.5 * math.erfc(z / math.sqrt(2.0))
        return float(_scipy_special().stdtr(self.df, -z))

    def above_all(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `above` of many values, of Student's t."""
        return np.asarray(_scipy_special().stdtr(self.df, -z), dtype=np.float64)

    def two_sided(self, z: float) -> float:
        """Return the probability of a value at least as far from 0 as `z`."""
        if math.isinf(self.df):
            return math.erfc(abs(z) / math.sqrt(2.0))
        return min(1.0, 2.0 * float(_scipy_special().stdtr(self.df, -abs(z))))


def _scipy_special() -> Any:
    try:
        from scipy import special
    except ImportError as error:
        raise MissingDependencyError(
            "scipy", "Student's t distribution", "pip install 'ranklens[stats]'"
        ) from error
    return special
