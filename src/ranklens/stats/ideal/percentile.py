"""The percentile interval of the ideal bootstrap: infinitely many resamples, computed and not drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ranklens.arrays import resolve_backend, to_host
from ranklens.stats.ideal.interval import ideal_interval
from ranklens.stats.options import ALTERNATIVES, check_choice, tail_of
from ranklens.stats.power import check_alpha
from ranklens.stats.sample import as_sample, eps_of, require_finite


def exact_interval(deltas: Any, alpha: float = 0.05, alternative: str = "two-sided") -> tuple[float, float]:
    """Compute the percentile interval that a bootstrap with infinitely many resamples would give.

    The law of a resampled sum is the n-fold convolution of the sample's own law. Up to 8 differences every
    resample is listed. On a lattice (P@10, and others with at most 16,384 sums within 9 standard errors of
    the mean) the interval is exact. Elsewhere the characteristic function is inverted where it vanishes, as
    it does for differences that hardly repeat; what is left is read from a grid whose steps are about a
    thousandth of a standard error. A row of `compare_deltas` has the same interval to the last bit.

    Parameters
    ----------
    deltas : sequence or array, shape (n,)
        Per-query differences B - A; finite.
    alpha : float, default 0.05
        One minus the confidence, between 0 and 1.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        One-sided intervals have one infinite end: the upper for ``"greater"``.

    Returns
    -------
    low, high : float
        The `alpha`/2 and 1 - `alpha`/2 quantiles of the resampled mean difference.

    Raises
    ------
    ValueError
        For an empty sample, values that are not finite, `alpha` outside (0, 1), or an unknown alternative.

    Examples
    --------
    >>> low, high = exact_interval([0.1, 0.0, -0.1, 0.3, 0.2, 0.1, 0.0, 0.4, 0.1, 0.2])
    >>> round(low, 12), round(high, 12)
    (0.04, 0.22)
    """
    check_alpha(alpha)
    check_choice("alternative", alternative, ALTERNATIVES)
    backend = resolve_backend(deltas)
    with backend.precise():
        (host,) = to_host(as_sample(deltas, backend, minimum=1))
        require_finite(host)
        values = np.asarray(host, dtype=np.float64)
        tail, eps = tail_of(alpha, alternative), eps_of(deltas, backend)
        low, high = ideal_interval(values, np.ones_like(values), "percentile", tail, eps, backend)
    return (-math.inf if alternative == "less" else low), (math.inf if alternative == "greater" else high)
