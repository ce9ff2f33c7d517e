"""Shapley values by weighted least squares over pairs of complementary coalitions.

The Shapley values minimise Σ_S μ(S) (v(S) - v(∅) - Σ_{i in S} φ_i)², μ(S) = 1 / (C(k, s) s (k - s)), under
Σ φ = v(N) - v(∅) (Charnes, Golany, Keane & Rousseau 1988). With the even share of the sum taken out, S and
its complement ask for the same combination of the φ_i, up to sign, and become one equation; only interactions
of three, five, ... players are left in the way. Those of three are fitted beside the contributions, all of
them equally likely beforehand, and so are effects of the size (see `ranklens.kernels.interactions`).

Everything is linear in the scores, with coefficients that depend on the coalitions alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ranklens.arrays import device_of, namespace
from ranklens.kernels.interactions import among_themselves, beyond_contributions, same_size
from ranklens.kernels.scales import own_unit

Array = Any

NOISE = 0.1
"""The variance of what interactions of three do not explain, as a share of theirs; and so of size effects."""

ROUNDING = 1e-9
"""What is added to shares of at most 1 that are divided by."""

TOGETHER = 1024
"""Coalitions that are held against the seen ones together."""


class Fit(NamedTuple):
    """What turns the right sides of n equations into k contributions and their errors.

    The interactions are fitted to the first m equations, the seen ones.

    Attributes
    ----------
    gain : array, shape (n, k)
        The contributions, less their even share, are ``target @ gain``.
    left_out : array, shape (m, m)
        ``target[:, :m] @ left_out`` is how far each seen equation is from what all others say of it.
    scaled : array, shape (n, k)
        What that of an equation adds to the errors; of one that is not seen, its right side.
    explained : array, shape (parts, k, k) or (k, n - m), or (0, 0, 0) where all are seen
        What the contributions account for in the errors of the equations of each part that are not seen, or
        in the right sides of these, whichever are fewer.
    taken : array, shape (parts, m, k) or (m, n - m), or (0, 0, 0) where all are seen
        What the interactions account for there.
    """

    gain: Array
    left_out: Array
    scaled: Array
    explained: Array
    taken: Array


def regression_values(
    smaller: Array,
    larger: Array,
    size: Array,
    delta: Array,
    fit: Fit,
    *,
    n_parts: int,
    k: Any = None,
) -> tuple[Array, Array]:
    """Return the contributions and their standard errors, both of shape (pairs, k).

    The errors come from what each part of the sample adds to the error: part p is the rows p, p + n_parts, …
    of those that are seen, and of those that are not.

    Parameters
    ----------
    smaller, larger : arrays, shape (pairs, n)
        The scores of n coalitions and of their complements.
    size : array, shape (n,)
        How many players the smaller coalitions have.
    delta : array, shape (pairs,)
        What the contributions sum to.
    fit : Fit
        Of the n coalitions.
    k : int, optional
        How many players there are, where the arrays are filled up with zeros.
    """
    k = fit.gain.shape[1] if k is None else k
    share = delta[:, None] / k
    target = (smaller - larger) / 2 + share * ((k - 2 * size) / 2)[None, :]
    found, error = estimates(target, fit, n_parts=n_parts, k=k)
    return found + share, error


def estimates(target: Array, fit: Fit, *, n_parts: int, k: Any) -> tuple[Array, Array]:
    """Return contributions that sum to zero and their standard errors, from right sides (pairs, n)."""
    xp = namespace(target)
    found = target @ fit.gain
    found = found - xp.sum(found, axis=1, keepdims=True) / k
    n_seen = fit.left_out.shape[0]
    deleted = target[:, :n_seen] @ fit.left_out
    error = by_parts(deleted, fit.scaled[:n_seen, :], n_parts)
    if len(fit.taken.shape) == 2:
        left = target[:, n_seen:] - found @ fit.explained - deleted @ fit.taken
        error = error + by_parts(left, fit.scaled[n_seen:, :], n_parts)
    elif fit.taken.shape[0]:
        error = error + by_parts(target[:, n_seen:], fit.scaled[n_seen:, :], n_parts)
        error = error - found[None, :, :] @ fit.explained - deleted[None, :, :] @ fit.taken
    error = error - xp.mean(error, axis=0, keepdims=True)
    unit = own_unit(error, (0, 2))
    error = error / unit
    scale = n_parts / max(n_parts - 1, 1)
    return found, unit[0, :, :] * xp.sqrt(xp.sum(error * error, axis=0) * scale)


def by_parts(target: Array, scaled: Array, n_parts: int) -> Array:
    """Return the sums over the equations of each part: (pairs, n) and (n, k) to (parts, pairs, k)."""
    xp = namespace(target)
    parts = in_parts(xp.permute_dims(target, (1, 0)), n_parts)
    return xp.permute_dims(parts, (0, 2, 1)) @ in_parts(scaled, n_parts)


def fitted(members: Array, weights: Array, spread: Array, *, n_seen: int, n_parts: int) -> Fit:
    """Return the `Fit` of coalitions; its errors still need a common factor.

    An equation adds to the errors what leaving it out changes (the jackknife). With Q the matrix of
    `interaction_coefficients`, the others differ by (Q y)_j / Q_jj from a seen right side j.

    Parameters
    ----------
    members : array, shape (n, k)
        1 for the members of the smaller coalition, else 0.
    weights : array, shape (n,)
        Of the equations; 1 in the mean.
    spread : array, shape (n,)
        The share of an equation that counts as error: 0 for a size that is known completely.
    n_seen : int
        The interactions are fitted to so many equations, the first ones.
    """
    xp = namespace(members)
    design = members - xp.mean(members, axis=1, keepdims=True)
    plain = least_squares(design, weights)
    signs = 1 - 2 * members
    seen = signs[:n_seen, :]
    inner = interaction_coefficients(design[:n_seen, :], seen, weights[:n_seen])
    correction = inner @ interactions_taken(plain, signs, seen)
    gain = plain - with_zeros(correction, members.shape[0] - n_seen)
    # Where nothing else speaks of an equation, its diagonal is rounding.
    own = xp.sum(inner * xp.eye(n_seen, dtype=inner.dtype, device=device_of(inner)), axis=0)
    own = own + ROUNDING * weights[:n_seen] / noise_level(members.shape[1])
    scaled = gain * spread[:, None]
    left_out = inner / own[None, :]
    if n_seen == members.shape[0]:
        none = xp.zeros((0, 0, 0), dtype=gain.dtype, device=device_of(gain))
        return Fit(gain, left_out, scaled, none, none)
    outside, unseen = design[n_seen:, :], scaled[n_seen:, :]
    unseen = unseen / (1 - xp.sum(outside * plain[n_seen:, :], axis=1))[:, None]
    if outside.shape[0] <= n_parts * outside.shape[1]:
        explained = xp.permute_dims(outside, (1, 0))
        taken = in_the_way(seen, signs[n_seen:, :]) * own[:, None]
    else:
        explained = xp.permute_dims(in_parts(outside, n_parts), (0, 2, 1)) @ in_parts(unseen, n_parts)
        taken = taken_by_parts(unseen, signs[n_seen:, :], seen, n_parts) * own[None, :, None]
    return Fit(gain, left_out, xp.concat([scaled[:n_seen, :], unseen], axis=0), explained, taken)


def taken_by_parts(scaled: Array, signs: Array, seen: Array, n_parts: int) -> Array:
    """Return `interactions_taken` for each part of the rows: (parts, m, k)."""
    xp = namespace(scaled)
    shape = (n_parts, seen.shape[0], scaled.shape[1])
    found = xp.zeros(shape, dtype=scaled.dtype, device=device_of(scaled))
    step = -(-TOGETHER // n_parts) * n_parts
    for start in range(0, scaled.shape[0], step):
        some = slice(start, start + step)
        kernel = in_parts(xp.permute_dims(in_the_way(seen, signs[some, :]), (1, 0)), n_parts)
        found = found + xp.permute_dims(kernel, (0, 2, 1)) @ in_parts(scaled[some, :], n_parts)
    return found


def interactions_taken(gain: Array, signs: Array, seen: Array) -> Array:
    """Return what a gain (n, k) takes for contributions of the kernel of each seen coalition: (m, k)."""
    xp = namespace(gain)
    found = xp.zeros((seen.shape[0], gain.shape[1]), dtype=gain.dtype, device=device_of(gain))
    # Some at a time: all coalitions beside all that are seen do not fit the memory.
    for start in range(0, gain.shape[0], TOGETHER):
        some = slice(start, start + TOGETHER)
        found = found + in_the_way(seen, signs[some, :]) @ gain[some, :]
    return found


def in_the_way(seen: Array, signs: Array) -> Array:
    """Return the kernel of interactions and sizes, less what contributions explain of it: (m, n)."""
    level = noise_level(signs.shape[1])
    return beyond_contributions(seen, signs) + level * same_size(seen, signs)


def least_squares(design: Array, weights: Array) -> Array:
    """Return the gain, shape (n, k), of equations `design` (n, k), whose rows sum to zero."""
    xp = namespace(design)
    k = design.shape[1]
    weighted = design * weights[:, None]
    normal = xp.permute_dims(weighted, (1, 0)) @ design
    # The equations say nothing about the mean; any multiple of the all-ones matrix pins it.
    level = xp.sum(normal * xp.eye(k, dtype=normal.dtype, device=device_of(normal))) / (k * k)
    return xp.permute_dims(xp.linalg.solve(normal + level, xp.permute_dims(weighted, (1, 0))), (1, 0))


def interaction_coefficients(design: Array, signs: Array, weights: Array) -> Array:
    """Return what maps m right sides to the m coefficients of the interactions' kernel, shape (m, m).

    With the covariance Ω of what the contributions leave: Ω⁻¹ - Ω⁻¹ X (X' Ω⁻¹ X)⁻¹ X' Ω⁻¹.
    """
    xp = namespace(design)
    m = design.shape[0]
    own = xp.eye(m, dtype=design.dtype, device=device_of(design))
    noise = own / weights[None, :] + same_size(signs, signs)
    inverse = xp.linalg.inv(among_themselves(signs) + noise_level(design.shape[1]) * noise)
    # The last column is minus the sum of the others.
    known = design[:, :-1]
    seen_by = inverse @ known
    across = xp.linalg.solve(xp.permute_dims(known, (1, 0)) @ seen_by, xp.permute_dims(seen_by, (1, 0)))
    return inverse - seen_by @ across


def noise_level(k: int) -> float:
    """Return the variance of the noise beside triples of variance 1, for an equation of weight 1."""
    return NOISE * max(1, math.comb(k, 3))


def in_parts(rows: Array, n_parts: int) -> Array:
    """Deal rows (n, k), filled up with zeros, out to parts: (n_parts, n / n_parts, k)."""
    xp = namespace(rows)
    rows = with_zeros(rows, -rows.shape[0] % n_parts)
    return xp.permute_dims(xp.reshape(rows, (-1, n_parts, rows.shape[1])), (1, 0, 2))


def with_zeros(rows: Array, n: int) -> Array:
    """Append `n` rows of zeros."""
    xp = namespace(rows)
    zeros = xp.zeros((n, rows.shape[1]), dtype=rows.dtype, device=device_of(rows))
    return xp.concat([rows, zeros], axis=0)
