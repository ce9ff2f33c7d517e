"""The bootstrap interval of a mean difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ranklens.arrays import Backend, Seed, backend_of, compiled, resolve_backend, seed_of, steady, to_host
from ranklens.core import BootstrapInterval
from ranklens.core.per_query import QueryId
from ranklens.kernels.resample_moments import centred_rows, ratio_rows
from ranklens.kernels.resample_sums import resample_sums
from ranklens.kernels.resamples import extremes_and_sum, order_statistics
from ranklens.stats.design import Design, check_units
from ranklens.stats.interval_levels import expanded_tail
from ranklens.stats.lattice import comparable_sample
from ranklens.stats.options import (
    ALTERNATIVES,
    METHODS,
    check_choice,
    check_count,
    check_interval,
    tail_of,
)
from ranklens.stats.power import check_alpha
from ranklens.stats.resampled import Resampled
from ranklens.stats.sample import as_sample, eps_of, finite_part, require_finite
from ranklens.stats.units import Units


def paired_bootstrap(
    deltas: Any,
    *,
    n_resamples: int = 10_000,
    alpha: float = 0.05,
    seed: Seed = 0,
    alternative: str = "two-sided",
    method: str = "monte-carlo",
    interval: str = "percentile",
    weights: Any = None,
    clusters: Any = None,
) -> BootstrapInterval:
    """Give the bootstrap interval of the mean difference, by resampling queries with replacement.

    The ends of the percentile interval are the alpha/2 and 1 - alpha/2 quantiles (linearly interpolated) of
    the resampled means (Efron & Tibshirani 1993, "An introduction to the bootstrap", chapters 12 to 14). Of
    the other kinds "expanded" takes quantiles further out, as Student's t does for a small sample, "bca"
    corrects for the bias and the skewness of the resampled means, and "studentized" uses the quantiles of the
    resampled t statistics; the last covers best on skewed differences.

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
    interval : {"percentile", "expanded", "bca", "studentized"}
        The kind. ``"expanded"`` needs scipy, ``"studentized"`` has no exact form.
    weights : sequence or array, shape (n,), optional
        What each query counts for; the mean is then Σ weight · delta / Σ weight, in each resample too.
    clusters : sequence or array, shape (n,), optional
        The cluster of each query: clusters are drawn instead of queries. The mean stays that over queries.

    Returns
    -------
    BootstrapInterval
        With the mean difference. All zeros give the interval [0, 0].

    Raises
    ------
    ValueError
        For an empty sample, differences that are not finite or not one-dimensional, and for other options.
    InsufficientSampleError
        For fewer than 2 units with another interval than "percentile".
    MissingDependencyError
        For ``interval="expanded"`` without scipy.

    Notes
    -----
    The percentile interval covers too little when the differences are skewed and few. A resample of equal
    differences has no t statistic of its own: it counts as infinite, and so can an end of a studentized
    interval of very few differences be.

    Examples
    --------
    >>> interval = paired_bootstrap([0.3, 0.1, 0.2, -0.1, 0.4], n_resamples=2000)
    >>> interval.low < interval.delta < interval.high
    True
    """
    return interval_of(
        deltas,
        Design.checked(weights, clusters),
        n_resamples=n_resamples,
        alpha=alpha,
        seed=seed,
        alternative=alternative,
        method=method,
        interval=interval,
    )


def interval_of(
    deltas: Any,
    design: Design,
    *,
    queries: Sequence[QueryId] | None = None,
    n_resamples: int,
    alpha: float,
    seed: Seed,
    alternative: str,
    method: str,
    interval: str,
) -> BootstrapInterval:
    """Make the interval of a design, whose mappings speak of `queries`."""
    check_choice("method", method, METHODS)
    check_choice("alternative", alternative, ALTERNATIVES)
    check_count("n_resamples", n_resamples)
    check_alpha(alpha)
    check_interval(interval, method)
    number = seed_of(seed)
    backend = resolve_backend(deltas)
    minimum = 1 if interval == "percentile" else 2
    with backend.precise():
        sample = as_sample(deltas, backend, minimum=minimum)
        n = int(sample.shape[0])
        units = None if design.is_simple else design.units(n if queries is None else queries)
        check_units(units, n, minimum)
        job = _Job(sample, units, eps_of(deltas, backend), interval, tail_of(alpha, alternative), backend)
        mean, low, high = job.computed() if method == "exact" else job.sampled(number, n_resamples)
    return BootstrapInterval(
        mean,
        -math.inf if alternative == "less" else low,
        math.inf if alternative == "greater" else high,
        alpha,
        n,
        0 if method == "exact" else n_resamples,
        number,
        interval,
        None if units is None else units.n,
    )


class _Job(NamedTuple):
    """A sample on its backend, and the interval that is wanted of it."""

    sample: Any
    units: Units | None
    eps: float
    kind: str
    tail: float
    backend: Backend

    @property
    def n(self) -> int:
        return int(self.sample.shape[0]) if self.units is None else self.units.n

    @property
    def totals(self) -> Any:
        return self.sample if self.units is None else self.units.totals_on(self.sample, self.backend)

    def sampled(self, seed: int, n_resamples: int) -> tuple[float, float, float]:
        """Return the mean and both ends, from resamples."""
        size = 1.0 if self.units is None else self.units.even_size
        if size is not None and self.kind in ("percentile", "expanded"):
            tail = expanded_tail(self.tail, self.n) if self.kind == "expanded" else self.tail
            return _resampled(self, size, seed, n_resamples, (n_resamples - 1) * tail)
        return _resampled_ratio(self, seed, n_resamples)

    def computed(self) -> tuple[float, float, float]:
        """Return the mean and both ends, of infinitely many resamples."""
        from ranklens.stats.ideal import ideal_interval

        (host,) = to_host(self.sample)
        require_finite(host)
        deltas = np.asarray(host, dtype=np.float64)
        sizes = np.ones(self.n) if self.units is None else self.units.sizes
        totals = deltas if self.units is None else self.units.totals(deltas)
        low, high = ideal_interval(totals, sizes, self.kind, self.tail, self.eps, self.backend)
        return math.fsum(totals.tolist()) / math.fsum(sizes.tolist()) + 0.0, low, high


def _resampled(
    job: _Job, size: float, seed: int, n_resamples: int, tail: float
) -> tuple[float, float, float]:
    """Return the mean difference, and the resampled means at place `tail` from the lower and upper end.

    Every unit has the size `size`.
    """
    values, factor, n_bad = _comparable(job)
    summary, n_not_finite = to_host(_summary(values, job.n, factor, seed, n_resamples, tail), n_bad)
    if n_not_finite:
        require_finite(to_host(job.sample)[0])
    factor, smallest, largest, total, *around = summary.tolist()
    scale = _Scale(job.n, factor * size, smallest, largest)
    below, above, upper_below, upper_above = around
    share = tail % 1.0
    # Both ends are interpolated from outside, so that swapping the runs negates the interval.
    low = below + (above - below) * share
    high = upper_above + (upper_below - upper_above) * share
    return scale.mean(total), scale.mean(low), scale.mean(high)


def _resampled_ratio(job: _Job, seed: int, n_resamples: int) -> tuple[float, float, float]:
    """Return the mean difference and both ends, from the sums of every resample, which come to the host."""
    backend = job.backend
    values, factor, n_bad = _comparable(job)
    sizes, exponent = _scaled_sizes(job)
    on_device = steady(backend.asarray(sizes), backend)
    rows = compiled(centred_rows if job.kind == "studentized" else ratio_rows, backend)(values, on_device)
    sums = _row_sums(rows, job.n, seed, n_resamples)
    *host, n_not_finite = to_host(values, factor, sums, n_bad)
    if n_not_finite:
        require_finite(to_host(job.sample)[0])
    totals, unit, sums = host
    resampled = Resampled(totals[: job.n], sizes, sums)
    low, high = resampled.interval(job.kind, job.tail)
    mean, low, high = (math.ldexp(end / float(unit), -exponent) + 0.0 for end in (resampled.ratio, low, high))
    return mean, low, high


def _comparable(job: _Job) -> tuple[Any, Any, Any]:
    """Return the totals rescaled, by what factor, and how many differences are not finite."""
    totals = job.totals
    if job.backend.name == "numpy":
        finite, n_bad = totals, np.zeros(())
    else:
        finite, n_bad = finite_part(steady(totals, job.backend))
    values, factor, _ = comparable_sample(finite, job.backend, job.eps)
    return values, factor, n_bad


def _scaled_sizes(job: _Job) -> tuple[Any, int]:
    """Return the sizes times 2^-k, whose squares neither over- nor underflow, and k."""
    if job.units is None:
        return np.ones(job.n), 0
    exponent = math.frexp(float(job.units.sizes.max()))[1]
    return np.ldexp(job.units.sizes, -exponent), exponent


def _row_sums(rows: Any, n: int, seed: int, n_resamples: int) -> Any:
    """Return the sums of every row in every resample, shape (rows, n_resamples)."""
    backend = backend_of(rows)
    resamples = range(n_resamples)
    if backend.name != "numpy":
        return resample_sums(rows, n, seed=seed, resamples=resamples)
    return np.stack([resample_sums(row, n, seed=seed, resamples=resamples) for row in rows])


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
