"""Which exact step suits which row: a function of the row alone, whatever is computed with it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, open_backend
from ranklens.arrays.threads import for_each, n_cores
from ranklens.stats.exact.conditioning import conditioned_mass
from ranklens.stats.exact.counting import count_on_lattice, lattice_convolution
from ranklens.stats.exact.far import tilted_inversions
from ranklens.stats.exact.inversion import STEP as PLAIN
from ranklens.stats.exact.inversion import plain_inversion
from ranklens.stats.exact.listing import LONG_BITS, SHORT_BITS, count_listed, list_bits
from ranklens.stats.exact.meeting import STEP as MEETING_STEP
from ranklens.stats.exact.meeting import meeting_counts
from ranklens.stats.exact.mixed import count_mixed
from ranklens.stats.exact.near import plain_inversions
from ranklens.stats.exact.nested import nested_mass
from ranklens.stats.exact.noisy import may_lie_near
from ranklens.stats.exact.plan import CLOSED_FORM, MOST_LISTED, MOST_MET, Plan
from ranklens.stats.exact.signed import Counts
from ranklens.stats.exact.smooth import LONG, Inverted
from ranklens.stats.exact.spectrum import MOST_CELLS
from ranklens.stats.exact.tail import FlipTail, FlipTails, Mass, Masses
from ranklens.stats.exact.tilt import STEP as TILTED
from ranklens.stats.exact.tilt import TiltedSpectrum, tilted_inversion
from ranklens.stats.rows.jobs import Job, combined, together

Rows = NDArray[np.bool_]

_FAR_OF_SHORT, _FAR = 1e-4, 1e-6
_LARGE_ERROR, _DEEP_ERROR = 1e-2, 1e-5
"""The relative errors of an inversion past which another step is tried, and past which long lists are."""

_WAVE_REACH = 8.5
"""How many standard deviations an inversion on a lattice reaches."""

_DOUBTFUL = 4e-3
"""The relative error past which steps within steps are looked for, and past which a row is counted if it is
short enough, however long that takes."""

_VERY_LARGE_ERROR, _NOTICED = 0.05, 5e-7
"""The relative error past which a row is conditioned, even if it is below what is noticed."""

_CONVOLVED_CELLS = 3e7
_SURELY_NEAR = 3.5


def tail_masses(tails: FlipTails, backend: Backend) -> Job[Masses]:
    """Compute the tail's probability of each row by the first step of the ladder that can.

    What a device computes comes back in one transfer; what then is still open is computed on the host.
    """
    found, plan = Masses(len(tails.n)), Plan.of(tails)
    closed = np.flatnonzero(plan.nothing | plan.one_subset)
    if closed.size:
        found.put(closed, plan.one_subset[closed].astype(np.float64), tails.n[closed], 0.0, CLOSED_FORM)
    if plan.convolved.any():
        count_on_lattice(found, tails, np.flatnonzero(plan.convolved))
    if not found.missing.any():
        yield ()
        return found
    if plan.listed.any():
        count_listed(found, tails, np.flatnonzero(plan.listed & plan.few), LONG_BITS)
        count_listed(found, tails, np.flatnonzero(plan.listed & ~plan.few), SHORT_BITS)
    count_mixed(found, tails, np.flatnonzero(found.missing & ~plan.few & ~tails.sums.lattice))
    missing = found.missing
    met, near, far = (np.flatnonzero(missing & first) for first in (plan.few, plan.near, plan.far))
    asked = [
        (places, step, make(tails, places, backend))
        for places, step, make in (
            (met, MEETING_STEP, meeting_counts),
            (near, PLAIN, plain_inversions),
            (far, TILTED, tilted_inversions),
        )
        if places.size
    ]
    results = yield from combined([job for *_, job in asked])
    for (places, step, _), result in zip(asked, results, strict=True):
        if step == MEETING_STEP:
            found.put(places, result, tails.n[places], 0.0, step)
        else:
            _put_inverted(found, places, result, step)
    _tilt_small(found, tails, near)
    if (found.missing | tails.sums.lattice | _above(found, _DOUBTFUL)).any():
        _put_rest(found, tails)
        _nest(found, tails)
        _meet_doubtful(found, tails)
        _condition(found, tails)
    return found


def _tilt_small(found: Masses, tails: FlipTails, near: Counts) -> None:
    """Tilt on the host what an untilted inversion found to be too small for it."""
    smallest = _FAR if tails.sums.magnitudes.shape[1] >= LONG else _FAR_OF_SHORT
    small = near[np.ldexp(found.ways[near], -found.exponent[near]) < smallest] if near.size else near
    if small.size:
        (tilted,) = together([tilted_inversions(tails, small, open_backend("numpy"))])
        _put_inverted(found, small, tilted, TILTED)


def _put_inverted(found: Masses, places: Counts, inverted: Inverted, step: str) -> None:
    known = np.isfinite(inverted.error)
    mass, error, log_scale = (column[known] for column in inverted)
    doublings = np.floor(log_scale / math.log(2.0))
    scale = np.exp(log_scale - doublings * math.log(2.0))
    mass = np.maximum(mass, np.finfo(np.float64).eps * error)
    found.put(places[known], scale * mass, -doublings.astype(np.int64), scale * error, step)


def _put_rest(found: Masses, tails: FlipTails) -> None:
    """Invert on the host, row by row, what is on a lattice, repeats values or is still uncertain."""
    rough = tails.sums.lattice | tails.sums.repeats
    uncertain = np.where(found.missing, ~rough, _above(found, _LARGE_ERROR))
    count_listed(found, tails, np.flatnonzero(uncertain & (tails.n <= MOST_LISTED)), SHORT_BITS - 1.0)
    _list_uncertain(found, tails, np.flatnonzero(uncertain & (found.missing | _above(found, _LARGE_ERROR))))
    rest = np.flatnonzero(found.missing | _above(found, _LARGE_ERROR))

    def invert(place: int) -> None:
        mass = _inverted_alone(tails.row(place))
        if found.missing[place] or mass.error * found.ways[place] < found.error[place] * mass.ways:
            found.put_one(place, mass)

    for_each(invert, rest.tolist(), n_threads=n_cores())
    _list_uncertain(found, tails, rest[_above(found, _DEEP_ERROR)[rest]])


def _above(found: Masses, relative_error: float) -> Rows:
    return np.asarray(found.error > relative_error * found.ways)


def _list_uncertain(found: Masses, tails: FlipTails, places: Counts) -> None:
    if places.size:
        short = list_bits(tails.take(places)) <= LONG_BITS
        count_listed(found, tails, places[short], LONG_BITS)


def _nest(found: Masses, tails: FlipTails) -> None:
    """Look for steps within the steps of what is uncertain, or took only a part of a lattice's nodes."""
    inverted = (found.step == PLAIN) | (found.step == TILTED)
    cells = (tails.begin + _WAVE_REACH * tails.sums.spread) / 4.0 * tails.n
    parts = tails.sums.lattice & inverted & (cells > MOST_CELLS)
    places = np.flatnonzero(parts | _above(found, _DOUBTFUL))
    if not places.size:
        return
    places = places[may_lie_near(tails.sums.magnitudes, places)]

    def compute(place: int) -> None:
        mass = nested_mass(tails.row(place))
        if mass is not None:
            found.put_one(place, mass)

    for_each(compute, places.tolist(), n_threads=n_cores())


def _meet_doubtful(found: Masses, tails: FlipTails) -> None:
    """Count by meeting in the middle, on the host, what is short and was not inverted well."""
    places = np.flatnonzero((tails.n <= MOST_MET) & _above(found, _DOUBTFUL))
    if places.size:
        (ways,) = together([meeting_counts(tails, places, open_backend("numpy"))])
        found.put(places, ways, tails.n[places], 0.0, MEETING_STEP)


def _condition(found: Masses, tails: FlipTails) -> None:
    """Compute again, row by row, what is uncertain: differences of unequal sizes, or near a lattice."""
    noticed = np.ldexp(found.error, -found.exponent) > _NOTICED
    uncertain = np.flatnonzero(_above(found, _VERY_LARGE_ERROR) | (noticed & _above(found, _LARGE_ERROR)))

    def compute(place: int) -> None:
        mass = conditioned_mass(tails.row(place), _on_lattice)
        if mass is not None and mass.error * found.ways[place] < found.error[place] * mass.ways:
            found.put_one(place, mass)

    if uncertain.size:
        for_each(compute, uncertain.tolist(), n_threads=n_cores())


def _on_lattice(tail: FlipTail) -> Mass:
    short = tail.n * (tail.limit + 1.0) <= _CONVOLVED_CELLS
    return lattice_convolution(tail) if short else _inverted_alone(tail)


def _inverted_alone(tail: FlipTail) -> Mass:
    host = open_backend("numpy")
    if tail.begin >= _SURELY_NEAR * tail.spread:
        tilted = TiltedSpectrum.of(tail)
        if tilted.log_tail(tail.n) < math.log(_FAR):
            return tilted_inversion(tail, host, tilted)
    return plain_inversion(tail, host)
