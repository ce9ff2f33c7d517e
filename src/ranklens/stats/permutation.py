"""The sign-flip test of a mean difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ranklens.arrays import Seed, resolve_backend, seed_of, steady, to_host
from ranklens.kernels.flip_counts import flip_counts
from ranklens.stats.lattice import comparable_sample
from ranklens.stats.options import ALTERNATIVES, METHODS, check_choice, check_count
from ranklens.stats.sample import as_sample, eps_of, finite_part, require_finite

_MINIMUM = 2


@dataclass(frozen=True, slots=True)
class SignFlip:
    """A p-value and how it was made.

    Attributes
    ----------
    p_value, p_error, log10_p : float
        The p-value, the standard error of its Monte-Carlo estimate or the error bound of an exact one, and
        its decimal logarithm.
    method : str
        ``"monte-carlo"``, or the name of the exact method that was used.
    n_permutations, seed : int
        What reproduces it; 0 flips where the method is exact.
    """

    p_value: float
    p_error: float
    log10_p: float
    method: str
    n_permutations: int
    seed: int


def permutation_test(
    deltas: Any,
    *,
    n_permutations: int = 10_000,
    seed: Seed = 0,
    alternative: str = "two-sided",
    method: str = "monte-carlo",
) -> float:
    """Test whether paired differences are symmetric around zero, by flipping their signs at random.

    With b of m random flips at least as extreme as what was observed, ``p = (b + 1) / (m + 1)``, which is
    never 0 (Phipson & Smyth 2010, "Permutation p-values should never be zero"). Sums are compared, and equal
    ones count as extreme however they were rounded.

    Parameters
    ----------
    deltas : sequence or array, shape (n,)
        Per-query differences B minus A, finite; a numpy, cupy, jax or torch array is worked on where it lies.
    n_permutations : int, default 10,000
        The number m of flips.
    seed : int, numpy.random.SeedSequence, numpy.random.Generator or None, default 0
        The same seed gives the same flips on every backend, and more flips extend them.
    alternative : {"two-sided", "greater", "less"}
        Whether B is different from, above or below A.
    method : {"monte-carlo", "exact"}
        ``"exact"`` counts all 2^n flips instead of drawing some.

    Returns
    -------
    float
        The p-value. 1.0 when every difference is zero.

    Raises
    ------
    InsufficientSampleError
        For fewer than 2 differences.
    ValueError
        For differences that are not finite or not one-dimensional, and for other options.

    Notes
    -----
    The hypothesis is symmetry, not a zero mean: for skewed differences of mean zero it rejects too often.

    Examples
    --------
    >>> permutation_test([0.1, 0.2, 0.3, 0.1, 0.2, 0.4, 0.1, 0.2], method="exact")
    0.0078125
    >>> permutation_test([0.1, 0.2, 0.3, -0.2, 0.1, 0.3, -0.1, 0.2], n_permutations=999)
    0.173
    """
    return sign_flip_test(
        deltas, n_permutations=n_permutations, seed=seed, alternative=alternative, method=method
    ).p_value


def sign_flip_test(
    deltas: Any,
    *,
    n_permutations: int = 10_000,
    seed: Seed = 0,
    alternative: str = "two-sided",
    method: str = "monte-carlo",
) -> SignFlip:
    """Do `permutation_test`, and tell how the p-value was made; takes the same arguments.

    Examples
    --------
    >>> sign_flip_test([1.0, 2.0, 4.0], n_permutations=99).method
    'monte-carlo'
    """
    check_choice("method", method, METHODS)
    check_choice("alternative", alternative, ALTERNATIVES)
    check_count("n_permutations", n_permutations)
    number = seed_of(seed)
    if method == "exact":
        return _exact(deltas, alternative, number)
    extreme = _count(deltas, number, n_permutations, alternative)
    p = (extreme + 1) / (n_permutations + 1)
    error = math.sqrt(p * (1.0 - p) / n_permutations)
    return SignFlip(p, error, math.log10(p), method, n_permutations, number)


def _count(deltas: Any, seed: int, n_permutations: int, alternative: str) -> int:
    backend = resolve_backend(deltas)
    with backend.precise():
        sample = as_sample(deltas, backend, minimum=_MINIMUM)
        finite, n_bad = (sample, 0) if backend.name == "numpy" else finite_part(steady(sample, backend))
        count = flip_counts(
            comparable_sample(finite, backend, eps_of(deltas, backend)),
            seed=seed,
            resamples=range(n_permutations),
            alternative=alternative,
        )
        if backend.name == "numpy":
            return int(count)
        extreme, n_not_finite = to_host(count, n_bad)
        if n_not_finite:
            require_finite(to_host(sample)[0])
    return int(extreme)


def _exact(deltas: Any, alternative: str, seed: int) -> SignFlip:
    from ranklens.stats.exact import exact_p_value

    backend = resolve_backend(deltas)
    with backend.precise():
        as_sample(deltas, backend, minimum=_MINIMUM)
    found = exact_p_value(deltas, alternative)
    return SignFlip(found.p_value, found.p_error, found.log10_p, found.step, 0, seed)
