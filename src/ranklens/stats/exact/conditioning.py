"""Tails of differences of very different sizes: the large ones chosen one by one, the small ones inverted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import budget_bytes
from ranklens.kernels.exact_lattice import subset_counts
from ranklens.kernels.exact_subsets import subset_sums
from ranklens.stats.exact.clusters import clustered_atoms
from ranklens.stats.exact.noise_steps import noise_atom
from ranklens.stats.exact.noisy import NoisySteps
from ranklens.stats.exact.noisy_mass import noisy_mass
from ranklens.stats.exact.prefixes import Prefixes, growing_prefixes
from ranklens.stats.exact.remainder import Inverted, plain_remainder, tilted_remainder
from ranklens.stats.exact.returning import returning
from ranklens.stats.exact.tail import FlipTail, Mass

COUNTED = "prefix count"
INVERTED = "conditional characteristic function"

_WIDTHS = (1, 16, 256, 4096)
_WIDEST = 1 << 17
_GOOD, _FINE = 1e-3, 1e-6
_BITS, _MOST_BITS = 34.0, 42.0
_BYTES_PER_SUM = 48
_MOST_LATTICE_CELLS, _LONGEST_LATTICE = 1 << 24, 1 << 20
_SMALLEST_PLAIN = 1e-7
_MOST_CHOSEN = 1000
_TOLD_APART = 0.3
_EPS = float(np.finfo(np.float64).eps)
_EXACT_INTEGERS = 2.0**53

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def conditioned_mass(tail: FlipTail, on_lattice: Callable[[FlipTail], Mass]) -> Mass | None:
    """Compute a tail by conditioning on its largest differences; None where nothing is found.

    Choices among them that decide whatever the rest does are counted. The others are counted as well where
    the rest has few subsets or lies on a short lattice. Else the rest is inverted for all choices at once, at
    several depths, and the smallest error bound wins. Differences near a lattice are rounded to it first:
    `on_lattice` computes what the steps alone decide.
    """
    levels = list(growing_prefixes(tail, _WIDTHS[-1]))
    counted = _counted(tail, levels, _BITS)
    if counted is not None:
        return counted
    near = [] if tail.lattice else NoisySteps.near(tail.magnitudes)
    lattices = [steps for steps in near if steps.has_steps]
    noisy, best = lattices[0] if lattices else None, None
    for steps in lattices:
        if best is None or best.error > _GOOD * best.ways:
            best = better_of(best, noisy_mass(tail, steps, on_lattice))
    for width in _WIDTHS:
        if best is not None and best.error <= (_FINE if noisy is None else _GOOD) * best.ways:
            return best
        level = [own for own in levels if len(own.room) <= width][-1]
        best = better_of(best, _inverted(tail, level, noisy))
    if best is not None and best.error <= _GOOD * best.ways:
        return best
    return _counted(tail, list(growing_prefixes(tail, _WIDEST)), _MOST_BITS) or best


def better_of(first: Mass | None, second: Mass | None) -> Mass | None:
    """Return the mass with the smaller relative error."""
    if first is None or second is None:
        return second if first is None else first
    return second if second.error * first.ways < first.error * second.ways else first


def _counted(tail: FlipTail, levels: Sequence[Prefixes], most_bits: float) -> Mass | None:
    last = levels[-1]
    if not len(last.room):
        return _finished(tail, last, 0.0, 0)
    level = min(levels, key=lambda own: own.bits)
    if level.bits <= min(most_bits, 2.0 * math.log2(budget_bytes() / _BYTES_PER_SUM)):
        return _finished(tail, level, _met(level), 0)
    length = int(last.room.max()) + 1
    if tail.lattice and length <= _LONGEST_LATTICE and length * len(last.rest) <= _MOST_LATTICE_CELLS:
        start = np.zeros(length)
        start[0] = 1.0
        ways, exponent = subset_counts(start, last.rest.tolist())
        return _finished(tail, last, float(np.dot(last.ways, np.cumsum(ways)[last.room])), exponent)
    return None


def _met(prefixes: Prefixes) -> float:
    """Count the subsets of the rest that fit into each room, by meeting in the middle."""
    ways, room, rest = prefixes.ways, prefixes.room, prefixes.rest
    near = max(0, round(0.5 * (len(rest) - math.log2(len(room)))))
    places = np.linspace(0, len(rest) - 1, near).astype(np.int64) if near else np.zeros(0, dtype=np.int64)
    chosen = np.zeros(len(rest), dtype=bool)
    chosen[places] = True
    others = np.sort(subset_sums(rest[~chosen]))
    left = (room[:, None] - subset_sums(rest[chosen])[None, :]).ravel()
    own = np.repeat(ways, len(left) // len(room))
    order = np.argsort(left)
    fitting = np.searchsorted(others, left[order], side="right")
    return float(np.dot(own[order], fitting.astype(np.float64)))


def _finished(tail: FlipTail, prefixes: Prefixes, ways: float, doublings: int) -> Mass:
    """Add counts of undecided subsets, divided by 2^doublings, to those that were decided."""
    whole = ways == math.floor(ways) and ways < _EXACT_INTEGERS
    total = prefixes.counted + (int(ways) << doublings)
    exact = prefixes.exact and whole
    shift = max(0, total.bit_length() - 900)
    counted = float(total >> shift)
    error = 0.0 if exact and total < _EXACT_INTEGERS else (tail.n + 2) * _EPS * counted
    return Mass(counted, tail.n - shift, error, COUNTED)


def _inverted(tail: FlipTail, prefixes: Prefixes, noisy: NoisySteps | None) -> Mass | None:
    n_chosen = tail.n - len(prefixes.rest)
    if n_chosen > _MOST_CHOSEN:
        return None
    found = plain_remainder(prefixes, n_chosen, tail.lattice)
    if found.mass < _SMALLEST_PLAIN * float(np.ldexp(prefixes.ways, -n_chosen).sum()):
        tilted = tilted_remainder(prefixes, n_chosen)
        log_plain, log_tilted = (_log_error(own) for own in (found, tilted))
        found = tilted if log_tilted < log_plain else found
    return _sum_of(tail, prefixes.counted, _with_peaks(tail, found, noisy))


def _with_peaks(tail: FlipTail, found: Inverted, noisy: NoisySteps | None) -> Inverted:
    """Add to the error what the characteristic function does beyond the nodes where it comes back."""
    if tail.lattice or math.isinf(found.frequency):
        return found
    error = returning(tail, found.frequency * tail.spread)
    told_apart = np.array([_TOLD_APART / found.frequency])
    error += float(clustered_atoms(tail.magnitudes[None], np.array([tail.n]), told_apart)[0])
    if noisy is not None and math.pi / noisy.step > found.frequency:
        turns = min(math.pi * noisy.spread / noisy.step, 30.0)
        error += noisy.step / tail.spread * math.exp(-0.5 * turns * turns)
    if noisy is not None:
        atom = noise_atom(noisy.multiples.astype(np.float64), noisy.noise.astype(np.float64), told_apart[0])
        error += min(1.0, noisy.step / tail.spread) * atom
    if found.log_scale:
        error *= 2.0 * max(1.0, tail.begin / tail.spread) * found.mass
    return found._replace(error=found.error + error)


def _log_error(found: Inverted) -> float:
    return math.log(found.error) + found.log_scale


def _sum_of(tail: FlipTail, counted: int, found: Inverted) -> Mass | None:
    """Add what was counted to what was inverted, in a common power of two."""
    logs = [found.log_scale / math.log(2.0) + math.log2(part) for part in (found.mass, found.error) if part]
    exponent = math.ceil(max([*logs, counted.bit_length() - tail.n]))
    scale = math.exp(found.log_scale - exponent * math.log(2.0))
    excess = max(0, counted.bit_length() - 64)
    known = math.ldexp(float(counted >> excess), excess - tail.n - exponent)
    ways = known + scale * found.mass
    if not ways > 0.0:
        return None
    return Mass(ways, -exponent, scale * found.error + 4.0 * _EPS * ways, INVERTED)
