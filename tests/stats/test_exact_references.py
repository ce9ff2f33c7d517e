"""The exact p-value against counts in whole numbers that know nothing of how it is computed."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from exact_oracles import (
    counts_by_sum,
    enumerated_p,
    fitting_subsets,
    two_sided_p_by_fitting_subsets,
    two_sided_p_of_integers,
    two_sided_p_of_mixed,
)

from ranklens.arrays import open_backend
from ranklens.stats.exact.far import tilted_inversions
from ranklens.stats.exact.near import plain_inversions
from ranklens.stats.exact.p_value import exact_p_value
from ranklens.stats.exact.signed import SignedRows, by_width
from ranklens.stats.exact.smooth import Inverted
from ranklens.stats.exact.tail import FlipTails
from ranklens.stats.rows.jobs import together

EPS = 2.0**-52
FIRST = np.zeros(1, dtype=np.int64)


def as_continuous(deltas: np.ndarray) -> FlipTails:
    """Return the tail of differences as if they lay on no lattice."""
    ((_, values),) = by_width(deltas[None, :])
    sums = SignedRows.of(values, EPS)
    sums = dataclasses.replace(
        sums, lattice=np.zeros(1, dtype=bool), atom=np.ldexp(1.0, -np.minimum(sums.n, 1000))
    )
    return FlipTails.of(sums, np.zeros(1, dtype=bool))


def inverted(tails: FlipTails, inversions: object) -> Inverted:
    (found,) = together([inversions(tails, FIRST, open_backend("numpy"))])  # type: ignore[operator]
    return found


def tail_of_counts(counts: np.ndarray, limit: int, n: int) -> tuple[float, float]:
    """Return the logarithm of the probability up to `limit` subsets' sums, half of the last one left out."""
    return math.log(math.fsum(counts[:limit]) + 0.5 * counts[limit]) - n * math.log(2.0), counts[limit]


def test_the_references_agree_with_enumeration_and_each_other() -> None:
    integers = [3, -1, 4, 1, -5, 9, 2, 6, -5, 3, 5, 8]
    exact = enumerated_p([Fraction(k) for k in integers], "two-sided")
    assert two_sided_p_of_integers(integers) == two_sided_p_by_fitting_subsets(integers) == exact
    counts = counts_by_sum([abs(k) for k in integers])
    assert sum(counts) == 2 ** len(integers)
    assert fitting_subsets([abs(k) for k in integers], 7) == sum(counts[:8])
    odd = [0.75, -0.3]
    mixed = [Fraction(k, 8) for k in integers] + [Fraction(value) for value in odd]
    band = 8 * Fraction(1, 2**52) * sum(map(abs, mixed))
    assert two_sided_p_of_mixed(integers, Fraction(1, 8), odd) == enumerated_p(mixed, "two-sided", band)


@pytest.mark.parametrize(
    ("n", "losers", "decades"), [(120, 6, 30), (120, 9, 27), (340, 4, 94), (340, 5, 94), (345, 4, 98)]
)
def test_few_small_losers_among_many_are_counted(n: int, losers: int, decades: int) -> None:
    rng = np.random.default_rng([n, losers])
    deltas = 0.05 + rng.gamma(2.0, 0.1, n)
    deltas[:losers] *= -0.3
    exact = two_sided_p_by_fitting_subsets(deltas.tolist())
    assert Fraction(1, 10 ** (decades + 8)) < exact < Fraction(1, 10**decades)
    result = exact_p_value(deltas)
    assert (Fraction(result.p_value), result.p_error) == (exact, 0.0) or result.p_error > 0
    assert abs(Fraction(result.p_value) - exact) <= Fraction(result.p_error) + exact * Fraction(1, 2**52)
    tilted = inverted(as_continuous(deltas), tilted_inversions)
    half = math.log(exact / 2)
    if np.isfinite(tilted.error[0]):
        error = tilted.error[0] * math.exp(tilted.log_scale[0] - half)
        assert abs(math.exp(tilted.log_tail[0] - half) - 1.0) <= error


@pytest.mark.parametrize(
    ("n", "mean", "decades"), [(60, 0.0, 0), (200, 0.35, 5), (200, 1.0, 24), (340, 0.9, 36), (400, 1.7, 80)]
)
def test_a_fine_lattice_is_as_good_as_continuous(n: int, mean: float, decades: int) -> None:
    """Whole numbers below 10,000, whose law is added up term by term."""
    rng = np.random.default_rng([n, decades])
    integers = np.rint(rng.normal(mean, 1.0, n) * 1500).astype(np.int64)
    magnitudes = np.abs(integers[integers != 0])
    assert magnitudes.max() < 10_000
    limit = (int(magnitudes.sum()) - abs(int(integers.sum()))) // 2
    counts = np.zeros(limit + 1)
    counts[0] = 1.0
    for value in magnitudes.tolist():
        counts[value:] += counts[:-value].copy() if value <= limit else 0.0
    expected, _ = tail_of_counts(counts, limit, len(magnitudes))
    assert expected < -decades * math.log(10.0)
    inversions = tilted_inversions if decades else plain_inversions
    found = inverted(as_continuous(integers / 7919.0), inversions)
    error = math.exp(found.log_scale[0] - expected) * found.error[0]
    off = abs(math.exp(found.log_tail[0] - expected) - 1.0)
    # Half of the last sum stands for the whole of a density, up to the square of its slope from sum to sum.
    slope = 4.0 * abs(int(integers.sum())) / float(np.sum(magnitudes.astype(float) ** 2))
    assert off <= error + slope * slope
    assert off <= 4e-5


@pytest.mark.parametrize("decimals", [1, 2, 4])
@pytest.mark.parametrize(("n", "n_odd"), [(46, 1), (52, 2), (52, 4), (60, 3)])
@pytest.mark.parametrize("drift", [0.05, 0.5])
def test_a_lattice_with_a_few_odd_values_keeps_its_error(
    decimals: int, n: int, n_odd: int, drift: float
) -> None:
    """The odd values hide the lattice, whose sums still fall together."""
    rng = np.random.default_rng([decimals, n, n_odd])
    scale = 10**decimals
    integers = np.rint(rng.normal(drift, 1.0, n - n_odd) * (30 if decimals == 1 else 0.7 * scale)).astype(int)
    odd = (rng.normal(drift, 1.0, n_odd) * math.sqrt(2.0)).tolist()
    exact = two_sided_p_of_mixed(integers.tolist(), Fraction(1, scale), odd)
    result = exact_p_value(np.concatenate([integers / scale, odd]))
    assert abs(Fraction(result.p_value) - exact) <= Fraction(result.p_error) + exact * Fraction(1, 10**12)
    assert result.p_error <= max(1e-4, 0.05 * result.p_value)


def test_every_split_of_the_same_sums_is_counted_alike() -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(1, 1000, 14).tolist()
    sums = [sum(subset) for k in range(15) for subset in itertools.combinations(values, k)]
    for limit in (0, 500, 3000, sum(values)):
        assert fitting_subsets(values, limit) == sum(total <= limit for total in sums)
