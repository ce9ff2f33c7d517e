"""What every measure is computed from: the judged documents of rankings, padded to one shape.

A document without a judgement changes a measure only by the rank it takes from others. So the matrix holds
the judged documents with their ranks, not every retrieved document.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ranklens.arrays import namespace

Array = Any


class MeasureBatch(NamedTuple):
    """Runs by queries, and what was judged for each query.

    Padding has grade minus infinity and rank plus infinity: it is never relevant and lies below every cutoff.

    Attributes
    ----------
    grades : array, shape (runs, queries, width)
        Grades of the retrieved documents that are judged, in ranking order.
    ranks : array, shape (runs, queries, width)
        Their ranks, from 1, as floats.
    n_retrieved : array, shape (runs, queries)
        All retrieved documents, judged or not, as floats.
    pool : array, shape (queries, pool width)
        Grades of all documents judged for the query, retrieved or not, descending.
    positions : array, shape (length,)
        1, 2, … up to at least the largest finite rank and the pool width.
    logs : array, shape (length,)
        The binary logarithm of one plus `positions`.
    max_grade : float
        The largest grade of the whole qrels.
    """

    grades: Array
    ranks: Array
    n_retrieved: Array
    pool: Array
    positions: Array
    logs: Array
    max_grade: float

    def gains(self) -> Array:
        """Return the grades with negative ones and padding as 0, shape (runs, queries, width)."""
        return namespace(self.grades).maximum(self.grades, 0.0)


def within(ranks: Array, cutoff: int | None) -> Array:
    """Mark what lies within the first `cutoff` ranks (None: everywhere); never the padding."""
    return namespace(ranks).isfinite(ranks) if cutoff is None else ranks <= cutoff


def relevant(batch: MeasureBatch, rel: float, cutoff: int | None = None) -> Array:
    """Mark the documents of grade `rel` or more within `cutoff`, as 0 and 1 in the type of the grades."""
    mask = batch.grades >= rel
    if cutoff is not None:
        mask = mask & (batch.ranks <= cutoff)
    return namespace(mask).astype(mask, batch.grades.dtype)


def n_relevant(batch: MeasureBatch, rel: float) -> Array:
    """Count the judged documents of grade `rel` or more, shape (queries,)."""
    return count(batch.pool >= rel, batch.pool.dtype)


def count(mask: Array, dtype: Any) -> Array:
    """Count along the last axis; whole numbers add up without rounding in any order."""
    xp = namespace(mask)
    return xp.sum(xp.astype(mask, dtype), axis=-1)


def at_least_one(counts: Array) -> Array:
    """Replace a count of zero by one, for a quotient whose numerator is then zero as well."""
    return namespace(counts).maximum(counts, 1.0)
