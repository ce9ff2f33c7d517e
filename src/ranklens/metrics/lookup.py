"""Find documents among the judgements of their query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.io.pairs import PairTable, pair_keys

_FEWEST_BITS, _MOST_BITS = 12, 24


@dataclass(frozen=True, eq=False)
class JudgementLookup:
    """The judgements by the 64-bit key of their (query, document), with a table that rules most keys out.

    Few retrieved documents are judged. The table has about sixteen places per judgement, so that most of the
    others are known from one look into memory that stays in the cache; the rest are searched for, and whatever
    has an equal key is compared byte by byte.
    """

    pairs: PairTable
    row: NDArray[np.int64]
    order: NDArray[np.intp]
    keys: NDArray[np.uint64]
    maybe: NDArray[np.bool_]
    shift: int

    @classmethod
    def of(cls, pairs: PairTable, row: NDArray[np.int64]) -> JudgementLookup:
        """Index the judgements; `row` numbers the query of each."""
        keys = pair_keys(row, pairs.document_keys)
        order = np.argsort(keys)
        bits = min(max((16 * len(keys)).bit_length(), _FEWEST_BITS), _MOST_BITS)
        maybe = np.zeros(1 << bits, dtype=bool)
        maybe[keys >> (64 - bits)] = True
        return cls(pairs, row, order, keys[order], maybe, 64 - bits)

    def find(
        self, pairs: PairTable, rows: NDArray[np.intp] | None, row: NDArray[np.int64]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Find the rows of a run among the judgements.

        Parameters
        ----------
        pairs : PairTable
            The run.
        rows : array of int or None
            Which of its rows to look for, in this order; None means all.
        row : array of int64
            The query of each of these, numbered as in the judgements.

        Returns
        -------
        hits : array of int
            Positions in `row` of the judged documents, ascending.
        grade : array of float64
            Their grades.
        """
        document_keys = pairs.document_keys if rows is None else pairs.document_keys[rows]
        keys = pair_keys(row, document_keys)
        hits = np.flatnonzero(self.maybe.take((keys >> self.shift).view(np.int64)))
        place = np.searchsorted(self.keys, keys[hits])
        judgement = np.full(len(hits), -1, dtype=np.intp)
        open_ = np.arange(len(hits))
        while open_.size:
            inside = place[open_] < len(self.keys)
            inside[inside] = self.keys[place[open_[inside]]] == keys[hits[open_[inside]]]
            open_ = open_[inside]
            found = self.order[place[open_]]
            at = hits[open_] if rows is None else rows[hits[open_]]
            same = self.row[found] == row[hits[open_]]
            same &= pairs.documents.equal(at, self.pairs.documents, found)
            judgement[open_[same]] = found[same]
            open_ = open_[~same]
            place[open_] += 1
        judged = judgement >= 0
        return hits[judged], self.pairs.values[judgement[judged]]
