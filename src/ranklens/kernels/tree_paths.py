"""The closed form of a tree ensemble's contributions, for many pairs at once.

Every leaf's path has one clause a player. Against a pair, a clause is satisfied by both points, by neither
(the leaf is dead), by B only or by A only, and a live leaf pays the last two by their numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ranklens.arrays import device_of, namespace

WORD_BITS = 64
COUNT_BITS = 10
"""A path's count of players of each kind takes so many bits."""


class PathArrays(NamedTuple):
    """Leaves and the conditions of their paths.

    Attributes
    ----------
    feature, low, high : int32 array, shape (conditions,)
        A condition accepts the codes from `low` to `high`.
    special : int64 array, shape (words, conditions)
        And the codes whose bit is set here.
    clause : int32 array, shape (members, slots, leaves)
        The conditions that each player of a path, one a slot, must meet.
    player : int32 array, shape (slots, leaves)
    value : float array, shape (leaves,)
    share_b, share_a : float array, shape ((slots + 1)^2,)
        What a leaf of value 1 pays each player that only B, or only A, satisfies; entry p (slots + 1) + q.
    """

    feature: Any
    low: Any
    high: Any
    special: Any
    clause: Any
    player: Any
    value: Any
    share_b: Any
    share_a: Any


def path_contributions(paths: PathArrays, codes_a: Any, codes_b: Any, *, n_players: int) -> Any:
    """Return the contributions (players, m) to the step from A to B, both codes of shape (features, m)."""
    xp = namespace(codes_a)
    dtype = paths.value.dtype
    _, slots, leaves = paths.clause.shape
    states = clause_states(_fails(paths, codes_a), _fails(paths, codes_b))
    sums = xp.sum(states, axis=0, dtype=states.dtype)
    live = sums < 4**COUNT_BITS
    counts = xp.where(live, sums, 0)
    p, q = counts & (2**COUNT_BITS - 1), counts >> COUNT_BITS
    entry = xp.reshape(xp.astype(p * (slots + 1) + q, xp.int64), (-1,))
    value = xp.where(live, paths.value[:, None], 0.0)
    pays_b = xp.reshape(xp.take(paths.share_b, entry), live.shape) * value
    pays_a = xp.reshape(xp.take(paths.share_a, entry), live.shape) * value
    amounts = xp.where(states == 1, pays_b, xp.where(states == 2**COUNT_BITS, pays_a, 0.0))
    players = xp.arange(n_players, dtype=paths.player.dtype, device=device_of(paths.player))
    owned = xp.astype(players[:, None] == xp.reshape(paths.player, (1, -1)), dtype)
    return owned @ xp.reshape(amounts, (slots * leaves, -1))


def clause_states(fails_a: Any, fails_b: Any) -> Any:
    """Return 1 where A alone fails, 2^COUNT_BITS where B alone does, over 4^COUNT_BITS where both do."""
    xp = namespace(fails_a)
    a, b = xp.astype(fails_a, xp.int32), xp.astype(fails_b, xp.int32)
    return a + b * 2**COUNT_BITS + a * b * 4**COUNT_BITS


def _fails(paths: PathArrays, codes: Any) -> Any:
    """Whether a point fails a player's clause, shape (slots, leaves, m)."""
    xp = namespace(codes)
    code = xp.take(codes, paths.feature, axis=0)
    accepted = (code >= paths.low[:, None]) & (code <= paths.high[:, None])
    # The last bit is never set: it stands for every code past the special ones.
    bit = xp.astype(xp.clip(code, max=paths.special.shape[0] * WORD_BITS - 1), xp.int64)
    for word in range(paths.special.shape[0]):
        here = bit - word * WORD_BITS
        inside = (here >= 0) & (here < WORD_BITS)
        is_set = (paths.special[word, :, None] >> xp.where(inside, here, 0)) & 1
        accepted = accepted | (inside & (is_set == 1))
    fails = xp.take(~accepted, xp.reshape(paths.clause, (-1,)), axis=0)
    return xp.any(xp.reshape(fails, (*paths.clause.shape, -1)), axis=0)
