"""The one order of a ranking: score descending, then document id descending by its UTF-8 bytes."""

from __future__ import annotations

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
    tied = np.concatenate((np.zeros(1, dtype=bool), same_query & (score[1:] == score[:-1])))
    if len(query) and tied.any():
        rows = np.arange(len(query)) if rows is None else rows.copy()
        _break_ties(rows, tied, pairs.documents)
    return rows


def positions_in_query(query: NDArray[np.integer]) -> NDArray[np.int64]:
    """Count from 0 within each run of equal numbers."""
    place = np.arange(len(query), dtype=np.int64)
    head = np.concatenate((np.ones(min(len(query), 1), dtype=bool), query[1:] != query[:-1]))
    return place - np.maximum.accumulate(np.where(head, place, 0))


def _contiguous(query: NDArray[np.integer], same_query: NDArray[np.bool_]) -> bool:
    """Tell whether each query's rows stand together."""
    if not len(query):
        return True
    n_groups = len(query) - int(np.count_nonzero(same_query))
    return n_groups == np.count_nonzero(np.bincount(query))


def _break_ties(order: Rows, tied: NDArray[np.bool_], documents: IdColumn) -> None:
    """Sort, in place, each stretch of tied rows by document id, descending, eight bytes at a time.

    `tied` marks the rows that tie with the row before them. Only what is still tied after some words goes on to
    the next.
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
