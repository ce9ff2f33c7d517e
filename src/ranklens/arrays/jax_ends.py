"""JAX's own way to the ends of percentile intervals of a batch, without sorting.

XLA sorts a thousand times slower than it compares, so an order statistic is found by counting: a threshold is
moved until as many sums lie at or below it as should. A processor takes row after row, each of which stays in
its cache until both its ends are found.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

Ranks = tuple[int, int, int, int]

_LANES = 512
# Past the place of the quantile by so much that the next threshold mostly lies on its other side.
_OVERSHOOT = 1.3
# After so many steps the bracket is halved alone.
_STEPS = 12
_TOGETHER = 2**32


class _About(NamedTuple):
    """The mean and deviation of a row, how far from its mean nothing lies, and whether it holds integers."""

    mean: Any
    sd: Any
    reach: Any
    integers: Any


class _Search(NamedTuple):
    """Thresholds (2,) between which the wanted ones lie, how many sums are at or below either, the next
    threshold to try, and the number of the step."""

    low: Any
    high: Any
    at_most_low: Any
    at_most_high: Any
    threshold: Any
    step: Any


def ends_of_rows(sums: Any, ranks: Ranks, one_by_one: bool) -> Any:
    """Return, of each row of `sums` (rows, m), the elements of four ranks; shape (rows, 4).

    The first two ranks are neighbours or one, as are the last two. `one_by_one` says whether the rows are
    looked at one after the other. Must be compiled, with all but the sums static.
    """
    return ends_of_parts([sums[None, :, :]], sums.shape[1], ranks, one_by_one)


def ends_of_parts(parts: Sequence[Any], m: int, ranks: Ranks, one_by_one: bool) -> Any:
    """Do `ends_of_rows` for sums in parts (parts, rows, length), the first m of which count."""
    jax = importlib.import_module("jax")
    xp = jax.numpy

    def ends(row: Any) -> Any:
        return _ends_of_row(jax, _in_lanes(xp, xp.reshape(row, (-1,))[:m]), m, ranks)

    if not one_by_one:
        return jax.vmap(ends, in_axes=1)(xp.concat(parts, axis=0))

    def ends_of(row: Any) -> Any:
        return ends(xp.concat([part[:, row, :] for part in parts], axis=0))

    return jax.lax.map(ends_of, xp.arange(parts[0].shape[1]))


def _in_lanes(xp: Any, row: Any) -> Any:
    """Cut a row (m,) into lines of one length; infinities fill the last."""
    n_lines = math.ceil(row.shape[0] / _LANES)
    length = math.ceil(row.shape[0] / n_lines)
    filled = xp.pad(row, (0, n_lines * length - row.shape[0]), constant_values=math.inf)
    return xp.reshape(filled, (n_lines, length))


def _ends_of_row(jax: Any, row: Any, m: int, ranks: Ranks) -> Any:
    xp = jax.numpy
    wanted = xp.asarray([ranks[0] + 1, ranks[2] + 1], dtype=row.dtype)
    about = _about(jax, row, m)
    normal = NormalDist()
    places = [normal.inv_cdf((rank + 0.5) / m) for rank in (ranks[0], ranks[2])]
    start = about.mean + about.sd * xp.asarray(places, dtype=row.dtype)
    per_count = about.sd * xp.asarray([1.0 / (m * normal.pdf(place)) for place in places], dtype=row.dtype)

    def is_open(state: _Search) -> Any:
        apart = (state.threshold > state.low) & (state.threshold < state.high)
        alone = about.integers & (xp.floor(state.high) - xp.floor(state.low) <= 1)
        return xp.any((state.at_most_high != wanted) & apart & ~alone)

    def move(state: _Search) -> _Search:
        tried = state.threshold
        count = _at_most(jax, row, tried)
        reached = count >= wanted
        low, high = xp.where(reached, state.low, tried), xp.where(reached, tried, state.high)
        below, at_most = (
            xp.where(reached, state.at_most_low, count),
            xp.where(reached, count, state.at_most_high),
        )
        between = low + (high - low) * ((wanted - below + 0.5) / (at_most - below + 1.0))
        beyond = tried + _OVERSHOOT * per_count * (wanted - count)
        following = xp.where((below > 0) & (at_most < m), between, beyond)
        inside = (following > low) & (following < high) & (state.step < _STEPS)
        following = xp.where(inside, following, low + (high - low) / 2)
        return _Search(low, high, below, at_most, following, state.step + 1)

    none = xp.zeros(2, dtype=row.dtype)
    first = _Search(
        about.mean - about.reach + none, about.mean + about.reach + none, none, none + m, start, 0
    )
    return _around(jax, row, jax.lax.while_loop(is_open, move, first), wanted, ranks)


def _about(jax: Any, row: Any, m: int) -> _About:
    xp = jax.numpy
    origin, real = row[0, 0], row < math.inf
    away = xp.where(real, row - origin, 0.0)
    shift = _by_lanes(jax, xp.sum, away) / m
    variance = _by_lanes(jax, xp.sum, away * away) / m - shift * shift
    sd, mean = xp.sqrt(xp.maximum(variance, 0.0)), origin + shift
    # Nothing lies further from the mean than sd √(m - 1) (Samuelson 1968), up to rounding.
    reach = 1.1 * math.sqrt(m) * sd + 4.0 * xp.finfo(row.dtype).eps * xp.abs(mean)
    return _About(mean, sd, reach, _by_lanes(jax, xp.all, xp.round(row) == row))


def _at_most(jax: Any, row: Any, thresholds: Any) -> Any:
    """Count what is at or below each of two thresholds, in one look at the row."""
    xp = jax.numpy
    first, second = (xp.astype(row <= thresholds[side], xp.int64) for side in (0, 1))
    both = _by_lanes(jax, xp.sum, first + _TOGETHER * second)
    return xp.astype(xp.stack([both % _TOGETHER, both // _TOGETHER]), row.dtype)


def _by_lanes(jax: Any, reduce: Any, lines: Any) -> Any:
    """Reduce lines (lines, length) to one number: first to one line, which vector instructions do.

    XLA would make one reduction of both, and go through it number by number.
    """
    return reduce(jax.lax.optimization_barrier(reduce(lines, axis=0)), axis=0)


def _around(jax: Any, row: Any, found: _Search, wanted: Any, ranks: Ranks) -> Any:
    """Return the largest sum at or below each threshold that was found, and the smallest above it."""
    xp = jax.numpy
    ends = []
    for side, (near, far) in enumerate((ranks[:2], ranks[2:])):
        below = row <= found.high[side]
        own = _by_lanes(jax, xp.max, xp.where(below, row, -math.inf))
        after = _by_lanes(jax, xp.min, xp.where(below, math.inf, row))
        # Where more are at or below a threshold than wanted, those down to the lower threshold are all equal.
        after = xp.where(found.at_most_high[side] == wanted[side], after, own)
        ends += [own, own if near == far else after]
    return xp.stack(ends)
