"""The closed form of a tree ensemble's contributions, for many pairs at once.

Every leaf's path has one clause a player. Against a pair, a clause is satisfied by both points, by neither
(the leaf is dead), by B only or by A only, and a live leaf pays the last two by their numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ranklens.arrays import device_of, namespace

WORD_BITS = 64
ONLY_B, ONLY_A, NEITHER = 1, 2, 3
"""Who satisfies a clause; 0 where both do. Bit 0 says that A fails it, bit 1 that B does."""


class PathArrays(NamedTuple):
    """Leaves, the conditions of their paths, and whom they pay.

    Attributes
    ----------
    feature, low, high : int32 array, shape (conditions,)
        A condition accepts the codes from `low` to `high`.
    special : int64 array, shape (words, conditions)
        And the codes whose bit is set here.
    clause : int32 array, shape (members, slots, leaves)
        The conditions that each player of a path, one a slot, must meet.
    value : float array, shape (leaves,)
    share_b, share_a : float array, shape ((slots + 1)^2,)
        What a leaf of value 1 pays each player that only B, or only A, satisfies; entry p (slots + 1) + q.
    payee : int32 array, shape (groups,)
        The players that are paid; one that has many slots comes in several groups.
    slot, leaf : int32 array, shape (groups, together)
        Places among the slots of all leaves, and the leaf, from which a group is paid.
    paid : uint8 array, shape (groups, together)
        1, and 0 where a group has no more.
    """

    feature: Any
    low: Any
    high: Any
    special: Any
    clause: Any
    value: Any
    share_b: Any
    share_a: Any
    payee: Any
    slot: Any
    leaf: Any
    paid: Any


def path_contributions(paths: PathArrays, codes_a: Any, codes_b: Any, *, n_players: int) -> Any:
    """Return the contributions (players, m) to the step from A to B, both codes of shape (features, m)."""
    xp = namespace(codes_a)
    satisfied = satisfied_by(paths, codes_a, codes_b)
    pays_b, pays_a = leaf_payments(paths, satisfied)
    m, (n_groups, together) = codes_a.shape[1], paths.slot.shape
    slot, leaf = xp.reshape(paths.slot, (-1,)), xp.reshape(paths.leaf, (-1,))
    who = xp.take(xp.reshape(satisfied, (-1, m)), slot, axis=0) * xp.reshape(paths.paid, (-1, 1))
    to_b, to_a = (xp.astype(who == kind, pays_b.dtype) for kind in (ONLY_B, ONLY_A))
    amounts = xp.take(pays_b, leaf, axis=0) * to_b + xp.take(pays_a, leaf, axis=0) * to_a
    sums = xp.sum(xp.reshape(amounts, (n_groups, together, m)), axis=1)
    players = xp.arange(n_players, dtype=paths.payee.dtype, device=device_of(paths.payee))
    owned = xp.astype(players[:, None] == paths.payee[None, :], sums.dtype)
    return owned @ sums


def by_pair(found: Any, row: Any) -> Any:
    """Return contributions (players that are looked at, m) as (m, all players).

    `row` says where each player is found; 1 past the last row stands for nothing.
    """
    xp = namespace(found)
    nothing = xp.zeros((1, found.shape[1]), dtype=found.dtype, device=device_of(found))
    return xp.permute_dims(xp.take(xp.concat([found, nothing], axis=0), row, axis=0), (1, 0))


def leaf_payments(paths: PathArrays, satisfied: Any) -> tuple[Any, Any]:
    """Return what each leaf pays one B-only and one A-only player, both of shape (leaves, m)."""
    xp = namespace(satisfied)
    n_slots = satisfied.shape[0]
    p, q = (
        xp.sum(xp.astype(satisfied == kind, xp.int32), axis=0, dtype=xp.int32) for kind in (ONLY_B, ONLY_A)
    )
    live = xp.max(satisfied, axis=0) < NEITHER
    entry = xp.reshape(xp.where(live, p * (n_slots + 1) + q, 0), (-1,))
    value = xp.astype(live, paths.value.dtype) * paths.value[:, None]
    pays_b, pays_a = (
        xp.reshape(xp.take(share, entry), live.shape) * value for share in (paths.share_b, paths.share_a)
    )
    return pays_b, pays_a


def satisfied_by(paths: PathArrays, codes_a: Any, codes_b: Any) -> Any:
    """Return who satisfies the clauses, as bytes of shape (slots, leaves, m)."""
    xp = namespace(codes_a)
    fails_a, fails_b = (xp.astype(_fails(paths, codes), xp.uint8) for codes in (codes_a, codes_b))
    who = fails_a + 2 * fails_b
    m = who.shape[1]
    members = [xp.take(who, xp.reshape(clause, (-1,)), axis=0) for clause in _rows(paths.clause)]
    joined = members[0]
    for more in members[1:]:
        joined = joined | more
    return xp.reshape(joined, (*paths.clause.shape[1:], m))


def _rows(array: Any) -> list[Any]:
    return [array[i, ...] for i in range(array.shape[0])]


def _fails(paths: PathArrays, codes: Any) -> Any:
    """Whether a point fails a condition, shape (conditions, m)."""
    xp = namespace(codes)
    code = xp.take(codes, paths.feature, axis=0)
    accepted = (code >= paths.low[:, None]) & (code <= paths.high[:, None])
    # The last bit is never set: it stands for every code past the special ones.
    bit = xp.astype(xp.minimum(code, paths.special.shape[0] * WORD_BITS - 1), xp.int64)
    for word in range(paths.special.shape[0]):
        here = bit - word * WORD_BITS
        inside = (here >= 0) & (here < WORD_BITS)
        is_set = (paths.special[word, :, None] >> xp.where(inside, here, 0)) & 1
        accepted = accepted | (inside & (is_set == 1))
    return ~accepted
