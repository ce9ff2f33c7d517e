"""Which exact step suits which sample."""

from __future__ import annotations

import math

import numpy as np

from ranklens.arrays import Backend
from ranklens.stats.exact.counting import lattice_convolution, meet_in_the_middle, subset_count
from ranklens.stats.exact.inversion import plain_inversion
from ranklens.stats.exact.tail import FlipTail, Mass
from ranklens.stats.exact.tilt import log_tail_estimate, tilted_inversion

MEETING = 44
"""The most differences whose halves' 2^22 sums are worth listing."""

_CONVOLUTION_SECONDS = 0.01
_SECONDS_PER_VALUE = 4e-6
_SECONDS_PER_COUNT = 1.2e-9
_SECONDS_PER_SUM = 6e-8
_INVERSION_SECONDS = 0.002

_LIST_BITS, _LONGEST_LIST = 17.0, 1 << 18
_LONG_LIST_BITS, _LONGER_LIST = 20.5, 1 << 21
_LARGE_ERROR = 1e-5
"""The relative error of an inversion past which longer lists are worth a second."""

_SURELY_LARGE = 3.5
_SMALLEST_PLAIN = math.log(1e-6)
_SMALLEST_CONVOLVED = math.log(1e-250)


def tail_mass(tail: FlipTail, backend: Backend) -> Mass:
    """Compute the tail's probability by the first step of the ladder that can."""
    if tail.limit < 0:
        return Mass(0, tail.n, 0.0, "closed form")
    if _convolution_seconds(tail) <= min(_CONVOLUTION_SECONDS, _meeting_seconds(tail)) and _convolvable(tail):
        return lattice_convolution(tail)
    list_bits = _list_bits(tail)
    if list_bits <= min(_LIST_BITS, _meeting_bits(tail) - 2.0):
        counted = subset_count(tail, backend, _LONGEST_LIST)
        if counted is not None:
            return counted
    if tail.n <= MEETING:
        return meet_in_the_middle(tail, backend)
    inverted = tilted_inversion(tail, backend) if _is_far(tail) else plain_inversion(tail, backend)
    if inverted.error > _LARGE_ERROR * inverted.ways and list_bits <= _LONG_LIST_BITS:
        return subset_count(tail, backend, _LONGER_LIST) or inverted
    return inverted


def estimated_seconds(tail: FlipTail) -> float:
    """Estimate how long the tail takes on one core, without computing it."""
    if tail.limit < 0:
        return 0.0
    if tail.n > MEETING:
        return _INVERSION_SECONDS + 1e-6 * tail.n
    listed = _SECONDS_PER_SUM * math.exp2(_list_bits(tail))
    return min(_convolution_seconds(tail), _meeting_seconds(tail), max(listed, _SECONDS_PER_VALUE * tail.n))


def _convolution_seconds(tail: FlipTail) -> float:
    if not tail.sums.lattice:
        return math.inf
    return tail.n * (_SECONDS_PER_VALUE + _SECONDS_PER_COUNT * (tail.limit + 1))


def _convolvable(tail: FlipTail) -> bool:
    return tail.n <= 1000 or log_tail_estimate(tail) > _SMALLEST_CONVOLVED


def _meeting_bits(tail: FlipTail) -> float:
    return 0.5 * tail.n if tail.n <= MEETING else math.inf


def _meeting_seconds(tail: FlipTail) -> float:
    return math.ldexp(_SECONDS_PER_SUM, tail.n // 2) if tail.n <= MEETING else math.inf


def _list_bits(tail: FlipTail) -> float:
    """Estimate the binary logarithm of how many sums of one half fit, as if they followed a normal law."""
    values, multiplicities = tail.groups
    choices = 1.0 + np.minimum(multiplicities, tail.limit // np.maximum(values, 1))
    bits = 0.5 * float(np.sum(np.log2(choices)))
    distance = (0.25 * tail.total - tail.limit) / (tail.spread / math.sqrt(8.0))
    if distance <= 0.0:
        return bits
    return max(0.0, bits - math.log2(math.e) * 0.5 * distance * distance)


def _is_far(tail: FlipTail) -> bool:
    if abs(tail.sums.observed) < _SURELY_LARGE * tail.spread:
        return False
    return log_tail_estimate(tail) < _SMALLEST_PLAIN
