"""Sign-flip p-values in exact arithmetic, by enumeration and by counting in one long integer."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

EPS = Fraction(1, 2**52)


def enumerated_p(deltas: Sequence[Fraction], alternative: str, band: Fraction = Fraction(0)) -> Fraction:
    """Count all sign assignments at least as extreme as the observed one, up to `band`."""
    common = math.lcm(band.denominator, *(delta.denominator for delta in deltas))
    signed = [int(delta * common) for delta in deltas if delta]
    assert len(signed) <= 16, "too many sign assignments to enumerate"
    sums = [0]
    for value in signed:
        sums = [total + sign * value for total in sums for sign in (1, -1)]
    observed, slack = sum(signed), int(band * common)
    if alternative == "two-sided":
        extreme = sum(abs(total) >= abs(observed) - slack for total in sums)
    elif alternative == "greater":
        extreme = sum(total >= observed - slack for total in sums)
    else:
        extreme = sum(total <= observed + slack for total in sums)
    return Fraction(extreme, len(sums))


def enumerated_p_of_floats(
    deltas: Sequence[float], alternative: str, width: Fraction = Fraction(1)
) -> Fraction:
    """Enumerate the very floats; sums tie within `width` times 8 · eps · Σ|d|."""
    exact = [Fraction(delta) for delta in deltas]
    return enumerated_p(exact, alternative, width * 8 * EPS * sum(map(abs, exact), Fraction(0)))


def two_sided_p_of_integers(integers: Sequence[int]) -> Fraction:
    """Count subsets with a long integer whose digits are the counts by sum: exact at any n."""
    magnitudes = [abs(value) for value in integers]
    limit = (sum(magnitudes) - abs(sum(integers))) // 2
    if sum(integers) == 0:
        return Fraction(1)
    width = len(magnitudes) + 2
    mask = (1 << width * (limit + 1)) - 1
    digits = 1
    for value in magnitudes:
        digits = (digits + (digits << width * value)) & mask
    # A number is congruent to the sum of its digits modulo the base less one.
    return Fraction(2 * (digits % ((1 << width) - 1)), 2 ** len(magnitudes))


def counts_by_sum(integers: Sequence[int]) -> list[int]:
    """Count the subsets of positive whole numbers with each sum, from 0 to the sum of all."""
    width = len(integers) // 8 + 1
    digits = 1
    for value in integers:
        digits += digits << 8 * width * value
    packed = digits.to_bytes(width * (sum(integers) + 1), "little")
    return [int.from_bytes(packed[i : i + width], "little") for i in range(0, len(packed), width)]


def fitting_subsets(magnitudes: Sequence[int], limit: int) -> int:
    """Count the subsets of positive whole numbers whose sum is at most `limit`, few of which fit."""
    lists = []
    for half in (magnitudes[::2], magnitudes[1::2]):
        sums = [0]
        for value in half:
            sums += [total + value for total in sums if total + value <= limit]
        lists.append(sorted(sums))
    return sum(bisect.bisect_right(lists[1], limit - total) for total in lists[0])


def two_sided_p_by_fitting_subsets(deltas: Sequence[float]) -> Fraction:
    """Count few subsets of the very floats, with the band that makes ties of rounded sums."""
    exact = [Fraction(delta) for delta in deltas if delta]
    common = math.lcm(*(delta.denominator for delta in exact))
    integers = [int(delta * common) for delta in exact]
    total = sum(map(abs, integers))
    limit = (total - abs(sum(integers)) + int(8 * EPS * total)) // 2
    return Fraction(2 * fitting_subsets(sorted(map(abs, integers), reverse=True), limit), 2 ** len(exact))


def two_sided_p_of_mixed(integers: Sequence[int], step: Fraction, odd: Sequence[float]) -> Fraction:
    """Count signs of differences k · step together with a few others, over the signs of the latter."""
    counts = counts_by_sum([abs(k) for k in integers if k])
    from_end = [0, *itertools.accumulate(reversed(counts))]
    half = sum(map(abs, integers))
    others = [Fraction(value) for value in odd]
    observed = abs(sum(integers) * step + sum(others))
    band = 8 * EPS * (half * step + sum(map(abs, others)))
    extreme = 0
    for signs in itertools.product((1, -1), repeat=len(others)):
        shift = sum((sign * value for sign, value in zip(signs, others, strict=True)), Fraction(0))
        # T = (half - 2 · subset) · step + shift, which must reach the observed sum.
        largest = (half - (observed - band - shift) / step) / 2
        extreme += (
            from_end[-1] - from_end[max(0, len(counts) - 1 - math.floor(largest))] if largest >= 0 else 0
        )
    n = sum(1 for k in integers if k) + len(others)
    return Fraction(2 * extreme, 2**n)


def bootstrap_quantiles(integers: Sequence[int], levels: Sequence[Fraction]) -> list[Fraction]:
    """Return quantiles of the resampled mean of whole numbers, from the exact law of the sum."""
    n = len(integers)
    law = {0: 1}
    for _ in range(n):
        following: dict[int, int] = {}
        for (total, ways), value in itertools.product(law.items(), integers):
            following[total + value] = following.get(total + value, 0) + ways
        law = following
    ends = []
    for level in levels:
        below = 0
        for total in sorted(law):
            below += law[total]
            if Fraction(below, n**n) >= level:
                ends.append(Fraction(total, n))
                break
    return ends


def pruned_two_sided_p(deltas: Sequence[float]) -> Fraction:
    """Meet in the middle over the floats themselves, times a power of two: for up to 46 of them."""
    exact = [Fraction(float(delta)) for delta in deltas if delta]
    unit = Fraction(2) ** (61 - math.frexp(float(sum(map(abs, exact))))[1])
    signed = [round(delta * unit) for delta in exact]
    magnitudes = np.sort(np.abs(np.array(signed, dtype=np.int64)))
    observed, total = abs(sum(signed)), int(magnitudes.sum())
    band = math.ceil(8 * EPS * total)
    if observed <= band:
        return Fraction(1)
    halves = []
    for half in (magnitudes[::2], magnitudes[1::2]):
        sums = np.zeros(1, dtype=np.int64)
        for value in half:
            sums = np.concatenate([sums, sums + value])
        halves.append(np.sort(sums))
    left = (total - observed + band) // 2 - halves[0]
    ways = int(np.searchsorted(halves[1], left[::-1], side="right").sum())
    return Fraction(2 * ways, 2 ** len(magnitudes))
