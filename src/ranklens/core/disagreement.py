"""One sentence for the reader who sees an interval and a p-value on different sides of the same question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.core.presentation import counted, p_text

if TYPE_CHECKING:
    from ranklens.core.comparisons import ComparisonResult


_FAR = 2.0
"""Beyond so many times alpha a p-value is not near the boundary."""


def disagreement_note(result: ComparisonResult) -> str | None:
    """Explain why the interval and the (uncorrected) p-value of a comparison disagree about zero.

    Both are right about different things: the interval resamples the queries at hand and is too narrow for
    small samples; the sign-flip test asks how often symmetric differences would be as extreme, and with n
    non-zero differences no two-sided p-value can be below 2 / 2^n.

    Parameters
    ----------
    result : ComparisonResult
        The comparison.

    Returns
    -------
    str or None
        The sentence; None where the two agree or nothing was tested.

    Examples
    --------
    >>> from ranklens.core import ComparisonResult
    >>> small = ComparisonResult(
    ...     "AP", 0.4667, 0.6, 0.1333, 0.1, 0.2, 0.05, 0.25, 3, 0, 0, 0, 0, 0, wins=3, method="exact"
    ... )
    >>> print(disagreement_note(small))
    the interval excludes 0 though p 0.2500 is not below 0.05: 3 non-zero differences cannot give a p-value \
below 0.2500, and a percentile interval of so few is too narrow; trust the p-value
    """
    if result.p_value is None or result.ci_low is None or result.ci_high is None:
        return None
    if result.margin is not None:
        # The p-value is about the margin, not about 0.
        return None
    excluded = result.ci_low > 0.0 or result.ci_high < 0.0
    rejected = result.p_value < result.alpha
    if excluded == rejected:
        return None
    shown = p_text(result.p_value, result.alpha)
    if rejected:
        return (
            f"the interval includes 0 though p {shown} is below {result.alpha:g}: the test "
            "asks whether the differences are symmetric around 0, the interval where their mean lies; few "
            "queries or a few large differences let the two part; do not call this settled"
        )
    head = f"the interval excludes 0 though p {shown} is not below {result.alpha:g}: "
    if 0 < result.n_permutations < 1.0 / result.alpha:
        return (
            f"{head}{counted(result.n_permutations, 'random flip')} cannot give a p-value below "
            f'{p_text(1.0 / (result.n_permutations + 1))}; use more, or method="exact"'
        )
    article = "an" if result.interval == "expanded" else "a"
    n, noun = _flipped(result)
    smallest = smallest_p_value(n, result.alternative)
    if smallest >= result.alpha:
        return (
            f"{head}{n} {noun} cannot give a p-value below {p_text(smallest)}{_noise(result, smallest)}, "
            f"and {article} {result.interval} interval of so few is too narrow; trust the p-value"
        )
    if result.p_value >= _FAR * result.alpha:
        return (
            f"{head}the test asks whether the differences are symmetric around 0, the interval where their "
            "mean lies, and a few large differences part the two; look at these queries before you call it"
        )
    size = (
        counted(result.n_queries, "query", "queries")
        if result.n_units is None
        else counted(result.n_units, "unit")
    )
    return (
        f"{head}{article} {result.interval} interval of {size} is somewhat too narrow, and near "
        "the boundary that shows; trust the p-value"
    )


def _noise(result: ComparisonResult, smallest: float) -> str:
    """Say why a sampled p-value can stand below the smallest that there is."""
    sampled = result.n_permutations > 0 and result.p_value is not None and result.p_value < smallest
    return " but for the noise of random flips" if sampled else ""


def _flipped(result: ComparisonResult) -> tuple[int, str]:
    """Return how many differences have a sign to flip, at most, and what they are called."""
    nonzero = result.wins + result.losses
    if result.n_units is None or result.n_units >= nonzero:
        return nonzero, "non-zero differences"
    return result.n_units, "clusters" if result.clustered else "weighted differences"


def smallest_p_value(n_nonzero: int, alternative: str) -> float:
    """Return the smallest p-value that a sign-flip test of `n_nonzero` differences can reach.

    Examples
    --------
    >>> smallest_p_value(5, "two-sided"), smallest_p_value(5, "greater")
    (0.0625, 0.03125)
    """
    return min(1.0, 2.0 ** ((1 if alternative == "two-sided" else 0) - min(n_nonzero, 1000)))
