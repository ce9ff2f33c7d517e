"""Which rows a model must score so that each feature is seen shuffled among the documents of each query.

A document that is given a value which it (or a document like it) has already been given, or its own, is not
scored twice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Purpose, cut, rows_within, words
from ranklens.explain.players import Players
from ranklens.explain.queries import Stack
from ranklens.explain.value_classes import distinguishable, player_classes, value_classes

Indices = NDArray[np.int64]

_REPEAT_STRIDE = 2**32
"""The word's column is the query plus this times the repeat: there may be more repeats later."""

_MOST_SLOTS = 2**22
# A slot, its key twice, the class given, a flag, and what sorting takes.
_BYTES_PER_SLOT = 64


def most_slots() -> int:
    """Return how many documents times repeats times players are planned at a time."""
    return rows_within(_BYTES_PER_SLOT, _MOST_SLOTS, share=0.5)


@dataclass(frozen=True, eq=False)
class Shuffled:
    """Some players shuffled among the n documents of a query.

    Attributes
    ----------
    query : int
        A position in the stack.
    players : int64 array, shape (players,)
    slots : int64 array, shape (players, repeats, n)
        Where the score of each document is found: below n the original one of that document, from n on that
        of a new row.
    rows, sources, owners : int64 arrays, shape (new rows,)
        The document that is changed, the one that gives its values, and the player whose values are given;
        documents are positions in the query, and rows come player by player.
    """

    query: int
    players: Indices
    slots: Indices
    rows: Indices
    sources: Indices
    owners: Indices


def shuffled_orders(seed: int, query: int, n: int, n_repeats: int) -> Indices:
    """Return which document gives its value to each document, shape (repeats, n).

    Random orders of the counter stream that belongs to the query and the repeat; all n! of them where they
    are no more than `n_repeats`. The identity is one of them.

    Examples
    --------
    >>> shuffled_orders(0, 0, 2, 10).tolist()
    [[0, 1], [1, 0]]
    >>> more, fewer = shuffled_orders(0, 0, 5, 8), shuffled_orders(0, 0, 5, 3)
    >>> (more[:3] == fewer).all()
    np.True_
    """
    if n <= 12 and math.factorial(n) <= n_repeats:
        return np.asarray(list(itertools.permutations(range(n))), dtype=np.int64)
    columns = range(query, query + n_repeats * _REPEAT_STRIDE, _REPEAT_STRIDE)
    return np.argsort(words(seed, 0, n, columns, Purpose.SHUFFLES), axis=1, kind="stable")


def shuffled_queries(
    stack: Stack, players: Players, trees: Any, n_repeats: int, seed: int
) -> Iterator[Shuffled]:
    """Plan the shuffles of all queries, those with most documents first.

    Players that are constant within a query, or that `trees` cannot tell apart there, are left out, and so
    are queries with one document.
    """
    for query in np.argsort(-stack.sizes, kind="stable").tolist():
        start, stop = int(stack.starts[query]), int(stack.starts[query + 1])
        n = stop - start
        if n < 2:
            continue
        known = distinguishable(stack.host[start:stop], trees)
        classes = player_classes(value_classes(known), players.members)
        active = np.flatnonzero(classes.max(axis=1) > 0)
        if not active.size:
            continue
        orders = shuffled_orders(seed, query, n, n_repeats)
        for some in cut(range(active.size), max(1, most_slots() // orders.size)):
            chosen = active[some.start : some.stop]
            yield _planned(query, chosen, classes[chosen], orders)


def _planned(query: int, players: Indices, classes: Indices, orders: Indices) -> Shuffled:
    n_players, n = classes.shape
    given = classes[:, orders]
    document = np.arange(n)
    slots = np.broadcast_to(document, given.shape).copy()
    # One number for each player, document and class.
    key = (np.arange(n_players)[:, None, None] * n + document) * n + given
    new = given != classes[:, None, :]
    keys, place = np.unique(key[new], return_inverse=True)
    slots[new] = n + place
    pair, class_given = np.divmod(keys, n)
    player, row = np.divmod(pair, n)
    giver = np.zeros((n_players, n), dtype=np.int64)
    np.put_along_axis(giver, classes, np.broadcast_to(document, classes.shape), axis=1)
    return Shuffled(query, players, slots, row, giver[player, class_given], players[player])


def drawn_together(blocks: Iterator[Shuffled], most_rows: int) -> Iterator[list[Shuffled]]:
    """Put blocks with the same number of repeats together until they have `most_rows` new rows."""
    waiting: list[Shuffled] = []
    n_rows, n_slots, limit = 0, 0, most_slots()
    for block in blocks:
        fits = n_rows + block.rows.size <= most_rows and n_slots + block.slots.size <= limit
        if waiting and not (fits and block.slots.shape[1] == waiting[0].slots.shape[1]):
            yield waiting
            waiting, n_rows, n_slots = [], 0, 0
        waiting.append(block)
        n_rows += block.rows.size
        n_slots += block.slots.size
    if waiting:
        yield waiting


def joined_rows(blocks: Sequence[Shuffled], stack: Stack) -> tuple[Indices, Indices, Indices]:
    """Return the rows, sources and owners of some blocks, documents as positions in the stack."""
    starts = [int(stack.starts[block.query]) for block in blocks]
    rows = np.concatenate([start + block.rows for start, block in zip(starts, blocks, strict=True)])
    sources = np.concatenate([start + block.sources for start, block in zip(starts, blocks, strict=True)])
    return rows, sources, np.concatenate([block.owners for block in blocks])
