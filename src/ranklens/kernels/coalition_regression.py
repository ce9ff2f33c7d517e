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
    smaller: Array, larger: Array, members: Array, weights: Array, delta: Array
) -> tuple[Array, Array]:
    """Return the contributions and their standard errors, both of shape (pairs, k).

    Parameters
    ----------
    smaller, larger : arrays, shape (pairs, m)
        The scores of m coalitions and of their complements.
    members : array, shape (m, k)
        1 for the members of the smaller coalition, else 0.
    weights : array, shape (1 + replicates, m)
        The weights of the equations; the rows after the first leave a part of the sample out in turn.
    delta : array, shape (pairs,)
        What the contributions sum to.
    """
    xp = namespace(members)
    k = members.shape[1]
    size = xp.sum(members, axis=1)
    share = delta[:, None] / k
    target = (smaller - larger) / 2 + share * ((k - 2 * size) / 2)[None, :]
    equations = members - (size / k)[:, None]
    found = least_squares(equations, target, weights)
    deviations = found[1:, :, :] - found[:1, :, :]
    n = deviations.shape[0]
    errors = xp.sqrt(xp.sum(deviations * deviations, axis=0) * ((n - 1) / n))
    return found[0, :, :] + share, errors


def least_squares(equations: Array, target: Array, weights: Array) -> Array:
    """Solve `equations` (m, k), whose rows sum to zero, for each row of `weights` (r, m).

    Returns
    -------
    array, shape (r, pairs, k)
        The solutions that sum to zero.
    """
    xp = namespace(equations)
    k = equations.shape[1]
    normal, right = [], []
    for r in range(weights.shape[0]):
        weighted = equations * weights[r, :, None]
        normal.append(xp.permute_dims(weighted, (1, 0)) @ equations)
        right.append(xp.permute_dims(target @ weighted, (1, 0)))
    # The equations say nothing about the mean; any multiple of the all-ones matrix pins it.
    diagonal = normal[0] * xp.eye(k, dtype=equations.dtype, device=device_of(equations))
    level = xp.sum(diagonal) / (k * k)
    solution = xp.linalg.solve(xp.stack(normal, axis=0) + level, xp.stack(right, axis=0))
    return xp.permute_dims(solution - xp.mean(solution, axis=1, keepdims=True), (0, 2, 1))
