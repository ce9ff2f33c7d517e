"""Counting where all but a few of the differences lie on a lattice, over the signs of these few."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ranklens.kernels.exact_lattice import subset_counts
from ranklens.kernels.exact_subsets import subset_sums
from ranklens.stats.exact.atoms import SCALES, lattice_slack
from ranklens.stats.exact.counting import STEP, counted_mass
from ranklens.stats.exact.signed import Counts
from ranklens.stats.exact.tail import FlipTail, FlipTails, Mass, Masses

_EPS = float(np.finfo(np.float64).eps)
_MOST_ODD, _MOST_VALUES = 8, 500
_MOST_CELLS = 1 << 24
_HIDDEN = 1024.0
"""How much likelier than by chance one sum must be for a lattice to be sought."""


def count_mixed(found: Masses, tails: FlipTails, candidates: Counts) -> None:
    """Count the subsets of those rows of which all but a few differences lie on a known step."""
    likelier = np.ldexp(tails.sums.atom[candidates], np.minimum(tails.n[candidates], _MOST_VALUES)) > _HIDDEN
    for place in candidates[likelier & (tails.n[candidates] <= _MOST_VALUES)].tolist():
        mass = mixed_convolution(tails.row(place))
        if mass is not None:
            found.put_one(place, mass)


def mixed_convolution(tail: FlipTail) -> Mass | None:
    """Count the subsets that fit for each choice among the odd values; None where that is long."""
    values = tail.magnitudes * tail.unit
    for scale in SCALES:
        multiples = np.rint(values * scale)
        odd = np.abs(values * scale - multiples) > lattice_slack(scale, _EPS)
        if np.count_nonzero(odd) <= _MOST_ODD:
            whole = multiples[~odd].astype(np.int64)
            whole = whole[whole > 0]
            divisor = int(np.gcd.reduce(whole)) if len(whole) else 1
            step = Fraction(divisor) / (Fraction(tail.unit) * scale)
            return _counted(tail, whole // divisor, step, subset_sums(tail.magnitudes[odd]))
    return None


def _counted(tail: FlipTail, multiples: Counts, step: Fraction, odd_sums: Counts) -> Mass | None:
    """Count over the subsets of the odd values, whose sums are given, the multiples that still fit."""
    rooms = [math.floor((tail.limit - total) / step) for total in odd_sums.tolist() if total <= tail.limit]
    longest = min(max(rooms, default=-1), int(multiples.sum()))
    if longest < 0 or (longest + 1) * len(multiples) > _MOST_CELLS:
        return None
    start = np.zeros(longest + 1)
    start[0] = 1.0
    counts, exponent = subset_counts(start, multiples.tolist())
    cumulated = np.cumsum(counts)
    ways = math.fsum(cumulated[min(room, longest)] for room in rooms)
    n = len(multiples) + int(math.log2(len(odd_sums)))
    return counted_mass(ways, n - exponent, 2 * tail.n + len(rooms) + longest, STEP)
