"""The sign-flip test of a mean difference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranklens.arrays import Backend, Seed, resolve_backend, seed_of, steady, to_host
from ranklens.core.per_query import QueryId
from ranklens.kernels.flip_counts import flip_counts
from ranklens.stats.choosing import chosen_method
from ranklens.stats.design import Design, check_units
from ranklens.stats.lattice import comparable_sample
from ranklens.stats.options import ALTERNATIVES, COMPARISON_METHODS, check_choice, check_count
from ranklens.stats.sample import as_sample, eps_of, finite_part, require_finite
from ranklens.stats.scaling import extreme_exponent
from ranklens.stats.units import Units

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
    weights: Any = None,
    clusters: Any = None,
    margin: float | None = None,
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
    method : {"monte-carlo", "exact", "auto"}
        ``"exact"`` counts all 2^n flips instead of drawing some, ``"auto"`` does where that is cheap and
        comes out well.
    weights : sequence or array, shape (n,), optional
        What each query counts for: w·d is flipped.
    clusters : sequence or array, shape (n,), optional
        The cluster of each query; the queries of one are flipped together.
    margin : float, optional
        Test whether the mean difference lies above -margin (``"greater"``: non-inferiority), below margin
        (``"less"``), or between the two (``"two-sided"``: equivalence, the larger of the two p-values).

    Returns
    -------
    float
        The p-value. 1.0 when every difference is zero.

    Raises
    ------
    InsufficientSampleError
        For fewer than 2 differences, or units of positive weight.
    ValueError
        For differences that are not finite or not one-dimensional, and for other options; where
        ``method="exact"`` could be off by more than a hundredth of the p-value, and by more than 1e-6.

    Notes
    -----
    The hypothesis is symmetry, not a zero mean: for skewed differences of mean zero it rejects too often.

    Examples
    --------
    >>> permutation_test([0.1, 0.2, 0.3, 0.1, 0.2, 0.4, 0.1, 0.2], method="exact")
    0.0078125
    >>> permutation_test([0.1, 0.2, 0.3, -0.2, 0.1, 0.3, -0.1, 0.2], n_permutations=999)
    0.173
    >>> permutation_test([0.1, 0.2, 0.3, 0.1], method="exact", clusters=["s1", "s1", "s2", "s3"])
    0.25
    """
    return sign_flip_test(
        deltas,
        n_permutations=n_permutations,
        seed=seed,
        alternative=alternative,
        method=method,
        weights=weights,
        clusters=clusters,
        margin=margin,
    ).p_value


def sign_flip_test(
    deltas: Any,
    *,
    n_permutations: int = 10_000,
    seed: Seed = 0,
    alternative: str = "two-sided",
    method: str = "monte-carlo",
    weights: Any = None,
    clusters: Any = None,
    margin: float | None = None,
) -> SignFlip:
    """Do `permutation_test`, and tell how the p-value was made; takes the same arguments.

    Examples
    --------
    >>> sign_flip_test([1.0, 2.0, 4.0], n_permutations=99).method
    'monte-carlo'
    """
    return flip_test(
        deltas,
        Design.checked(weights, clusters, margin),
        n_permutations=n_permutations,
        seed=seed,
        alternative=alternative,
        method=method,
    )


def flip_test(
    deltas: Any,
    design: Design,
    *,
    queries: Sequence[QueryId] | None = None,
    n_permutations: int,
    seed: Seed,
    alternative: str,
    method: str,
    may_sample: bool = False,
) -> SignFlip:
    """Make the test of a design; of several hypotheses the largest p-value counts.

    `queries` are those that mappings of the design speak of. An exact p-value that is not certain is an
    error, unless the method is ours to choose or it `may_sample`.
    """
    check_choice("method", method, COMPARISON_METHODS)
    check_choice("alternative", alternative, ALTERNATIVES)
    n_permutations = check_count("n_permutations", n_permutations)
    number = seed_of(seed)
    backend = resolve_backend(deltas)
    with backend.precise():
        sample = as_sample(deltas, backend, minimum=_MINIMUM, query_ids=queries)
        asked = design.hypotheses(alternative)
        n = int(sample.shape[0])
        units = None if design.is_simple else design.units(n if queries is None else queries)
        check_units(units, n, _MINIMUM)
        if method == "auto":
            may_sample = True
            (host,) = to_host(sample)
            require_finite(host, queries)
            method = chosen_method(method, np.asarray(host, dtype=np.float64), units)
        exponent = 0
        if backend.name == "numpy":
            weight = 1.0 if units is None else float(units.sizes.sum())
            exponent = extreme_exponent(sample, *(shift for shift, _ in asked), weight=weight)
        moderate = np.ldexp(sample, -exponent) if exponent else sample
        tested = [
            (_shifted(moderate, units, math.ldexp(shift, -exponent), backend), side) for shift, side in asked
        ]
        if method == "exact":
            eps = eps_of(deltas if design.is_simple and design.margin is None else sample, backend)
            found = _largest(_exact(values, eps, side, number, backend) for values, side in tested)
            if _is_certain(found, may_sample):
                return found
        return _largest(_sampled(deltas, sample, tested, number, n_permutations, backend))


def _largest(tests: Iterable[SignFlip]) -> SignFlip:
    return max(tests, key=lambda test: (test.p_value, test.log10_p))


def _is_certain(found: SignFlip, may_sample: bool) -> bool:
    from ranklens.stats.exact.trust import UncertainPValueError, uncertain

    unsure = bool(uncertain(found.p_value, found.p_error))
    if unsure and not may_sample:
        raise UncertainPValueError(found.p_value, found.p_error)
    return not unsure


def _shifted(sample: Any, units: Units | None, shift: float, backend: Backend) -> Any:
    """Return what is flipped: the differences plus `shift`, or their totals in the units."""
    shifted = sample + shift if shift else sample
    return shifted if units is None else units.totals_on(shifted, backend)


def _sampled(
    deltas: Any,
    sample: Any,
    tested: Sequence[tuple[Any, str]],
    seed: int,
    n_permutations: int,
    backend: Backend,
) -> list[SignFlip]:
    counts, flags = [], []
    for values, side in tested:
        finite, n_bad = (values, 0) if backend.name == "numpy" else finite_part(steady(values, backend))
        flags.append(n_bad)
        counts.append(
            flip_counts(
                comparable_sample(finite, backend, eps_of(deltas, backend)),
                seed=seed,
                resamples=range(n_permutations),
                alternative=side,
            )
        )
    if backend.name != "numpy":
        *counts, n_not_finite = to_host(*counts, flags[0])
        if n_not_finite:
            require_finite(to_host(sample)[0])
    return [_estimated(int(count), n_permutations, seed) for count in counts]


def _estimated(extreme: int, n_permutations: int, seed: int) -> SignFlip:
    p = (extreme + 1) / (n_permutations + 1)
    error = math.sqrt(p * (1.0 - p) / n_permutations)
    return SignFlip(p, error, math.log10(p), "monte-carlo", n_permutations, seed)


def _exact(sample: Any, eps: float, alternative: str, seed: int, backend: Backend) -> SignFlip:
    from ranklens.stats.exact.p_value import exact_p_of

    found = exact_p_of(sample, eps, alternative, backend)
    return SignFlip(found.p_value, found.p_error, found.log10_p, found.step, 0, seed)
