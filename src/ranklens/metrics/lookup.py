"""Find documents among the judgements of their query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.io.ids import IdColumn
from ranklens.io.pairs import PairTable, pair_keys

_FEWEST_BITS, _MOST_BITS = 8, 24
_CHUNK = 1 << 15


@dataclass(frozen=True, eq=False)
class JudgementLookup:
    """The judgements, sorted by the 64-bit key of their (query, document).

    Few retrieved documents are judged. `maybe` says for the leading bits of a key whether any judgement has
    them: with about sixteen places per judgement most other keys are ruled out by one look into memory that
    stays in the cache. For the rest `bucket` says where, in the sorted keys, to start looking; whatever has
    an equal key is compared byte by byte, since different documents may share a key.
    """

    pairs: PairTable
    row: NDArray[np.int64]
    order: NDArray[np.intp]
    keys: NDArray[np.uint64]
    maybe: NDArray[np.bool_]
    maybe_shift: int
    bucket: NDArray[np.int64]
    bucket_shift: int

    @classmethod
    def of(cls, pairs: PairTable, row: NDArray[np.int64]) -> JudgementLookup:
        """Index the judgements; `row` numbers the query of each."""
        keys = pair_keys(row, pairs.document_keys)
        order = np.argsort(keys)
        keys = keys[order]
        n_bits = max(len(keys).bit_length(), _FEWEST_BITS)
        bits = min(n_bits + 4, _MOST_BITS)
        maybe = np.zeros(1 << bits, dtype=bool)
        maybe[(keys >> (64 - bits)).view(np.int64)] = True
        sizes = np.bincount((keys >> (64 - n_bits)).view(np.int64), minlength=1 << n_bits)
        return cls(pairs, row, order, keys, maybe, 64 - bits, np.cumsum(sizes) - sizes, 64 - n_bits)

    def find(
        self, pairs: PairTable, rows: NDArray[np.intp] | None, row_of: NDArray[np.int64]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Find rows of a run among the judgements.

        Parameters
        ----------
        pairs : PairTable
            The run.
        rows : array of int or None
            Which of its rows to look for, in this order; None means all.
        row_of : array of int64
            The number, in the judgements, of each query of the run (a position in ``pairs.query_ids``).

        Returns
        -------
        hits : array of int
            Which of `rows` are judged, as positions, ascending.
        judgement : array of int
            The row of the judgement of each.
        """
        n_rows = len(pairs) if rows is None else len(rows)
        chunks = [slice(first, first + _CHUNK) for first in range(0, n_rows, _CHUNK)]
        likely = [self._likely(pairs, chunk, rows, row_of) for chunk in chunks]
        if not likely:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        position, row, keys = (np.concatenate(part) for part in zip(*likely, strict=True))
        judgement = self._search(pairs.documents, position if rows is None else rows[position], row, keys)
        judged = judgement >= 0
        return position[judged], judgement[judged]

    def _likely(
        self, pairs: PairTable, chunk: slice, rows: NDArray[np.intp] | None, row_of: NDArray[np.int64]
    ) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.uint64]]:
        """Return position, query and key of those rows of a chunk that no look into `maybe` rules out."""
        part = chunk if rows is None else rows[chunk]
        row = row_of[pairs.query[part]]
        keys = pair_keys(row, pairs.document_keys[part])
        likely = np.flatnonzero(self.maybe.take((keys >> self.maybe_shift).view(np.int64)))
        return likely + chunk.start, row[likely], keys[likely]

    def _search(
        self,
        documents: IdColumn,
        at: NDArray[np.intp],
        row: NDArray[np.int64],
        keys: NDArray[np.uint64],
    ) -> NDArray[np.intp]:
        """Walk along the sorted keys from the start of each key's bucket; -1 where nothing is found."""
        judgement = np.full(len(keys), -1, dtype=np.intp)
        place = self.bucket[(keys >> self.bucket_shift).view(np.int64)]
        left = np.arange(len(keys))
        while left.size:
            left = left[place[left] < len(self.keys)]
            here = self.keys[place[left]]
            equal = left[here == keys[left]]
            found = self.order[place[equal]]
            same = self.row[found] == row[equal]
            same &= documents.equal(at[equal], self.pairs.documents, found)
            judgement[equal[same]] = found[same]
            left = left[(here <= keys[left]) & (judgement[left] < 0)]
            place[left] += 1
        return judgement
