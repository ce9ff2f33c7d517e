"""The columns that every input becomes: query, document, number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ranklens.io.ids import IdColumn, Rows

_QUERY_FACTOR = 0xA0761D6478BD642F


@dataclass(frozen=True, eq=False)
class PairTable:
    """Rows of (query, document, number), the queries as codes, the documents as byte slices.

    Parameters
    ----------
    query_ids : tuple of str
        The distinct queries, in the order of their codes.
    query : array of int32, shape (n_rows,)
        The code of each row's query.
    documents : IdColumn
        The document of each row.
    values : array of float64, shape (n_rows,)
        The score or grade of each row.
    """

    query_ids: tuple[str, ...]
    query: NDArray[np.int32]
    documents: IdColumn
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.query)

    @cached_property
    def document_keys(self) -> NDArray[np.uint64]:
        """The hash of each row's document (see `IdColumn.keys`)."""
        return self.documents.keys()

    def take(self, rows: Rows | NDArray[np.bool_]) -> PairTable:
        """Return the table of these rows; queries without rows leave it."""
        query = self.query[rows]
        present = np.flatnonzero(np.bincount(query, minlength=len(self.query_ids)))
        recoded = np.zeros(len(self.query_ids), dtype=np.int32)
        recoded[present] = np.arange(len(present), dtype=np.int32)
        ids = tuple(self.query_ids[code] for code in present.tolist())
        return PairTable(ids, recoded[query], self.documents.take(rows), self.values[rows])


@dataclass(frozen=True, eq=False)
class Extract:
    """A table as it was read, with the way back to the place of each row.

    `locate` gives a row's line (or row) number, counted from 1, and its text where the source is text.
    """

    pairs: PairTable
    locate: Callable[[int], tuple[int | None, str | None]]

    def negated(self) -> Extract:
        """Return the same rows with negated numbers: ranks become scores."""
        pairs = self.pairs
        return Extract(PairTable(pairs.query_ids, pairs.query, pairs.documents, -pairs.values), self.locate)


def pair_keys(query: NDArray[np.integer], document_keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix a query number into each document's key."""
    key = document_keys ^ (query.astype(np.uint64) * _QUERY_FACTOR)
    key *= 0xE7037ED1A0B428DB
    key ^= key >> 32
    return key
