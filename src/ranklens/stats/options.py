"""The options that the comparisons share, and the checks of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from ranklens.arrays import Seed, seed_of
from ranklens.core.errors import CoarseIntervalWarning
from ranklens.core.per_query import QueryId
from ranklens.core.user_line import warn_user
from ranklens.stats.design import SIMPLE, Design
from ranklens.stats.power import check_alpha

ALTERNATIVES = ("two-sided", "greater", "less")
METHODS = ("monte-carlo", "exact")
COMPARISON_METHODS = (*METHODS, "auto")
INTERVALS = ("percentile", "expanded", "bca", "studentized")
QUANTILES = ("percentile", "expanded")
"""The kinds of interval whose ends have the same places among the ordered resamples of every sample."""
_SERIOUS = 100
BESIDE = ("t", "wilcoxon")
"""The classical tests that can be shown beside the sign-flip test."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a comparison is made; `seed` is the integer that reproduces it."""

    n_resamples: int
    n_permutations: int
    alpha: float
    seed: int
    min_queries: int
    method: str
    alternative: str
    interval: str
    design: Design = SIMPLE
    beside: tuple[str, ...] = ()

    @classmethod
    def checked(
        cls,
        *,
        n_resamples: int,
        n_permutations: int,
        alpha: float,
        seed: Seed,
        min_queries: int,
        method: str,
        alternative: str,
        interval: str,
        weights: Any = None,
        clusters: Any = None,
        margin: float | None = None,
        beside: Sequence[str] | str = (),
    ) -> Options:
        """Check every option; raise a ValueError that names the first that is wrong."""
        n_resamples = check_count("n_resamples", n_resamples, minimum=2)
        n_permutations = check_count("n_permutations", n_permutations)
        alpha = check_alpha(alpha)
        min_queries = check_count("min_queries", min_queries, minimum=0)
        check_choice("method", method, COMPARISON_METHODS)
        check_choice("alternative", alternative, ALTERNATIVES)
        check_interval(interval, method)
        names = _beside(beside)
        return cls(
            n_resamples,
            n_permutations,
            alpha,
            seed_of(seed),
            min_queries,
            method,
            alternative,
            interval,
            Design.checked(weights, clusters, margin),
            names,
        )

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Options:
        """Check the options among the arguments of a comparison: its ``locals()``."""
        return cls.checked(**{name: arguments[name] for name in _ASKED})

    def bound(self, queries: Sequence[QueryId]) -> Options:
        """Return the options with a design that serves any subset of `queries`."""
        design = self.design.bound(queries)
        return self if design is self.design else replace(self, design=design)


_ASKED = tuple(signature(Options.checked).parameters)
"""What every comparison takes, by one name."""


def _beside(beside: Any) -> tuple[str, ...]:
    names = () if beside is None else (beside,) if isinstance(beside, str) else beside
    if not isinstance(names, Iterable):
        raise ValueError(f"beside must be one of {', '.join(BESIDE)}, or some of them, got {beside!r}")
    names = tuple(names)
    for name in names:
        check_choice("beside", name, BESIDE)
    return names


def is_plain(options: Options) -> bool:
    """Whether queries are sampled one by one, and nothing but sign flips and percentiles is asked for."""
    design = options.design
    simple = design.is_simple and design.margin is None and not options.beside
    return simple and options.interval in QUANTILES


def tail_of(alpha: float, alternative: str) -> float:
    """Return the probability beyond each end of an interval: half of `alpha` where there are two.

    Examples
    --------
    >>> tail_of(0.05, "two-sided"), tail_of(0.05, "less")
    (0.025, 0.05)
    """
    return alpha / 2 if alternative == "two-sided" else alpha


def warn_of_coarse_ends(n_resamples: int, alpha: float, alternative: str) -> None:
    """Warn if fewer than one of `n_resamples` is expected beyond each end; 0 were not drawn but computed.

    Who asks for a few resamples only tries whether a program runs.
    """
    tail = tail_of(alpha, alternative)
    if n_resamples >= _SERIOUS and n_resamples * tail < 1.0:
        warn_user(
            f"{n_resamples} resamples are too few for alpha={alpha:g}: less than one is expected beyond an "
            f"end of the interval, which is then too short; that needs n_resamples of at least "
            f'{math.ceil(1.0 / tail)}, or method="exact"',
            CoarseIntervalWarning,
        )


def check_interval(interval: Any, method: str) -> None:
    """Raise a ValueError for an unknown kind of interval, and for one that only resamples can give."""
    check_choice("interval", interval, INTERVALS)
    if interval == "studentized" and method == "exact":
        raise ValueError(
            'interval="studentized" needs resamples and has no exact form; use method="auto" (exact p-value, '
            'resampled interval) in a comparison, method="monte-carlo", or interval="bca"'
        )


def check_choice(name: str, value: Any, choices: Sequence[str], *, or_none: bool = False) -> None:
    """Raise a ValueError unless `value` is one of `choices` (the caller has seen to None where it may be)."""
    if not isinstance(value, str) or value not in choices:
        none = " or None" if or_none else ""
        raise ValueError(f"{name} must be one of {', '.join(choices)}{none}, got {value!r}")


def check_count(name: str, value: Any, minimum: int = 1) -> int:
    """Return `value` as an int; raise a ValueError unless it is a whole number of at least `minimum`."""
    try:
        count = operator.index(value)
    except TypeError:
        count = minimum - 1
    if count < minimum or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number of at least {minimum}, got {value!r}")
    return count
