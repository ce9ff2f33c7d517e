"""The percentile bootstrap interval of a mean difference."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ranklens.arrays import Backend, Seed, resolve_backend, seed_of, to_host
from ranklens.core import BootstrapInterval
from ranklens.kernels.resample_sums import resample_sums
from ranklens.kernels.resamples import order_statistics
from ranklens.stats.lattice import comparable_sample
from ranklens.stats.options import ALTERNATIVES, METHODS, check_choice, check_count
from ranklens.stats.power import check_alpha
from ranklens.stats.sample import as_sample, check_deltas, count_not_finite, eps_of, require_finite


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
    positions = _positions(n_resamples, alpha, alternative)
    n, mean, ends = _resampled(deltas, number, n_resamples, positions)
    low = ends[0] if alternative != "less" else -math.inf
    high = ends[-1] if alternative != "greater" else math.inf
    return BootstrapInterval(mean, low, high, alpha, n, n_resamples, number)


def _positions(n_resamples: int, alpha: float, alternative: str) -> list[float]:
    """Return where the ends lie among the sorted means, counted from 0."""
    last = n_resamples - 1
    tail = last * (alpha / 2 if alternative == "two-sided" else alpha)
    return {"two-sided": [tail, last - tail], "greater": [tail], "less": [last - tail]}[alternative]


def _resampled(
    deltas: Any, seed: int, n_resamples: int, positions: list[float]
) -> tuple[int, float, list[float]]:
    """Return n, the mean difference and the interpolated resampled means at `positions`."""
    backend = resolve_backend(deltas)
    with backend.precise():
        sample = as_sample(deltas, backend, minimum=1)
        summary, *bad = to_host(
            *_summary(sample, eps_of(deltas, backend), backend, seed, n_resamples, positions)
        )
        if bad and bad[0]:
            require_finite(to_host(sample)[0])
    scale = _Scale(int(sample.shape[0]), *summary[:3].tolist())
    total, *ranked = summary[3:].tolist()
    ends = []
    for position, below, above in zip(positions, ranked[::2], ranked[1::2], strict=True):
        ends.append(scale.mean(below + (above - below) * (position % 1.0)))
    return scale.n, scale.mean(total), ends


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


def _summary(
    sample: Any, eps: float, backend: Backend, seed: int, n_resamples: int, positions: list[float]
) -> tuple[Any, ...]:
    xp = backend.xp
    values, factor, _ = comparable_sample(sample, backend, eps)
    sums = resample_sums(values, seed=seed, resamples=range(n_resamples))
    below = [math.floor(position) for position in positions]
    ranks = tuple(rank for low in below for rank in (low, min(low + 1, n_resamples - 1)))
    head = xp.stack([factor, xp.min(values), xp.max(values), xp.sum(values)])
    summary = xp.concat([head, order_statistics(sums, ranks)])
    return (summary,) if backend.name == "numpy" else (summary, count_not_finite(sample))


def _exact(deltas: Any, alpha: float, alternative: str, seed: int) -> BootstrapInterval:
    from ranklens.stats.exact_interval import exact_interval

    (host,) = to_host(check_deltas(deltas))
    low, high = exact_interval(host, alpha, alternative)
    mean = math.fsum(host.tolist()) / host.shape[0]
    return BootstrapInterval(mean + 0.0, low, high, alpha, host.shape[0], 0, seed)
