"""From a sample on its backend to the ends of its interval: resamples drawn, or all of them at once."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, backend_of, compiled, steady, to_host
from ranklens.kernels.resample_moments import centred_rows, mean_rows, ratio_rows
from ranklens.kernels.resample_sums import resample_sums
from ranklens.kernels.resamples import extremes_and_sum, order_statistics
from ranklens.kernels.ties import safe_factor
from ranklens.stats.interval_levels import expanded_tail
from ranklens.stats.lattice import comparable_sample
from ranklens.stats.resampled import Resampled
from ranklens.stats.rows.design_alone import pick_deciding_sums
from ranklens.stats.sample import finite_part, require_finite
from ranklens.stats.scaling import extreme_exponent, scaled_back
from ranklens.stats.units import Units


class Job(NamedTuple):
    """A sample on its backend, and the interval that is wanted of it, `tail` beyond each end."""

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
        job, exponent = self._moderated(self.sample) if self.backend.name == "numpy" else (self, 0)
        mean, low, high = job._sampled(seed, n_resamples)
        return scaled_back(mean, exponent), scaled_back(low, exponent), scaled_back(high, exponent)

    def _sampled(self, seed: int, n_resamples: int) -> tuple[float, float, float]:
        size = 1.0 if self.units is None else self.units.even_size
        if size is not None and self.kind in ("percentile", "expanded"):
            tail = expanded_tail(self.tail, self.n) if self.kind == "expanded" else self.tail
            return _resampled(self, size, seed, n_resamples, (n_resamples - 1) * tail)
        return _resampled_ratio(self, seed, n_resamples)

    def computed(self) -> tuple[float, float, float]:
        """Return the mean and both ends, of infinitely many resamples."""
        from ranklens.stats.ideal.interval import ideal_interval

        (host,) = to_host(self.sample)
        require_finite(host)
        job, exponent = self._moderated(np.asarray(host, dtype=np.float64))
        sizes = np.ones(self.n) if self.units is None else self.units.sizes
        totals = job.sample if self.units is None else self.units.totals(job.sample)
        ends = ideal_interval(totals, sizes, self.kind, self.tail, self.eps, self.backend)
        mean = math.fsum(totals.tolist()) / math.fsum(sizes.tolist()) + 0.0
        low, high = (scaled_back(end, exponent) for end in ends)
        return scaled_back(mean, exponent), low, high

    def _moderated(self, host: NDArray[np.float64]) -> tuple[Job, int]:
        """Return the job with host values · 2^-e, and e, so that no total leaves the range of numbers."""
        weight = 1.0 if self.units is None else float(self.units.sizes.sum())
        exponent = extreme_exponent(host, weight=weight)
        return self._replace(sample=np.ldexp(host, -exponent) if exponent else host), exponent


def _resampled(job: Job, size: float, seed: int, n_resamples: int, tail: float) -> tuple[float, float, float]:
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


def _resampled_ratio(job: Job, seed: int, n_resamples: int) -> tuple[float, float, float]:
    """Return the mean difference and both ends, from the sums of every resample, which come to the host."""
    backend = job.backend
    values, factor, n_bad = _comparable(job)
    sizes, divisor = _scaled_sizes(job)
    if sizes.min() != sizes.max():
        make = compiled(centred_rows if job.kind == "studentized" else ratio_rows, backend)
        rows = make(values, steady(backend.asarray(sizes), backend))
    else:
        rows = compiled(mean_rows, backend)(values, job.n) if job.kind == "studentized" else values[None, :]
    sums = resample_sums(rows, job.n, seed=seed, resamples=range(n_resamples))
    *host, n_not_finite = to_host(values, factor, sums, n_bad)
    if n_not_finite:
        require_finite(to_host(job.sample)[0])
    totals, unit, sums = host
    resampled = Resampled(totals[: job.n], sizes, sums)
    if len(sums) == 5 and backend.name == "numpy":
        pick_deciding_sums(resampled, np.asarray(rows), job.tail, seed)
    low, high = resampled.interval(job.kind, job.tail)
    mean, low, high = (end / float(unit) / divisor + 0.0 for end in (resampled.ratio, low, high))
    return mean, low, high


def _comparable(job: Job) -> tuple[Any, Any, Any]:
    """Return the totals rescaled, by what factor, and how many differences are not finite."""
    totals = job.totals
    if job.backend.name == "numpy":
        finite, n_bad = totals, np.zeros(())
    else:
        finite, n_bad = finite_part(steady(totals, job.backend))
    if job.units is not None and job.units.even_size is None:
        # No lattice may round a light unit's total, which is small beside others but not beside its size.
        xp = job.backend.xp
        factor = safe_factor(xp.max(xp.abs(finite)))
        return finite * factor, factor, n_bad
    values, factor, _ = comparable_sample(finite, job.backend, job.eps)
    return values, factor, n_bad


def _scaled_sizes(job: Job) -> tuple[Any, float]:
    """Return the sizes over a divisor, so that equal ones are 1 and no square over- or underflows, and it."""
    even = 1.0 if job.units is None else job.units.even_size
    if job.units is None or even is not None:
        return np.ones(job.n), even or 1.0
    divisor = math.ldexp(1.0, math.frexp(float(job.units.sizes.max()))[1] - 1)
    return job.units.sizes / divisor, divisor


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
