"""How each row is computed, and how long that takes: decided from the row alone."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.exact.listing import MOST_TOSSED, SHORT_BITS, list_bits
from ranklens.stats.exact.signed import Counts
from ranklens.stats.exact.smooth import LONG
from ranklens.stats.exact.tail import FlipTails

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]

CLOSED_FORM = "closed form"
"""The step's name where no sum, all sums or the observed one alone are as extreme."""

MEETING = 40
"""The most differences that are always counted by meeting in the middle, if by nothing cheaper."""

MOST_MET = 44
"""The most of which this is done where an inversion leaves more than 0.4 % in doubt."""

MOST_LISTED = 88
"""The most differences of which the sums that fit may be listed where an inversion would be uncertain."""

_ALWAYS_MET = 24
_CONVOLUTION_SECONDS, _MOST_CONVOLVED = 0.01, 1000
_SECONDS_PER_VALUE, _SECONDS_PER_COUNT, _SECONDS_PER_SUM, _SECONDS_PER_KEY = 4e-6, 1.2e-9, 1.2e-8, 8e-9
_MET = np.arange(MEETING + 1)
_MEETING_SECONDS = np.append(_SECONDS_PER_KEY * np.ldexp(np.where(_MET % 2, 2.0, 1.5), _MET // 2), math.inf)
"""By how many differences are met in the middle; of more than the last there are too many."""

_INVERSION_SECONDS, _SECONDS_PER_INVERTED = 5e-4, 2e-7
MOST_COUNTED = max(_MOST_CONVOLVED, MOST_TOSSED)
"""Of more differences no sums are counted: they have closed forms or inversions, which sampling outlasts."""

_FAR_OF_SHORT, _FAR_OF_LONG = 3.3, 4.75
"""Standard deviations beyond which the normal law, whose tail is the heavier one, leaves 5e-4 and 1e-6."""

_LISTED_BITS, _BITS_SAVED = 12.0, 1.25
"""Up to how many sums lists go before an inversion, and how far they stay below those of meeting halfway."""


class Plan(NamedTuple):
    """Which rows take which step first, each of shape (rows,); a row may be `listed` and `few`."""

    nothing: Rows
    one_subset: Rows
    convolved: Rows
    listed: Rows
    few: Rows
    near: Rows
    far: Rows

    @classmethod
    def of(cls, tails: FlipTails) -> Plan:
        """Look at the number of differences, the lattice, and how far out the tail begins."""
        sums, n = tails.sums, tails.n
        nothing, none = tails.limit < 0, np.zeros(len(n), dtype=bool)
        one_subset = ~nothing & (tails.limit < _smallest(tails))
        open_rows = ~(nothing | one_subset)
        convolved = open_rows & sums.lattice & (n <= _MOST_CONVOLVED)
        if convolved.any():
            seconds = np.minimum(_CONVOLUTION_SECONDS, _meeting_seconds(n))
            convolved &= _convolution_seconds(tails) <= seconds
            open_rows &= ~convolved
            if not open_rows.any():
                return cls(nothing, one_subset, convolved, none, none, none, none)
        few = open_rows & (n <= MEETING)
        many = open_rows & ~few
        rough = sums.lattice | sums.repeats
        smooth = many & ~rough
        is_long = sums.magnitudes.shape[1] >= LONG
        far = smooth & (tails.begin >= (_FAR_OF_LONG if is_long else _FAR_OF_SHORT) * sums.spread)
        listed = _short_lists(tails, few & (n > _ALWAYS_MET), 0.5 * n - _BITS_SAVED)
        listed |= _short_lists(tails, many & rough & (n <= MOST_TOSSED), SHORT_BITS)
        shortest = _short_lists(tails, far & (n <= MOST_LISTED), _LISTED_BITS)
        listed, far = listed | shortest, far & ~shortest
        return cls(nothing, one_subset, convolved, listed, few, smooth & ~far & ~listed, far)


def estimated_seconds(tails: FlipTails) -> Floats:
    """Estimate how long each tail takes by itself on one core, without computing it."""
    plan, n = Plan.of(tails), tails.n
    seconds = _INVERSION_SECONDS + _SECONDS_PER_INVERTED * n
    seconds[plan.few] = _meeting_seconds(n)[plan.few]
    seconds[plan.convolved] = _convolution_seconds(tails)[plan.convolved]
    listed = np.flatnonzero(plan.listed)
    bits = list_bits(tails.take(listed)) + 2.0
    seconds[listed] = 2.0 * _SECONDS_PER_VALUE * n[listed] + _SECONDS_PER_SUM * np.exp2(bits)
    seconds[plan.nothing | plan.one_subset] = 0.0
    return np.asarray(seconds)


def _smallest(tails: FlipTails) -> Counts:
    values = tails.sums.magnitudes
    return np.asarray(values[np.arange(len(values)), values.shape[1] - tails.n])


def _convolution_seconds(tails: FlipTails) -> Floats:
    seconds = tails.n * (_SECONDS_PER_VALUE + _SECONDS_PER_COUNT * (tails.limit + 1.0))
    return np.where(tails.sums.lattice, seconds, math.inf)


def _meeting_seconds(n: Counts) -> Floats:
    return np.asarray(_MEETING_SECONDS[np.minimum(n, MEETING + 1)])


def _short_lists(tails: FlipTails, candidates: Rows, most_bits: NDArray[np.floating] | float) -> Rows:
    """Find out which of the candidates have few enough sums below the limit to list them."""
    if not candidates.any():
        return candidates
    found, places = np.zeros(len(candidates), dtype=bool), np.flatnonzero(candidates)
    found[places] = list_bits(tails.take(places)) <= np.broadcast_to(most_bits, found.shape)[places]
    return found
