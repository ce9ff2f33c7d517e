"""Shapley values from random orders: walk from A to B, one player at a time.

An order is kept as ranks: player j is replaced as number rank[j], counted from 0. The interior of its walk is
the k - 1 coalitions "every player of rank below s"; the ends are shared by all orders.
"""

from __future__ import annotations

import math
from typing import Any

from ranklens.arrays import device_of, namespace

Array = Any


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

    A sample is the mean of `together` orders in turn: of 2 where each is followed by its reverse. In a few
    samples a player may by chance show no scatter at all, as in sparse trees, so each player's variance is
    taken as if one more sample had shown the usual scatter, the mean of all players'. The standard error of
    a single sample is given as 0.
    """
    n_orders, k = by_order.shape[1:]
    n = n_orders // together
    freedom = max(n - 1, 1)
    return with_one_more(by_order, n, freedom, usual_share(freedom), k, together=together)


def placed_estimates(
    values: Array,
    after: Array,
    before: Array,
    n_samples: Any,
    freedom: Any,
    share: Any,
    k: Any,
    *,
    together: int,
) -> tuple[Array, Array]:
    """Return the contributions and their standard errors from all scores, shape (pairs, rows).

    Parameters
    ----------
    after, before : int32 arrays, shape (orders, players)
        The rows after and before each player's turn; the same row for orders and players that fill up.
    n_samples, freedom, share, k : numbers
        How many samples and players there are without those; one sample less, but at least 1; and its
        `usual_share`.
    """
    xp = namespace(values)
    flat = [xp.take(values, xp.reshape(place, (-1,)), axis=1) for place in (after, before)]
    steps = xp.reshape(flat[0] - flat[1], (values.shape[0], *after.shape))
    return with_one_more(steps, n_samples, freedom, share, k, together=together)


def with_one_more(
    by_order: Array, n: Any, freedom: Any, share: Any, k: Any, *, together: int
) -> tuple[Array, Array]:
    """Do what `mean_and_error` says, for `n` samples and `k` players; what is behind them is zero."""
    xp = namespace(by_order)
    n_pairs, n_orders, n_players = by_order.shape
    samples = xp.mean(xp.reshape(by_order, (n_pairs, n_orders // together, together, n_players)), axis=2)
    mean = xp.sum(samples, axis=1) / n
    there = xp.arange(samples.shape[1], device=device_of(by_order)) < n
    deviations = xp.where(there[None, :, None], samples - mean[:, None, :], 0.0)
    variance = xp.sum(deviations * deviations, axis=1) / freedom
    usual = xp.sum(variance, axis=1, keepdims=True) / k
    return mean, xp.sqrt((variance + share / n * usual) / n)


def usual_share(freedom: int) -> float:
    """Return what the usual variance counts for beside a player's own, of so many degrees of freedom.

    Intervals take Student's t for both, and the usual one, which many players show, is known as well as by
    many samples: so it counts for (1.96 / t)², t the 97.5 % quantile, here to 4 %.
    """
    return math.exp(-(2.4 + 1.35 / freedom) / freedom)
