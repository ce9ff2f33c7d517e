"""Exact p-values of the rows of a batch, one of which is a sample by itself."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend
from ranklens.stats.exact.ladder import tail_masses
from ranklens.stats.exact.plan import CLOSED_FORM, estimated_seconds
from ranklens.stats.exact.signed import SignedRows, by_width
from ranklens.stats.exact.tail import FlipTails, Masses
from ranklens.stats.rows.jobs import Job, combined

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]

_LOG10_2 = math.log10(2.0)
_FLIPPING_SECONDS, _SECONDS_PER_DIFFERENCE = 1e-4, 4.5e-6
"""Of 10,000 flips."""

_UNNOTICED_SECONDS = 0.005


class ExactRows(NamedTuple):
    """P-values of rows, with what `ExactP` says of each; shapes (rows,)."""

    p_value: Floats
    p_error: Floats
    log10_p: Floats
    step: NDArray[np.object_]


def exact_p_values(deltas: Floats, eps: float, alternative: str, backend: Backend) -> Job[ExactRows]:
    """Compute the p-value of each row over all sign assignments.

    Parameters
    ----------
    deltas : numpy.ndarray of float64, shape (rows, n)
        Finite; zeros change nothing.
    eps : float
        The rounding unit of the type in which they were computed.
    alternative : {"two-sided", "greater", "less"}
    backend : Backend
        Where what is worth it is computed.
    """
    rows = len(deltas)
    found = ExactRows(np.ones(rows), np.zeros(rows), np.zeros(rows), np.full(rows, CLOSED_FORM, dtype=object))
    asked = []
    for places, values in by_width(deltas):
        sums = SignedRows.of(values, eps)
        towards = _towards(sums.observed, alternative)
        begins = towards > sums.band
        # Two-sided tests of a sum of zero have no tail: every sum is as extreme.
        tested = np.flatnonzero(begins | (alternative != "two-sided"))
        if tested.size:
            tails = FlipTails.of(sums.take(tested), ~begins[tested], towards[tested])
            asked.append((places[tested], tails.strict, tail_masses(tails, backend)))
    for (places, strict, _), masses in zip(
        asked, (yield from combined([job for *_, job in asked])), strict=True
    ):
        _put(found, places, masses, strict, 2.0 if alternative == "two-sided" else 1.0)
    return found


def cheap_rows(deltas: Floats, eps: float) -> Rows:
    """Whether the exact p-value of each row costs no more than 10,000 flips of it, or nobody notices."""
    cheap = np.ones(len(deltas), dtype=bool)
    for places, values in by_width(deltas):
        sums = SignedRows.of(values, eps)
        seconds = estimated_seconds(FlipTails.of(sums, np.zeros(len(places), dtype=bool)))
        flipping = np.maximum(_FLIPPING_SECONDS + _SECONDS_PER_DIFFERENCE * sums.n, _UNNOTICED_SECONDS)
        cheap[places] = (seconds <= flipping) | (np.abs(sums.observed) <= sums.band)
    return cheap


def _towards(observed: Counts, alternative: str) -> Counts:
    """Return the observed sums towards the side that is asked for.

    Where one lies beyond the band of ties around zero, the tail begins at it; otherwise p is the complement
    of what lies beyond its ties on the other side.
    """
    if alternative == "two-sided":
        return np.abs(observed)
    return observed if alternative == "greater" else -observed


def _put(found: ExactRows, places: NDArray[np.int64], masses: Masses, strict: Rows, sides: float) -> None:
    """Turn masses into p-values, which stay at the smallest normal number where they would fall below it."""
    smallest = sys.float_info.min
    ways, exponent = sides * masses.ways, masses.exponent
    tail, error = np.ldexp(ways, -exponent), np.ldexp(sides * masses.error, -exponent)
    with np.errstate(divide="ignore"):
        log10_tail = np.log10(ways) - exponent * _LOG10_2
    p = np.where(strict, 1.0 - tail, np.minimum(tail, 1.0))
    tiny = p < smallest
    found.p_value[places] = np.where(tiny, smallest, p)
    found.p_error[places] = np.where(tiny, smallest, error)
    log10_p = np.where(strict, np.log10(np.maximum(p, smallest)), log10_tail)
    found.log10_p[places] = np.minimum(log10_p, 0.0)
    found.step[places] = masses.step
