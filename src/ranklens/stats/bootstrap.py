"""The percentile bootstrap interval of a mean difference."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ranklens.arrays import Seed, backend_of, compiled, resolve_backend, seed_of, steady, to_host
from ranklens.core import BootstrapInterval
from ranklens.kernels.resample_sums import resample_sums
from ranklens.kernels.resamples import extremes_and_sum, order_statistics
from ranklens.stats.lattice import comparable_sample
from ranklens.stats.options import ALTERNATIVES, METHODS, check_choice, check_count
from ranklens.stats.power import check_alpha
from ranklens.stats.sample import as_sample, check_deltas, eps_of, finite_part, require_finite


def paired_bootstrap(
    deltas: Any,
    *,
    n_resamples: int = 10_000,
    alpha: float = 0.05,
    seed: Seed = 0,
    alternative: str = "two-sided",
    method: str = "monte-carlo",
) -> BootstrapInterval:
    """Give the percentile interval of the mean difference, by resampling queries with replacement.

    The ends are the alpha/2 and 1 - alpha/2 quantiles (linearly interpolated) of the resampled means (Efron &
    Tibshirani 1993, "An introduction to the bootstrap", chapter 13).

    Parameters
    ----------
    deltas : sequence or array, shape (n,)
        Per-query differences B minus A, finite; a numpy, cupy, jax or torch array is worked on where it lies.
    n_resamples : int, default 10,000
        The number of resamples.
    alpha : float, default 0.05
        One minus the confidence, between 0 and 1.
    seed : int, numpy.random.SeedSequence, numpy.random.Generator or None, default 0
        The same seed draws the same resamples on every backend, and more resamples extend them.
    alternative : {"two-sided", "greater", "less"}
        One-sided intervals are open: ``"greater"`` has a lower end only, ``"less"`` an upper end only.
    method : {"monte-carlo", "exact"}
        ``"exact"`` gives the interval of infinitely many resamples.

    Returns
    -------
    BootstrapInterval
        With the mean difference. All zeros give the interval [0, 0].

    Raises
    ------
    ValueError
        For an empty sample, differences that are not finite or not one-dimensional, and for other options.

    Notes
    -----
    The interval covers too little when the differences are skewed and few.

    Examples
    --------
    >>> interval = paired_bootstrap([0.3, 0.1, 0.2, -0.1, 0.4], n_resamples=2000)
    >>> interval.low < interval.delta < interval.high
    True
    """
    check_choice("method", method, METHODS)
    check_choice("alternative", alternative, ALTERNATIVES)
    check_count("n_resamples", n_resamples)
    check_alpha(alpha)
    number = seed_of(seed)
    if method == "exact":
        return _exact(deltas, alpha, alternative, number)
    tail = (n_resamples - 1) * (alpha / 2 if alternative == "two-sided" else alpha)
    n, mean, ends = _resampled(deltas, number, n_resamples, tail)
    low = ends[0] if alternative != "less" else -math.inf
    high = ends[1] if alternative != "greater" else math.inf
    return BootstrapInterval(mean, low, high, alpha, n, n_resamples, number)


def _resampled(
    deltas: Any, seed: int, n_resamples: int, tail: float
) -> tuple[int, float, tuple[float, float]]:
    """Return n, the mean difference, and the resampled means at place `tail` from the lower and upper end."""
    backend = resolve_backend(deltas)
    with backend.precise():
        sample = as_sample(deltas, backend, minimum=1)
        n = int(sample.shape[0])
        finite, n_bad = (
            (sample, np.zeros(())) if backend.name == "numpy" else finite_part(steady(sample, backend))
        )
        values, factor, _ = comparable_sample(finite, backend, eps_of(deltas, backend))
        summary, n_not_finite = to_host(_summary(values, n, factor, seed, n_resamples, tail), n_bad)
        if n_not_finite:
            require_finite(to_host(sample)[0])
    scale = _Scale(n, *summary[:3].tolist())
    total, below, above, upper_below, upper_above = summary[3:].tolist()
    share = tail % 1.0
    # Both ends are interpolated from outside, so that swapping the runs negates the interval.
    low = below + (above - below) * share
    high = upper_above + (upper_below - upper_above) * share
    return n, scale.mean(total), (scale.mean(low), scale.mean(high))


class _Scale(NamedTuple):
    """What turns sums of rescaled differences into means."""

    n: int
    factor: float
    smallest: float
    largest: float

    def mean(self, total: float) -> float:
        # Rounding must not carry a mean past the values it averages, nor leave a negative zero.
        mean = total / (self.n * self.factor)
        return min(max(mean, self.smallest / self.factor), self.largest / self.factor) + 0.0


def _summary(values: Any, n: int, factor: Any, seed: int, n_resamples: int, tail: float) -> Any:
    """Return the factor, the extremes and the sum of the values, and the sums around each end's place."""
    backend = backend_of(values)
    xp = backend.xp
    sums = resample_sums(values, n, seed=seed, resamples=range(n_resamples))
    last, near = n_resamples - 1, math.floor(tail)
    far = min(near + 1, last)
    about = compiled(extremes_and_sum, backend)(values, n)
    ordered = compiled(order_statistics, backend, static=("ranks",))
    return xp.concat(
        [
            xp.reshape(factor, (1,)),
            about,
            ordered(sums, ranks=(near, far, last - far, last - near)),
        ]
    )


def _exact(deltas: Any, alpha: float, alternative: str, seed: int) -> BootstrapInterval:
    from ranklens.stats.exact_interval import exact_interval

    (host,) = to_host(check_deltas(deltas))
    low, high = exact_interval(host, alpha, alternative)
    mean = math.fsum(host.tolist()) / host.shape[0]
    return BootstrapInterval(mean + 0.0, low, high, alpha, host.shape[0], 0, seed)
