"""The bootstrap interval of a mean difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ranklens.arrays import Seed, resolve_backend, seed_of, to_host
from ranklens.core import BootstrapInterval
from ranklens.core.per_query import QueryId
from ranklens.stats.bootstrap_job import Job
from ranklens.stats.choosing import chosen_method
from ranklens.stats.design import Design, check_units
from ranklens.stats.ideal.ratio import UncertainLawError
from ranklens.stats.options import (
    ALTERNATIVES,
    COMPARISON_METHODS,
    check_choice,
    check_count,
    check_interval,
    tail_of,
    warn_of_coarse_ends,
)
from ranklens.stats.power import check_alpha
from ranklens.stats.sample import as_sample, eps_of, require_finite


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
        The number of resamples, at least 2.
    alpha : float, default 0.05
        One minus the confidence, between 0 and 1.
    seed : int, numpy.random.SeedSequence, numpy.random.Generator or None, default 0
        The same seed draws the same resamples on every backend, and more resamples extend them.
    alternative : {"two-sided", "greater", "less"}
        One-sided intervals are open: ``"greater"`` has a lower end only, ``"less"`` an upper end only.
    method : {"monte-carlo", "exact", "auto"}
        ``"exact"`` gives the interval of infinitely many resamples, ``"auto"`` does where that is cheap.
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
        For an empty sample, differences that are not finite or not one-dimensional, and for other options;
        for weights or clusters so uneven that ``method="exact"`` cannot compute the law of their ratio.
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
    check_choice("method", method, COMPARISON_METHODS)
    check_choice("alternative", alternative, ALTERNATIVES)
    n_resamples = check_count("n_resamples", n_resamples, minimum=2)
    alpha = check_alpha(alpha)
    check_interval(interval, method)
    number = seed_of(seed)
    backend = resolve_backend(deltas)
    minimum = 1 if interval == "percentile" else 2
    with backend.precise():
        sample = as_sample(deltas, backend, minimum=minimum)
        n = int(sample.shape[0])
        units = None if design.is_simple else design.units(n if queries is None else queries)
        check_units(units, n, minimum)
        job = Job(sample, units, eps_of(deltas, backend), interval, tail_of(alpha, alternative), backend)
        n_drawn, (mean, low, high) = _ends(job, method, number, n_resamples)
    warn_of_coarse_ends(n_drawn, alpha, alternative)
    return BootstrapInterval(
        mean,
        -math.inf if alternative == "less" else low,
        math.inf if alternative == "greater" else high,
        alpha,
        n,
        n_drawn,
        number,
        interval,
        None if units is None else units.n,
    )


def _ends(job: Job, method: str, seed: int, n_resamples: int) -> tuple[int, tuple[float, float, float]]:
    """Return how many resamples were drawn, the mean and both ends."""
    chosen = method
    if method == "auto":
        (host,) = to_host(job.sample)
        require_finite(host)
        exact = job.kind != "studentized"
        chosen = chosen_method(method, np.asarray(host, dtype=np.float64), job.units) if exact else ""
    if chosen == "exact":
        try:
            return 0, job.computed()
        except UncertainLawError:
            if method == "exact":
                raise
    return n_resamples, job.sampled(seed, n_resamples)
