"""Measures that count documents, and the judged share of a ranking."""

from __future__ import annotations

from ranklens.arrays import namespace
from ranklens.kernels.measures_batch import (
    Array,
    MeasureBatch,
    at_least_one,
    count,
    n_relevant,
    relevant,
    within,
)


def judged(batch: MeasureBatch, *, cutoff: int | None = None) -> Array:
    """Divide the judged documents among the first `cutoff` by how many there are; 0 for an empty list."""
    found = count(within(batch.ranks, cutoff), batch.grades.dtype)
    depth = batch.n_retrieved
    if cutoff is not None:
        depth = namespace(depth).minimum(depth, cutoff)
    return found / at_least_one(depth)


def number_relevant(batch: MeasureBatch, *, rel: float = 1.0) -> Array:
    """Count the relevant documents of the qrels, whether retrieved or not."""
    return batch.n_retrieved * 0.0 + n_relevant(batch, rel)


def number_retrieved(batch: MeasureBatch) -> Array:
    """Count the retrieved documents, judged or not."""
    return batch.n_retrieved


def number_relevant_retrieved(batch: MeasureBatch, *, cutoff: int | None = None, rel: float = 1.0) -> Array:
    """Count the relevant documents among the first `cutoff` retrieved."""
    return namespace(batch.grades).sum(relevant(batch, rel, cutoff), axis=-1)
