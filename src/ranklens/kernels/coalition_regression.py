"""Shapley values by weighted least squares over pairs of complementary coalitions.

The Shapley values minimise Σ_S μ(S) (v(S) - v(∅) - Σ_{i in S} φ_i)², μ(S) = 1 / (C(k, s) s (k - s)), under
Σ φ = v(N) - v(∅) (Charnes, Golany, Keane & Rousseau 1988). With the even share of the sum taken out, S and
its complement ask for the same combination of the φ_i, up to sign, and become one equation.
"""

from __future__ import annotations

from typing import Any

from ranklens.arrays import device_of, namespace

Array = Any


def regression_values(
    smaller: Array, larger: Array, members: Array, weights: Array, delta: Array, *, n_parts: int
) -> tuple[Array, Array]:
    """Return the contributions and their standard errors, both of shape (pairs, k).

    The errors come from leaving out each part of the sample in turn: part p is the rows p, p + n_parts, ….

    Parameters
    ----------
    smaller, larger : arrays, shape (pairs, n)
        The scores of n coalitions and of their complements.
    members : array, shape (m, k)
        1 for the members of the smaller coalition, else 0; the rows after the first n are filled up with 0 to
        a multiple of `n_parts`.
    weights : array, shape (3, m)
        The weights of the equations in the whole sample, of those that stay when a part is left out, and what
        a part loses of these when it is left out. 0 for the rows that fill up.
    delta : array, shape (pairs,)
        What the contributions sum to.
    """
    xp = namespace(members)
    k, n = members.shape[1], smaller.shape[1]
    size = xp.sum(members, axis=1)
    share = delta[:, None] / k
    target = (smaller - larger) / 2 + share * ((k - 2 * size[:n]) / 2)[None, :]
    filled = xp.zeros((target.shape[0], members.shape[0] - n), dtype=target.dtype, device=device_of(target))
    target = xp.concat([target, filled], axis=1)
    found = least_squares(members - (size / k)[:, None], target, weights, n_parts)
    deviations = found[1:, :, :] - found[:1, :, :]
    # Leaving parts out overstates the variance of n equations in k unknowns by n / (n - k).
    scale = (n_parts - 1) / n_parts * max(0.0, 1 - (k - 1) / n)
    return found[0, :, :] + share, xp.sqrt(xp.sum(deviations * deviations, axis=0) * scale)


def least_squares(equations: Array, target: Array, weights: Array, n_parts: int) -> Array:
    """Solve `equations` (m, k), whose rows sum to zero, with all parts and with each part left out.

    Returns
    -------
    array, shape (1 + n_parts, pairs, k)
        The solutions that sum to zero.
    """
    xp = namespace(equations)
    k = equations.shape[1]
    rows = xp.permute_dims(xp.reshape(equations, (-1, n_parts, k)), (1, 0, 2))
    right = xp.permute_dims(xp.reshape(target, (target.shape[0], -1, n_parts)), (2, 0, 1))
    moments = []
    for i in range(3):
        weighted = rows * xp.permute_dims(xp.reshape(weights[i, :], (-1, n_parts)), (1, 0))[:, :, None]
        moments.append(xp.concat([xp.permute_dims(weighted, (0, 2, 1)) @ rows, right @ weighted], axis=1))
    whole, staying, lost = moments
    found = xp.concat([xp.sum(whole, axis=0)[None, :, :], xp.sum(staying, axis=0)[None, :, :] - lost], axis=0)
    normal = found[:, :k, :]
    # The equations say nothing about the mean; any multiple of the all-ones matrix pins it.
    level = xp.sum(normal[0, :, :] * xp.eye(k, dtype=normal.dtype, device=device_of(normal))) / (k * k)
    solution = xp.linalg.solve(normal + level, xp.permute_dims(found[:, k:, :], (0, 2, 1)))
    return xp.permute_dims(solution - xp.mean(solution, axis=1, keepdims=True), (0, 2, 1))
