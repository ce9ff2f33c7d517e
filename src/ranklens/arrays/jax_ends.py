"""JAX's own way to the ends of percentile intervals of a batch, without sorting.

XLA sorts a thousand times slower than it compares, so an order statistic is found by counting: a threshold is
moved until as many sums lie at or below it as should. Sums are looked at in parts that stay in the cache.
"""

from __future__ import annotations

import importlib
import math
from statistics import NormalDist
from typing import Any, NamedTuple

Ranks = tuple[int, int, int, int]

_AT_ONCE = 1024
# After so many steps by the slope, one halves the bracket.
_STEPS = 4


class _Search(NamedTuple):
    """Thresholds (2, rows) between which the wanted ones lie, how many sums are at or below the upper ones,
    the next threshold to try, and the number of the step."""

    low: Any
    high: Any
    at_most_high: Any
    threshold: Any
    step: Any


def ends_of_columns(sums: Any, ranks: Ranks) -> Any:
    """Return, of each column of `sums` (m, rows), the elements of four ranks; shape (rows, 4).

    The first two ranks are neighbours or one, as are the last two. Must be compiled, with `ranks` static.
    """
    jax = importlib.import_module("jax")
    xp = jax.numpy
    m = sums.shape[0]
    parts = _in_parts(xp, sums)
    wanted = xp.asarray([[ranks[0] + 1], [ranks[2] + 1]], dtype=sums.dtype)
    smallest, largest, mean, sd, integers = _about(jax, parts, m)
    normal = [[NormalDist().inv_cdf((rank + 1) / (m + 1))] for rank in (ranks[0], ranks[2])]
    quantile = xp.asarray(normal, dtype=sums.dtype)

    def at_most(thresholds: Any) -> Any:
        by_part = jax.lax.map(
            lambda part: xp.sum(part[:, None, :] <= thresholds, axis=0, dtype=xp.int32), parts
        )
        return xp.astype(xp.sum(by_part, axis=0, dtype=xp.int32), sums.dtype)

    def open_rows(state: _Search) -> Any:
        middle = state.low + (state.high - state.low) / 2
        apart = (middle > state.low) & (middle < state.high)
        alone = integers & (xp.floor(state.high) - xp.floor(state.low) <= 1)
        return (state.at_most_high != wanted) & apart & ~alone

    def move(state: _Search) -> _Search:
        tried = state.threshold
        count = at_most(tried)
        reached = count >= wanted
        low, high = xp.where(reached, state.low, tried), xp.where(reached, tried, state.high)
        at_most_high = xp.where(reached, count, state.at_most_high)
        share = xp.clip((count - 0.5) / m, 0.5 / m, 1 - 0.5 / m)
        aim = xp.clip((wanted - 0.5) / m, 0.5 / m, 1 - 0.5 / m)
        following = tried + sd * (jax.scipy.special.ndtri(aim) - jax.scipy.special.ndtri(share))
        inside = (following > low) & (following < high) & (state.step % _STEPS < _STEPS - 1)
        return _Search(
            low, high, at_most_high, xp.where(inside, following, low + (high - low) / 2), state.step + 1
        )

    everything = xp.full((2, sums.shape[1]), m, dtype=sums.dtype)
    first = _Search(
        xp.broadcast_to(smallest - (largest - smallest), everything.shape),
        xp.broadcast_to(largest, everything.shape),
        everything,
        mean + sd * quantile,
        0,
    )
    found = jax.lax.while_loop(lambda state: xp.any(open_rows(state)), move, first)
    return _ends(jax, parts, found, wanted, ranks)


def _about(jax: Any, parts: Any, m: int) -> tuple[Any, Any, Any, Any, Any]:
    """Return the extremes of each column, its mean and deviation, and whether it holds integers alone."""
    xp = jax.numpy
    origin = parts[0, 0]

    def of_part(part: Any) -> tuple[Any, Any, Any, Any, Any]:
        real = part < math.inf
        away = xp.where(real, part - origin, 0.0)
        whole = xp.all(xp.round(part) == part, axis=0)
        largest = xp.max(xp.where(real, part, -math.inf), axis=0)
        return xp.min(part, axis=0), largest, xp.sum(away, axis=0), xp.sum(away * away, axis=0), whole

    smallest, largest, away, squares, whole = jax.lax.map(of_part, parts)
    shift = xp.sum(away, axis=0) / m
    variance = xp.sum(squares, axis=0) / m - shift * shift
    sd = xp.sqrt(xp.maximum(variance, 0.0))
    return xp.min(smallest, axis=0), xp.max(largest, axis=0), origin + shift, sd, xp.all(whole, axis=0)


def _in_parts(xp: Any, sums: Any) -> Any:
    """Cut the resamples into parts of one length; infinities fill the last."""
    m = sums.shape[0]
    n_parts = math.ceil(m / _AT_ONCE)
    length = math.ceil(m / n_parts)
    filled = xp.pad(sums, ((0, n_parts * length - m), (0, 0)), constant_values=math.inf)
    return xp.reshape(filled, (n_parts, length, sums.shape[1]))


def _ends(jax: Any, parts: Any, found: _Search, wanted: Any, ranks: Ranks) -> Any:
    xp = jax.numpy

    def of_part(part: Any) -> tuple[Any, Any]:
        each = part[:, None, :]
        below = each <= found.high
        return xp.max(xp.where(below, each, -math.inf), axis=0), xp.min(
            xp.where(below, math.inf, each), axis=0
        )

    own, after = jax.lax.map(of_part, parts)
    own, after = xp.max(own, axis=0), xp.min(after, axis=0)
    # Where more are at or below a threshold than wanted, those down to the lower threshold are all equal.
    after = xp.where(found.at_most_high == wanted, after, own)
    columns = []
    for side, (near, far) in enumerate((ranks[:2], ranks[2:])):
        columns += [own[side], own[side] if near == far else after[side]]
    return xp.stack(columns, axis=-1)
