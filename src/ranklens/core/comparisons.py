"""What a comparison of two runs found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ranklens.core.comparison_line import comparison_line
from ranklens.core.presentation import Presentable, counted, fixed, p_text


@dataclass(frozen=True, slots=True, repr=False)
class BootstrapInterval(Presentable):
    """A bootstrap interval of the mean difference B - A.

    `alpha` is one minus the confidence; `seed` reproduces the resamples. `interval` is its kind, and
    `n_units` the number of clusters (or of queries of positive weight) where the sample has such a design.

    Examples
    --------
    >>> interval = BootstrapInterval(0.02, 0.01, 0.03, 0.05, 50, 10_000, 0)
    >>> print(interval, interval.excludes_zero)
    delta +0.0200 [+0.0100, +0.0300] (95% interval, 50 queries, 10000 resamples, seed 0) True
    """

    delta: float
    low: float
    high: float
    alpha: float
    n_queries: int
    n_resamples: int
    seed: int
    interval: str = "percentile"
    n_units: int | None = None

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside the interval."""
        return self.low > 0.0 or self.high < 0.0

    def __str__(self) -> str:
        kind = "" if self.interval == "percentile" else f"{self.interval} "
        drawn = counted(self.n_resamples, "resample") if self.n_resamples else "infinitely many resamples"
        sample = counted(self.n_queries, "query", "queries")
        if self.n_units is not None and self.n_units != self.n_queries:
            sample += f" in {counted(self.n_units, 'unit')}"
        return (
            f"delta {fixed(self.delta, sign=True)} "
            f"[{fixed(self.low, sign=True)}, {fixed(self.high, sign=True)}] "
            f"({confidence(self.alpha)} {kind}interval, {sample}, "
            f"{drawn}, seed {self.seed})"
        )


@dataclass(frozen=True, slots=True, repr=False)
class ComparisonResult(Presentable):
    """The paired comparison of two runs on one measure; all differences are B minus A.

    Attributes
    ----------
    metric : str
        The measure's canonical name.
    mean_a, mean_b, delta : float or None
        Means over the paired queries, and their difference; None when no query is paired.
    ci_low, ci_high : float or None
        The interval of the mean difference at confidence 1 - `alpha` (one end is infinite for a one-sided
        alternative); None below the minimum number of queries.
    p_value, q_value : float or None
        The p-value, and the p-value after the correction of its `family`.
    n_queries, n_only_a, n_only_b : int
        Paired queries, and queries that only one of the two has.
    n_resamples, n_permutations, seed : int
        What reproduces a Monte-Carlo result; the counts are 0 where the method is exact.
    effect : float or None
        The mean difference over its standard deviation (ddof 1); None when that is zero.
    wins, ties, losses : int
        Queries on which B is above, equal to and below A.
    method, interval, alternative : str
        How the p-value and the interval were made, and the side of the test.
    p_error : float
        Absolute error bound of an exact p-value; the standard error of a Monte-Carlo one.
    log10_p : float or None
        The logarithm of the p-value, which goes on where the p-value itself underflows.
    se : float or None
        The standard error of the mean difference: the differences' standard deviation over √n, or what a
        ratio of totals has with weights or clusters.
    n_units : int or None
        The units that are flipped and resampled, where they are not the paired queries: clusters, or queries
        of positive weight.
    weighted, clustered : bool
        Whether queries weigh differently, and whether they are drawn in clusters.
    margin : float or None
        The p-value is that of delta > -margin ("greater": B is not worse by the margin), of delta < margin
        ("less") or of both ("two-sided": equivalence).
    p_t, p_wilcoxon : float or None
        The paired t-test's and Wilcoxon's signed-rank p-values, where asked for; never corrected.
    simultaneous_low, simultaneous_high : float or None
        The ends of the interval that holds together with all others of its family.
    simultaneous_method : str or None
        ``"bonferroni"``, or ``"maxt"`` where the dependence of the rows counts.
    q_permutations, q_seed : int or None
        Of step-down max-T: the sign flips that the q-value was sampled from, whatever the p-value was made
        of (0 where all were listed), and their seed.
    simultaneous_permutations, simultaneous_seed : int or None
        The flips that intervals by ``"maxt"`` were sampled from, and their seed.

    Examples
    --------
    >>> from ranklens import MetricResult, compare
    >>> a = MetricResult("AP", {f"q{i}": 0.2 for i in range(25)})
    >>> b = MetricResult("AP", {f"q{i}": 0.2 + 0.01 * (i % 5) for i in range(25)})
    >>> result = compare(a, b, method="exact")
    >>> round(result.delta, 6), result.wins, result.significant
    (0.02, 20, True)
    """

    metric: str
    mean_a: float | None
    mean_b: float | None
    delta: float | None
    ci_low: float | None
    ci_high: float | None
    alpha: float
    p_value: float | None
    n_queries: int
    n_only_a: int
    n_only_b: int
    n_resamples: int
    n_permutations: int
    seed: int
    q_value: float | None = None
    run_a: str = "A"
    run_b: str = "B"
    segment: str | None = None
    effect: float | None = None
    wins: int = 0
    ties: int = 0
    losses: int = 0
    alternative: str = "two-sided"
    method: str = "monte-carlo"
    p_error: float | None = None
    log10_p: float | None = None
    interval: str = "percentile"
    correction: str | None = None
    family: str | None = None
    se: float | None = None
    n_units: int | None = None
    weighted: bool = False
    clustered: bool = False
    margin: float | None = None
    p_t: float | None = None
    p_wilcoxon: float | None = None
    simultaneous_low: float | None = None
    simultaneous_high: float | None = None
    simultaneous_method: str | None = None
    q_permutations: int | None = None
    q_seed: int | None = None
    simultaneous_permutations: int | None = None
    simultaneous_seed: int | None = None

    @property
    def significant(self) -> bool:
        """Whether the q-value (the p-value where there is none) lies strictly below `alpha`.

        With a margin this says that B is not worse by it, or that the two are equivalent.
        """
        p = self.p_value if self.q_value is None else self.q_value
        return p is not None and bool(p < self.alpha)

    @property
    def relative_delta(self) -> float | None:
        """The difference as a share of the size of A's mean; None when that mean is zero."""
        if self.delta is None or not self.mean_a:
            return None
        return self.delta / abs(self.mean_a)

    @property
    def tested(self) -> bool:
        """Whether there were enough queries for an interval and a p-value."""
        return self.p_value is not None

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects, fit for JSON, the derived properties included."""
        derived = {"relative_delta": self.relative_delta, "significant": self.significant}
        return Presentable.to_dict(self) | derived

    def __str__(self) -> str:
        return comparison_line(self)


@dataclass(frozen=True, slots=True, repr=False)
class PPIComparison(Presentable):
    """A comparison that corrects many proxy judgements by a few gold ones; differences are B minus A.

    `lam` is the weight of the proxy, `n_proxy` counts the proxy-only queries, `n_gold` the gold ones.
    `correlation` is that of the gold and proxy differences on the gold queries (None without spread), and
    `n_effective` the number of gold queries that alone would give the same variance. `proxy_delta` is what
    the proxy judgements alone would have claimed. `n_only_a` and `n_only_b` count the queries that have
    proxy values, or gold values, of one run only: such values are not used.

    Examples
    --------
    >>> found = PPIComparison("AP", 0.20, 0.23, 0.03, 0.01, 0.05, 0.05, 0.004, 0.7, 400, 50)
    >>> print(found)
    AP: B 0.2300 vs A 0.2000, delta +0.0300 [+0.0100, +0.0500], p 0.0040 (lambda 0.700, 50 gold and \
400 proxy-only queries)
    """

    metric: str
    mean_a: float
    mean_b: float
    delta: float
    ci_low: float
    ci_high: float
    alpha: float
    p_value: float
    lam: float
    n_proxy: int
    n_gold: int
    q_value: float | None = None
    correlation: float | None = None
    n_effective: float | None = None
    reference: str = "normal"
    lam_by_stratum: tuple[tuple[str, float], ...] | None = None
    proxy_delta: float | None = None
    n_only_a: int = 0
    n_only_b: int = 0

    @property
    def significant(self) -> bool:
        """Whether the q-value (the p-value where there is none) lies strictly below `alpha`."""
        return bool((self.p_value if self.q_value is None else self.q_value) < self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects, fit for JSON, the verdict included."""
        return Presentable.to_dict(self) | {"significant": self.significant}

    def __str__(self) -> str:
        corrected = f", q {p_text(self.q_value, self.alpha)}" if self.q_value is not None else ""
        proxy = (
            "" if self.proxy_delta is None else f"; the proxy alone says {fixed(self.proxy_delta, sign=True)}"
        )
        one_sided = (
            f"; not used, queries of one run only: {self.n_only_a} of A, {self.n_only_b} of B"
            if self.n_only_a or self.n_only_b
            else ""
        )
        return (
            f"{self.metric}: B {fixed(self.mean_b)} vs A {fixed(self.mean_a)}, "
            f"delta {fixed(self.delta, sign=True)} "
            f"[{fixed(self.ci_low, sign=True)}, {fixed(self.ci_high, sign=True)}], "
            f"p {p_text(self.p_value, self.alpha)}{corrected} (lambda {self.lam:.3f}, {self.n_gold} gold and "
            f"{self.n_proxy} proxy-only queries{proxy}{one_sided})"
        )


def confidence(alpha: float) -> str:
    """Print one minus alpha as a percentage.

    Examples
    --------
    >>> confidence(0.05), confidence(1e-9)
    ('95%', '99.9999999%')
    """
    return f"{100 * (1 - alpha):.14g}%"
