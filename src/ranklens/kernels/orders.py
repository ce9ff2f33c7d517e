"""Shapley values from random orders: walk from A to B, one player at a time.

An order is kept as ranks: player j is replaced as number rank[j], counted from 0. The interior of its walk is
the k - 1 coalitions "every player of rank below s"; the ends are shared by all orders.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ranklens.arrays import device_of, namespace
from ranklens.kernels.scales import own_unit

Array = Any

AGREE = 1e-4
"""Samples that differ by less than this share of the usual scatter agree."""

SKEWED = 5.0
"""How much the variance grows where samples are as skewed as so many can be."""


def walks(words: Array, *, reverse: bool) -> tuple[Array, Array]:
    """Return the ranks of random orders (each followed by its reverse where asked for), and the interiors."""
    ranks = order_ranks(words)
    if reverse:
        ranks = with_reversed(ranks)
    return ranks, interior_coalitions(ranks)


def order_estimates(
    interior: Array, ranks: Array, score_a: Array, score_b: Array, *, together: int
) -> tuple[Array, Array]:
    """Return the contributions and their standard errors, both of shape (pairs, k)."""
    return mean_and_error(order_contributions(interior, ranks, score_a, score_b), together=together)


def order_ranks(words: Array) -> Array:
    """Return the ranks, shape (orders, k), of random int64 `words`, shape (k, orders)."""
    xp = namespace(words)
    return xp.argsort(xp.permute_dims(words, (1, 0)), axis=1, stable=True)


def with_reversed(ranks: Array) -> Array:
    """Let each order be followed by its reverse: (pairs, k) to (2 · pairs, k)."""
    xp = namespace(ranks)
    k = ranks.shape[1]
    return xp.reshape(xp.stack([ranks, k - 1 - ranks], axis=1), (-1, k))


def interior_coalitions(ranks: Array) -> Array:
    """Return who has been replaced after 1, …, k - 1 steps: bool, shape (orders · (k - 1), k)."""
    xp = namespace(ranks)
    k = ranks.shape[1]
    steps = xp.arange(1, k, dtype=ranks.dtype, device=device_of(ranks))
    return xp.reshape(ranks[:, None, :] < steps[None, :, None], (-1, k))


def order_contributions(interior: Array, ranks: Array, score_a: Array, score_b: Array) -> Array:
    """Return what each player's replacement changed in each order, shape (pairs, orders, k).

    `interior` holds the scores between, shape (pairs, orders · (k - 1)); `score_a` and `score_b` have shape
    (pairs,).
    """
    xp = namespace(interior)
    n_pairs, (n_orders, k) = interior.shape[0], ranks.shape
    shape = (n_pairs, n_orders, 1)
    walk = xp.concat(
        [
            xp.broadcast_to(score_a[:, None, None], shape),
            xp.reshape(interior, (n_pairs, n_orders, k - 1)),
            xp.broadcast_to(score_b[:, None, None], shape),
        ],
        axis=2,
    )
    steps = walk[:, :, 1:] - walk[:, :, :-1]
    return xp.take_along_axis(steps, xp.broadcast_to(ranks[None, :, :], steps.shape), axis=2)


def mean_and_error(by_order: Array, *, together: int) -> tuple[Array, Array]:
    """Return the mean over the orders, shape (pairs, k), and its standard error.

    A sample is the mean of `together` orders in turn: of 2 where each is followed by its reverse. The
    standard error of a single sample is given as 0. For what a few samples do not show see `Allowance`.
    """
    n_orders, k = by_order.shape[1:]
    n = n_orders // together
    return estimates(by_order, n, k, allowance(n), together=together)


def placed_estimates(
    values: Array, after: Array, before: Array, n_samples: Any, k: Any, allowed: Allowance, *, together: int
) -> tuple[Array, Array]:
    """Return the contributions and their standard errors from all scores, shape (pairs, rows).

    Parameters
    ----------
    after, before : int32 arrays, shape (orders, players)
        The rows after and before each player's turn; the same row for orders and players that fill up.
    n_samples, k : int
        How many samples and players there are without those.
    allowed : Allowance
        For `n_samples`.
    """
    xp = namespace(values)
    flat = [xp.take(values, xp.reshape(place, (-1,)), axis=1) for place in (after, before)]
    steps = xp.reshape(flat[0] - flat[1], (values.shape[0], *after.shape))
    return estimates(steps, n_samples, k, allowed, together=together)


def estimates(by_order: Array, n: Any, k: Any, allowed: Allowance, *, together: int) -> tuple[Array, Array]:
    """Do what `mean_and_error` says, for `n` samples and `k` players; what is behind them is zero."""
    xp = namespace(by_order)
    n_pairs, n_orders, n_players = by_order.shape
    samples = xp.mean(xp.reshape(by_order, (n_pairs, n_orders // together, together, n_players)), axis=2)
    mean = xp.sum(samples, axis=1) / n
    there = (xp.arange(samples.shape[1], device=device_of(by_order)) < n)[None, :, None]
    deviations = xp.where(there, samples - mean[:, None, :], 0.0)
    unit = own_unit(deviations, (1, 2))
    deviations, samples = deviations / unit, samples / unit
    variance = xp.sum(deviations * deviations, axis=1) / allowed.freedom
    usual = xp.sum(variance, axis=1, keepdims=True) / k
    steps = xp.abs(samples[:, 1:, :] - samples[:, :-1, :])
    same = there[:, 1:, :] & (steps <= AGREE * xp.sqrt(usual)[:, None, :])
    agree = xp.sum(xp.astype(same, variance.dtype), axis=1) / allowed.freedom
    skew = squared_skewness(deviations, n, 1 - agree, allowed)
    # What agrees shows its skewness by that.
    inflated = variance * (1 + allowed.by_skewness * skew * (1 - agree))
    unseen = usual * (agree + allowed.where_none_agree * (1 - agree))
    return mean, unit[:, 0, :] * xp.sqrt((inflated + allowed.one_more * unseen) / n)


def squared_skewness(deviations: Array, n: Any, weights: Array, allowed: Allowance) -> Array:
    """Return the mean over the players, shape (pairs, 1), beyond what normal samples show by chance."""
    xp = namespace(deviations)
    second = xp.sum(deviations * deviations, axis=1, keepdims=True) / n
    scale = xp.sqrt(xp.where(second > 0, second, 1.0))
    third = xp.sum((deviations / scale) ** 3, axis=1) / n
    beyond = xp.sum(weights * (third * third - allowed.by_chance), axis=1, keepdims=True)
    total = xp.sum(weights, axis=1, keepdims=True)
    found = beyond / xp.where(total > 0, total, 1.0)
    return xp.where(found > 0, found, 0.0)


class Allowance(NamedTuple):
    """What `n` samples leave open, beside a variance of n - 1 degrees of freedom.

    Samples of a player that agree, as under sparse trees, have jumps that were not seen: it gets a variance
    as if one more sample had shown the usual scatter, the mean of all players'. Where none agree, samples
    may be skewed, so that Student's intervals are too narrow (Johnson 1978): the variance grows with the
    squared skewness of the players that scatter. Two samples show none and three hardly any, so the usual
    scatter counts there too, for 1 / (n - 2), and alone up to three samples.

    Attributes
    ----------
    freedom : int
    one_more : float
        What the usual variance counts for. Intervals take Student's t for it, too, although many players show
        it, as many samples would: so for (1.96 / t)² / n, t the 97.5 % quantile, here to 4 %.
    where_none_agree : float
        The share of it where no samples agree.
    by_chance : float
        The squared skewness of normal samples, 6 (n - 2) / ((n + 1) (n + 3)).
    by_skewness : float
        The growth for a squared skewness of 1, which is `SKEWED` for the largest, (n - 2)² / (n - 1).
    """

    freedom: int
    one_more: float
    where_none_agree: float
    by_chance: float
    by_skewness: float


def allowance(n: int) -> Allowance:
    """Return what is allowed for with `n` samples."""
    freedom = max(n - 1, 1)
    one_more = math.exp(-(2.4 + 1.35 / freedom) / freedom) / n
    if n < 4:
        return Allowance(freedom, one_more, 1.0, 0.0, 0.0)
    by_chance = 6 * (n - 2) / ((n + 1) * (n + 3))
    return Allowance(freedom, one_more, 1 / (n - 2), by_chance, SKEWED * (n - 1) / (n - 2) ** 2)
