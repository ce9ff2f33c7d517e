"""Leaves in blocks, longest paths first: slot s holds every leaf's s-th player.

Equal conditions are kept once. A player is a feature or a group of them; its condition in a path is that all
of its features' conditions hold, which for a single feature is that one condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.explain.trees.paths import Ints, Paths, Words
from ranklens.explain.trees.tree import NO_FEATURE

LEAVES_AT_ONCE = 4096


@dataclass(frozen=True)
class Block:
    """Some leaves, sorted by the number of players on their paths, most first.

    Attributes
    ----------
    feature, low, high : int array, shape (conditions,)
        The distinct conditions of single features, sorted by feature.
    special : uint64 array, shape (conditions, words)
    members : int array, shape (members, clauses)
        The conditions that a player's clause joins; the index of no condition, -1, fills up.
    player : int array, shape (clauses,)
        Whose clause it is.
    slots : tuple of int array
        Slot s: the s-th clause of the first leaves, those that have so many.
    value : float array, shape (leaves,)
    """

    feature: Ints
    low: Ints
    high: Ints
    special: Words
    members: Ints
    player: Ints
    slots: tuple[Ints, ...]
    value: NDArray[np.float64]


def blocks_of(paths: Paths, player_of: Ints) -> Iterator[Block]:
    """Cut the leaves into blocks; `player_of` gives the player of each coded feature."""
    for start in range(0, paths.value.size, LEAVES_AT_ONCE):
        yield _block(paths[np.arange(start, min(start + LEAVES_AT_ONCE, paths.value.size))], player_of)


def _block(paths: Paths, player_of: Ints) -> Block:
    leaf, slot = np.nonzero(paths.feature != NO_FEATURE)
    feature = paths.feature[leaf, slot]
    words = paths.special[leaf, slot]
    columns = [feature, paths.low[leaf, slot], paths.high[leaf, slot], *words.T.view(np.int64)]
    distinct, condition = _distinct(np.stack(columns))
    members, owner, clause, leaf = _clauses(leaf, player_of[feature], condition)
    players_of_leaf = np.bincount(leaf, minlength=paths.value.size)
    order = np.argsort(-players_of_leaf, kind="stable")
    starts = np.cumsum(players_of_leaf) - players_of_leaf
    sorted_lengths, starts = players_of_leaf[order], starts[order]
    n_slots = int(sorted_lengths.max(initial=0))
    longer = [np.count_nonzero(sorted_lengths > slot) for slot in range(n_slots)]
    return Block(
        feature=distinct[0],
        low=distinct[1],
        high=distinct[2],
        special=np.ascontiguousarray(distinct[3:].T).view(np.uint64),
        members=members,
        player=owner,
        slots=tuple(clause[starts[:n] + slot] for slot, n in enumerate(longer)),
        value=paths.value[order],
    )


def _clauses(leaf: Ints, player: Ints, condition: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Join the conditions of one player in one leaf.

    Returns the members of each distinct clause, its player, and the clause and leaf of every player of every
    path, leaf by leaf.
    """
    order = np.lexsort((condition, player, leaf))
    leaf, player, condition = leaf[order], player[order], condition[order]
    first = np.ones(leaf.size, dtype=np.bool_)
    first[1:] = (leaf[1:] != leaf[:-1]) | (player[1:] != player[:-1])
    start = np.flatnonzero(first)
    which = np.cumsum(first) - 1
    within = np.arange(leaf.size) - start[which]
    joined = np.full((1 + int(within.max(initial=0)), start.size), -1, dtype=np.int64)
    joined[within, which] = condition
    rows, clause = _distinct(np.concatenate([player[start][None, :], joined]))
    return rows[1:], rows[0], clause, leaf[start]


def _distinct(columns: Ints) -> tuple[Ints, Ints]:
    """Return the distinct columns, sorted by their first entries, and the place of each column among them."""
    order = np.lexsort(columns[::-1])
    ordered = columns[:, order]
    first = np.ones(order.size, dtype=np.bool_)
    first[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.cumsum(first) - 1
    return ordered[:, first], place
