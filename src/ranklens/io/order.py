"""The one order of a ranking: score descending, then document id descending by its UTF-8 bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.io.ids import IdColumn
from ranklens.io.pairs import PairTable

Rows = NDArray[np.intp]


def ranking_order(pairs: PairTable, rows: Rows | None = None, precision: str = "float64") -> Rows | None:
    """Return the rows (all, or those given) query by query, each query's in the order of its ranking.

    None stands for "all, as they are", which saves sorted runs the copies.
    """
    query = pairs.query if rows is None else pairs.query[rows]
    score = (pairs.values if rows is None else pairs.values[rows]).astype(precision, copy=False)
    same_query = query[1:] == query[:-1]
    if not _contiguous(query, same_query) or (same_query & (score[1:] > score[:-1])).any():
        order = np.lexsort((-score, query))
        query, score = query[order], score[order]
        same_query = query[1:] == query[:-1]
        rows = order if rows is None else rows[order]
    tied = same_query & (score[1:] == score[:-1])
    if tied.any():
        rows = np.arange(len(query)) if rows is None else rows.copy()
        _break_ties(rows, np.concatenate(([False], tied)), pairs.documents)
    return rows


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
    heads = query[1:][~same_query]
    return len(np.unique(heads)) == len(heads) and not (heads == query[:1]).any()


def _break_ties(order: Rows, tied: NDArray[np.bool_], documents: IdColumn) -> None:
    """Sort, in place, each stretch of tied rows by document id, descending, eight bytes at a time.

    `tied` marks the rows that tie with the row before them. Only what is still tied after some words goes on
    to the next.
    """
    place = np.arange(len(order))
    j = 0
    while True:
        member = tied.copy()
        member[:-1] |= tied[1:]
        if not member.any():
            return
        place, group = place[member], np.cumsum(~tied)[member]
        rows = order[place]
        word = documents.word(j, rows).byteswap()
        size = np.clip(documents.length[rows] - 8 * j, 0, 8)
        new = np.lexsort((-size, ~word, group))
        rows, word, size = rows[new], word[new], size[new]
        order[place] = rows
        tied = np.zeros(len(rows), dtype=bool)
        tied[1:] = (group[1:] == group[:-1]) & (word[1:] == word[:-1]) & (size[1:] == size[:-1])
        tied &= size == 8
        j += 1
