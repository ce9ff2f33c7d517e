"""The one order of a ranking: score descending, then document id descending by its UTF-8 bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.io.ids import IdColumn
from ranklens.io.pairs import PairTable

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RankingOrder:
    """Rows query by query, each query's in the order of its ranking.

    Parameters
    ----------
    rows : array of int or None
        The row at each position. None stands for "all, as they are", but for a few tied ones: most runs come
        sorted, and this saves them the copies.
    tied, place : arrays of int
        Where `rows` is None: the rows (ascending) that ties move, and the position each goes to.
    """

    rows: Rows | None
    tied: Rows
    place: Rows

    def positions(self, found: Rows) -> Rows:
        """Turn what was found among `rows` (or among all rows) into positions of the ranking."""
        if not self.tied.size:
            return found
        at = np.minimum(np.searchsorted(self.tied, found), self.tied.size - 1)
        return np.where(self.tied[at] == found, self.place[at], found)

    def all_rows(self, n_rows: int) -> Rows:
        """Return the row at each position as an array."""
        if self.rows is not None:
            return self.rows
        rows = np.arange(n_rows)
        rows[self.place] = self.tied
        return rows


_NONE = np.empty(0, dtype=np.intp)


def ranking_order(pairs: PairTable, rows: Rows | None = None, precision: str = "float64") -> RankingOrder:
    """Order all rows, or those given, by query and rank."""
    query = pairs.query if rows is None else pairs.query[rows]
    score = (pairs.values if rows is None else pairs.values[rows]).astype(precision, copy=False)
    same_query = query[1:] == query[:-1]
    if not _contiguous(query, same_query) or (same_query & (score[1:] > score[:-1])).any():
        order = np.lexsort((-score, query))
        query, score = query[order], score[order]
        same_query = query[1:] == query[:-1]
        rows = order if rows is None else rows[order]
    tied = np.concatenate(([False], same_query & (score[1:] == score[:-1])))[: len(query)]
    if not tied.any():
        return RankingOrder(rows, _NONE, _NONE)
    place, group = _members(tied)
    before = place if rows is None else rows[place]
    after = _by_document(before, group, pairs.documents)
    if rows is None:
        return RankingOrder(None, before, place[np.argsort(after)])
    rows = rows.copy()
    rows[place] = after
    return RankingOrder(rows, _NONE, _NONE)


@dataclass(frozen=True, eq=False)
class Stretches:
    """Runs of equal numbers in an array: the number, the first position and the size of each."""

    query: NDArray[np.integer]
    first: NDArray[np.intp]
    size: NDArray[np.intp]

    @classmethod
    def of(cls, query: NDArray[np.integer]) -> Stretches:
        """Cut `query` wherever its value changes."""
        first = np.flatnonzero(query[1:] != query[:-1]) + 1
        first = np.concatenate((np.zeros(min(len(query), 1), dtype=np.intp), first))
        return cls(query[first], first, np.diff(first, append=len(query)))

    def of_positions(self, position: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return which stretch each position lies in."""
        return np.searchsorted(self.first, position, side="right") - 1


def positions_in_query(query: NDArray[np.integer]) -> NDArray[np.int64]:
    """Count from 0 within each run of equal numbers."""
    stretches = Stretches.of(query)
    return np.arange(len(query), dtype=np.int64) - np.repeat(stretches.first, stretches.size)


def _contiguous(query: NDArray[np.integer], same_query: NDArray[np.bool_]) -> bool:
    """Tell whether each query's rows stand together."""
    heads = np.sort(np.concatenate((query[:1], query[1:][~same_query])))
    return bool((heads[1:] != heads[:-1]).all())


def _members(tied: NDArray[np.bool_]) -> tuple[Rows, NDArray[np.intp]]:
    """Return the positions of all tied elements and the number of the stretch each belongs to.

    `tied` marks what ties with the element before it; the first of a stretch is not marked.
    """
    member = tied.copy()
    member[:-1] |= tied[1:]
    place = np.flatnonzero(member)
    return place, np.cumsum(~tied[place])


def _by_document(rows: Rows, group: NDArray[np.intp], documents: IdColumn) -> Rows:
    """Sort the rows of each group by document id, descending, eight bytes at a time.

    Only what is still tied after some words goes on to the next.
    """
    rows = rows.copy()
    place = np.arange(len(rows))
    j = 0
    while place.size:
        part = rows[place]
        word = documents.word(j, part).byteswap()
        size = np.clip(documents.length[part] - 8 * j, 0, 8)
        new = np.lexsort((-size, ~word, group))
        word, size = word[new], size[new]
        rows[place] = part[new]
        tied = np.zeros(len(place), dtype=bool)
        tied[1:] = (group[1:] == group[:-1]) & (word[1:] == word[:-1]) & (size[1:] == 8) & (size[:-1] == 8)
        member, group = _members(tied)
        place = place[member]
        j += 1
    return rows
