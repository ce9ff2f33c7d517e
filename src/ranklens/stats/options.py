"""The options that the comparisons share, and the checks of them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ranklens.arrays import Seed, seed_of
from ranklens.stats.power import check_alpha

ALTERNATIVES = ("two-sided", "greater", "less")
METHODS = ("monte-carlo", "exact")
COMPARISON_METHODS = (*METHODS, "auto")
INTERVALS = ("percentile",)


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
    ) -> Options:
        """Check every option; raise a ValueError that names the first that is wrong."""
        check_count("n_resamples", n_resamples)
        check_count("n_permutations", n_permutations)
        check_alpha(alpha)
        check_count("min_queries", min_queries, minimum=0)
        check_choice("method", method, COMPARISON_METHODS)
        check_choice("alternative", alternative, ALTERNATIVES)
        check_choice("interval", interval, INTERVALS)
        return cls(
            n_resamples,
            n_permutations,
            alpha,
            seed_of(seed),
            min_queries,
            method,
            alternative,
            interval,
        )


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise a ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def check_count(name: str, value: Any, minimum: int = 1) -> None:
    """Raise a ValueError unless `value` is a whole number of at least `minimum`."""
    try:
        count = operator.index(value)
    except TypeError:
        count = minimum - 1
    if count < minimum or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number of at least {minimum}, got {value!r}")
