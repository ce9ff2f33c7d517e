"""Runs and judgements: columns with a mapping view."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ranklens.core import frames
from ranklens.io.intake import take_in
from ranklens.io.layout import QRELS, RUN, Layout
from ranklens.io.order import ranking_order
from ranklens.io.pairs import PairTable

if TYPE_CHECKING:
    import polars


class PairCollection:
    """What `Run` and `Qrels` share: rows of (query, document, number), and a view by query.

    Parameters
    ----------
    pairs : PairTable
        The checked columns.
    name : str
        How results and tables name it.
    n_left_out : int
        How many rows could not be read and were left out (``on_error="skip"``).
    """

    layout: ClassVar[Layout]

    def __init__(self, pairs: PairTable, name: str, n_left_out: int = 0) -> None:
        self.pairs = pairs
        self.name = name
        self.n_left_out = n_left_out

    @classmethod
    def from_dict(cls, data: Mapping[Any, Any], *, name: str | None = None, on_error: str = "raise") -> Self:
        """Read ``{query: {document: number}}``; integer ids become their text."""
        pairs, _, n_left_out = take_in(data, cls.layout, None, on_error)
        return cls(pairs, name or cls.layout.kind, n_left_out)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        name: str | None = None,
        columns: Mapping[str, str | int] | None = None,
        on_error: str = "raise",
    ) -> Self:
        """Read a pandas, polars, pyarrow or other Arrow frame; see `read_run` for the columns."""
        pairs, _, n_left_out = take_in(frame, cls.layout, columns, on_error)
        return cls(pairs, name or cls.layout.kind, n_left_out)

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """The queries, sorted by text."""
        return tuple(sorted(self.pairs.query_ids))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.pairs)

    def __iter__(self) -> Iterator[str]:
        return iter(self.query_ids)

    def __contains__(self, query: object) -> bool:
        return query in self._codes

    def __getitem__(self, query: str) -> dict[str, float]:
        """Return the documents of one query with their numbers, in ranking order."""
        code = self._codes[query]
        bounds = self._bounds
        rows = self._order[bounds[code] : bounds[code + 1]]
        return dict(
            zip(self.pairs.documents.take(rows).texts(), self.pairs.values[rows].tolist(), strict=True)
        )

    def keys(self) -> tuple[str, ...]:
        """Return the queries, sorted by text."""
        return self.query_ids

    def values(self) -> Iterator[dict[str, float]]:
        """Yield the documents of each query, in the order of `query_ids`."""
        return (self[query] for query in self.query_ids)

    def items(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Yield each query with its documents, in the order of `query_ids`."""
        return ((query, self[query]) for query in self.query_ids)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return nested dictionaries, queries sorted by text, documents in ranking order."""
        return dict(self.items())

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the three columns as lists, in the order of the rows."""
        ids = self.pairs.query_ids
        return {
            "query": [ids[code] for code in self.pairs.query.tolist()],
            "document": self.pairs.documents.texts(),
            self.layout.value: self.pairs.values.tolist(),
        }

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame (see `ranklens.core.frames`) of query, document and score (or grade)."""
        return frames.to_frame(self.to_columns(), library)

    @cached_property
    def frame(self) -> polars.DataFrame:
        """The rows as a polars frame: query and document as String, score (or grade) as Float64."""
        import polars

        schema = {"query": polars.String, "document": polars.String, self.layout.value: polars.Float64}
        return polars.DataFrame(self.to_columns(), schema=schema)

    def write(self, path: str | os.PathLike[str], *, neutralise: bool = True) -> None:
        """Write TREC text, CSV, TSV, JSONL or Parquet, as the suffix says (see `ranklens.io.writing`)."""
        from ranklens.io.writing import write_pairs

        write_pairs(self, path, neutralise=neutralise)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PairCollection) or type(self) is not type(other):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {len(self)} rows, {len(self.pairs.query_ids)} queries>"

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {query: code for code, query in enumerate(self.pairs.query_ids)}

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """The rows sorted by query code, and by rank within it."""
        order = ranking_order(self.pairs).all_rows(len(self))
        return order[np.argsort(self.pairs.query[order], kind="stable")]

    @cached_property
    def _bounds(self) -> list[int]:
        counts = np.bincount(self.pairs.query, minlength=len(self.pairs.query_ids))
        return [0, *np.cumsum(counts).tolist()]


class Run(PairCollection):
    """What a system retrieved: documents with scores, by query.

    Examples
    --------
    >>> run = Run.from_dict({"q1": {"d1": 0.5, "d2": 1.0}}, name="bm25")
    >>> run["q1"], run.query_ids, len(run)
    ({'d2': 1.0, 'd1': 0.5}, ('q1',), 2)
    """

    layout = RUN


class Qrels(PairCollection):
    """What was judged: documents with grades, by query.

    Examples
    --------
    >>> Qrels.from_dict({"q1": {"d1": 2, "d2": 0}})
    <Qrels 'qrels': 2 rows, 1 queries>
    """

    layout = QRELS
