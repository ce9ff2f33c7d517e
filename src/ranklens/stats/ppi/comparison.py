"""Prediction-powered comparison: many cheap judgements, corrected by a few right ones."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Mapping

import numpy as np

from ranklens.core.comparisons import PPIComparison
from ranklens.core.per_query import MetricResult, QueryId
from ranklens.stats.moments import mean
from ranklens.stats.paired import warn_if_few
from ranklens.stats.power import check_alpha, is_finite_number
from ranklens.stats.ppi.estimate import Estimate, correlation, estimate
from ranklens.stats.ppi.samples import OneSided, check_covered, check_enough, judged, samples_of
from ranklens.stats.reference import Reference
from ranklens.stats.scaling import extreme_exponent, scaled_back

MIN_GOLD = 30
"""Fewer gold queries than this say little: a `SmallSampleWarning` is given."""

REFERENCES = ("normal", "t")


def ppi_compare(
    proxy_a: MetricResult,
    proxy_b: MetricResult,
    gold_a: MetricResult,
    gold_b: MetricResult,
    *,
    lam: float | None = None,
    alpha: float = 0.05,
    reference: str = "normal",
    strata: Mapping[QueryId, Hashable] | None = None,
) -> PPIComparison:
    """Compare two runs by proxy judgements of every query, corrected by gold ones of a random sample.

    The proxy (a language model, a single assessor) may be off in any way; the gold judgements must be right
    and cover a *random* sample of the queries. With G the n gold queries, U the N queries with proxy only,
    and the per-query differences p (proxy) and g (gold)::

        delta = lam * mean_U(p) + mean_G(g - lam * p)
        var   = lam^2 * var_U(p) / N + var_G(g - lam * p) / n
        lam   = cov_G(g, p) / ((1 + n/N) * var_GU(p))          unless given

    The estimate is unbiased (up to the estimation of `lam`) however wrong the proxy is; a good proxy makes
    the interval narrower.

    Parameters
    ----------
    proxy_a, proxy_b : MetricResult
        The measure under proxy judgements. Queries that only one of them has are not used, but counted.
    gold_a, gold_b : MetricResult
        The same measure under gold judgements; each query of both must have proxy values of both runs. A
        query with gold values of one run only counts as proxy-only.
    lam : float, optional
        The weight of the proxy: 0 is gold only, 1 is classic prediction-powered inference; estimated (PPI++)
        by default, and not clipped. With fewer than two proxy-only queries it is 0 whatever is asked.
    alpha : float
        One minus the confidence of the interval.
    reference : {"normal", "t"}
        The distribution of the interval and of the p-value. With few gold queries the normal one covers too
        little (92 % at 20 instead of 95 %); Student's t, with n - 2 degrees of freedom and ddof 2 on the gold
        queries when `lam` is estimated (n - 1 and ddof 1 when it is given), comes close. "t" needs scipy.
    strata : mapping from query id to a label, optional
        For gold samples drawn stratum by stratum: every stratum gets its own `lam`, and counts by its share
        of all queries. Degrees of freedom are then Satterthwaite's.

    Returns
    -------
    PPIComparison
        `lam` is the weighted mean of the strata's where there are strata.

    Raises
    ------
    ValueError
        For results of different measures, a gold query without proxy values, a query without a stratum, a
        value that is not finite, or an argument out of range.
    InsufficientSampleError
        For fewer than 2 gold queries (in a stratum), or fewer than 3 with ``reference="t"`` and `lam` to be
        estimated.
    MissingDependencyError
        For ``reference="t"`` without scipy.

    Warns
    -----
    SmallSampleWarning
        For fewer than `MIN_GOLD` gold queries.
    DataWarning
        For queries with values of one run only.

    References
    ----------
    A. N. Angelopoulos, J. C. Duchi, T. Zrnic, PPI++: Efficient Prediction-Powered Inference (2023),
    arXiv:2311.01453.

    Examples
    --------
    >>> import ranklens as rl
    >>> def result(*values):
    ...     return rl.MetricResult("AP", {f"q{i:02}": value for i, value in enumerate(values)})
    >>> proxy_a, proxy_b = result(*[0.5] * 120), result(*[0.5, 0.6, 0.7, 0.8] * 30)
    >>> gold_a, gold_b = result(*[0.4] * 30), result(*[0.4, 0.5, 0.6] * 10)
    >>> print(rl.ppi_compare(proxy_a, proxy_b, gold_a, gold_b, lam=0))  # the gold queries alone
    AP: B 0.5000 vs A 0.4000, delta +0.1000 [+0.0703, +0.1297], p 4.2e-11 (lambda 0.000, 30 gold and 90 \
proxy-only queries; the proxy alone says +0.1500)
    """
    metric = _one_metric(proxy_a, proxy_b, gold_a, gold_b)
    alpha, lam = _checked_options(lam, alpha, reference)
    gold = judged(gold_a, gold_b, ("gold_a", "gold_b"))
    proxy = judged(proxy_a, proxy_b, ("proxy_a", "proxy_b"))
    check_covered(gold.queries, proxy.queries)
    one_sided = OneSided.of((proxy_a, proxy_b), (gold_a, gold_b))
    one_sided.warn()
    exponent = extreme_exponent(np.concatenate([gold.a, gold.b, proxy.a, proxy.b]))
    gold, proxy = gold.scaled(-exponent), proxy.scaled(-exponent)
    samples = samples_of(gold, proxy, strata)
    for label, sample in samples.items():
        check_enough(label, sample.n_gold, lam, reference, stratified=strata is not None)
    warn_if_few(len(gold.queries), MIN_GOLD, "gold queries")
    found = estimate(list(samples.values()), lam, ddof_for_lam=reference == "t")
    low, high, p_value = _inference(found, Reference(found.df if reference == "t" else math.inf), alpha)
    return PPIComparison(
        metric=metric,
        mean_a=scaled_back(found.mean_a, exponent),
        mean_b=scaled_back(found.mean_a + found.delta, exponent),
        delta=scaled_back(found.delta, exponent),
        ci_low=scaled_back(low, exponent),
        ci_high=scaled_back(high, exponent),
        alpha=alpha,
        p_value=p_value,
        lam=found.lam,
        n_proxy=len(proxy.queries) - len(gold.queries),
        n_gold=len(gold.queries),
        correlation=correlation(list(samples.values())),
        n_effective=found.n_effective,
        reference=reference,
        lam_by_stratum=None
        if strata is None
        else tuple((str(label), lam_h) for label, lam_h in zip(samples, found.lam_by_sample, strict=True)),
        proxy_delta=scaled_back(mean(proxy.b - proxy.a), exponent),
        n_only_a=len(one_sided.proxy_a | one_sided.gold_a),
        n_only_b=len(one_sided.proxy_b | one_sided.gold_b),
    )


def _one_metric(*results: MetricResult) -> str:
    for name, result in zip(("proxy_a", "proxy_b", "gold_a", "gold_b"), results, strict=True):
        if not isinstance(result, MetricResult):
            raise TypeError(f"{name} must be a MetricResult, got {type(result).__name__}")
    metrics = sorted({result.metric for result in results})
    if len(metrics) > 1:
        raise ValueError(f"all four results must be of one measure, got {', '.join(metrics)}")
    return metrics[0]


def _checked_options(lam: float | None, alpha: float, reference: str) -> tuple[float, float | None]:
    level = check_alpha(alpha)
    if lam is not None and not is_finite_number(lam):
        raise ValueError(f"lam must be a finite number, or None to estimate it, got {lam!r}")
    if reference not in REFERENCES:
        raise ValueError(f"reference must be one of {', '.join(REFERENCES)}, got {reference!r}")
    return level, None if lam is None else float(lam)


def _inference(found: Estimate, reference: Reference, alpha: float) -> tuple[float, float, float]:
    if found.se == 0.0:
        return found.delta, found.delta, 1.0 if found.delta == 0.0 else 0.0
    half = reference.quantile(1.0 - alpha / 2.0) * found.se
    p_value = max(reference.two_sided(found.delta / found.se), sys.float_info.min)
    return found.delta - half, found.delta + half, p_value
