"""Whether exact methods serve where the choice is left to ranklens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.exact.p_value import exact_is_cheap
from ranklens.stats.scaling import extreme_exponent
from ranklens.stats.units import Units


def chosen_method(method: str, deltas: NDArray[np.float64], units: Units | None) -> str:
    """Return what "auto" means for these differences, shape (n_queries,): exact where that is cheap.

    Examples
    --------
    >>> chosen_method("auto", np.array([0.1, 0.2, -0.3]), None)
    'exact'
    """
    if method != "auto":
        return method
    if units is not None:
        exponent = extreme_exponent(deltas, weight=float(units.sizes.sum()))
        deltas = units.totals(np.ldexp(deltas, -exponent))
    return "exact" if exact_is_cheap(deltas) else "monte-carlo"
