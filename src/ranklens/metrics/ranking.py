"""One run against one set of judgements: which retrieved documents are judged, and at which rank.

The order is the same for every measure and every input format: score descending, then document id descending
by its UTF-8 bytes. Rows that come in this order already (most runs do) are not sorted again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ranklens.core.errors import DataError, UnknownNameError
from ranklens.core.per_query import QueryIndex
from ranklens.io.collection import Qrels, Run
from ranklens.io.order import Stretches, positions_in_query, ranking_order
from ranklens.metrics.lookup import JudgementLookup

PRECISIONS = ("float64", "float32")


@dataclass(frozen=True, eq=False)
class JudgedPool:
    """The judgements alone: what could have been retrieved.

    Parameters
    ----------
    query_ids : QueryIndex
        The judged queries, sorted by text; length Q.
    row : array of int64, shape (N,)
        The query of each judgement, as a position in `query_ids`; ascending.
    grade : array of float64, shape (N,)
        The grades, descending within each query.
    """

    query_ids: QueryIndex
    row: NDArray[np.int64]
    grade: NDArray[np.float64]
    lookup: JudgementLookup = field(repr=False)


@dataclass(frozen=True, eq=False)
class JudgedRanking:
    """One run, reduced to its judged documents.

    Parameters
    ----------
    query_ids : QueryIndex
        All queries of the judgements, sorted by text; length Q.
    n_retrieved : array of int64, shape (Q,)
        How many documents the run has for each query, after `depth` and `judged_only`.
    in_run : array of bool, shape (Q,)
        Whether the run answers the query at all.
    row, rank : arrays of int64, shape (J,)
        Query and rank (counted from 0) of every retrieved and judged document, sorted by both.
    grade : array of float64, shape (J,)
        The grades of these documents.
    n_unjudged : int
        How many queries of the run have no judgements.
    """

    query_ids: QueryIndex
    n_retrieved: NDArray[np.int64]
    in_run: NDArray[np.bool_]
    row: NDArray[np.int64]
    rank: NDArray[np.int64]
    grade: NDArray[np.float64]
    n_unjudged: int


def judged_pool(qrels: Qrels) -> JudgedPool:
    """Sort the judgements by query and grade, and prepare to look documents up in them."""
    pairs = qrels.pairs
    query_ids = QueryIndex(qrels.query_ids)
    row_of = np.array([query_ids.position(query) for query in pairs.query_ids], dtype=np.int64)
    row = row_of[pairs.query]
    order = np.lexsort((-pairs.values, row))
    return JudgedPool(query_ids, row[order], pairs.values[order], JudgementLookup.of(pairs, row))


def judged_ranking(
    run: Run,
    qrels: Qrels,
    pool: JudgedPool | None = None,
    *,
    score_precision: str = "float64",
    depth: int | None = None,
    judged_only: bool = False,
) -> JudgedRanking:
    """Rank a run's documents and find the judged ones.

    Parameters
    ----------
    run, qrels : Run, Qrels
        What to match.
    pool : JudgedPool, optional
        ``judged_pool(qrels)``, when several runs are matched with the same judgements.
    score_precision : {"float64", "float32"}
        The precision in which scores are compared; older trec_eval compares 32-bit floats.
    depth : int, optional
        Ignore what lies below this rank.
    judged_only : bool
        Remove the unjudged documents (after `depth`) before ranks are given.

    Raises
    ------
    DataError
        When the run has queries, and none of them is judged.
    """
    if score_precision not in PRECISIONS:
        raise UnknownNameError("score_precision", score_precision, PRECISIONS)
    pool = judged_pool(qrels) if pool is None else pool
    pairs = run.pairs
    index = pool.query_ids
    row_of = np.array(
        [index.position(query) if query in index else -1 for query in pairs.query_ids], dtype=np.int64
    )
    if row_of.size and row_of.max() < 0:
        which = "run" if run.name == "run" else f"run {run.name}"
        raise DataError(f"no query in common; qrels have {_some(index)}, {which} has {_some(run.query_ids)}")
    judged_query = row_of >= 0
    rows = None if judged_query.all() else np.flatnonzero(judged_query[pairs.query])
    order = ranking_order(pairs, rows, score_precision)
    stretches = Stretches.of(pairs.query if order.rows is None else pairs.query[order.rows])
    n_retrieved = np.zeros(len(index), dtype=np.int64)
    n_retrieved[row_of[stretches.query]] = (
        stretches.size if depth is None else np.minimum(stretches.size, depth)
    )
    found, judgement = pool.lookup.find(pairs, order.rows, row_of)
    position = order.positions(found)
    stretch = stretches.of_positions(position)
    row, rank = row_of[stretches.query[stretch]], position - stretches.first[stretch]
    grade = qrels.pairs.values[judgement]
    by_rank = np.argsort(row * (len(pairs) + 1) + rank)
    row, rank, grade = row[by_rank], rank[by_rank], grade[by_rank]
    if depth is not None:
        kept = rank < depth
        row, rank, grade = row[kept], rank[kept], grade[kept]
    in_run = n_retrieved > 0
    if judged_only:
        n_retrieved = np.bincount(row, minlength=len(index))
        rank = positions_in_query(row)
    return JudgedRanking(index, n_retrieved, in_run, row, rank, grade, int((~judged_query).sum()))


def _some(ids: object, most: int = 3) -> str:
    texts = [str(item) for item in ids]  # type: ignore[attr-defined]
    return ", ".join(texts[:most]) + (f", … ({len(texts)})" if len(texts) > most else "")
