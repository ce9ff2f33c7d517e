"""Measures of binary relevance: a document is relevant from grade `rel` on."""

from __future__ import annotations

from ranklens.arrays import namespace
from ranklens.kernels.measures_batch import Array, MeasureBatch, at_least_one, n_relevant, relevant
from ranklens.kernels.measures_sums import paired_sum


def average_precision(batch: MeasureBatch, *, cutoff: int | None = None, rel: float = 1.0) -> Array:
    """Average the precision at each relevant document, one that is not found counting 0."""
    hits = relevant(batch, rel, cutoff)
    return paired_sum(hits * _precisions(batch, hits)) / at_least_one(n_relevant(batch, rel))


def reciprocal_rank(batch: MeasureBatch, *, cutoff: int | None = None, rel: float = 1.0) -> Array:
    """Take one over the rank of the first relevant document, 0 without one."""
    return namespace(batch.ranks).max(relevant(batch, rel, cutoff) / batch.ranks, axis=-1)


def precision(batch: MeasureBatch, *, cutoff: int | None = None, rel: float = 1.0) -> Array:
    """Divide the relevant documents found by the cutoff (without one: by all that were retrieved)."""
    return _n_found(batch, rel, cutoff) / _depth(batch, cutoff)


def recall(batch: MeasureBatch, *, cutoff: int | None = None, rel: float = 1.0) -> Array:
    """Divide the relevant documents found by all relevant ones."""
    return _n_found(batch, rel, cutoff) / at_least_one(n_relevant(batch, rel))


def f1(batch: MeasureBatch, *, cutoff: int | None = None, rel: float = 1.0) -> Array:
    """Take the harmonic mean of precision and recall."""
    return 2.0 * _n_found(batch, rel, cutoff) / at_least_one(_depth(batch, cutoff) + n_relevant(batch, rel))


def success(batch: MeasureBatch, *, cutoff: int | None = None, rel: float = 1.0) -> Array:
    """Tell (1 or 0) whether a relevant document was found."""
    return namespace(batch.grades).max(relevant(batch, rel, cutoff), axis=-1)


def r_precision(batch: MeasureBatch, *, rel: float = 1.0) -> Array:
    """Take the precision at the rank that equals the number of relevant documents."""
    xp = namespace(batch.grades)
    total = n_relevant(batch, rel)
    above = xp.astype(batch.ranks <= total[..., None], batch.grades.dtype)
    return xp.sum(relevant(batch, rel) * above, axis=-1) / at_least_one(total)


def bpref(batch: MeasureBatch, *, rel: float = 1.0) -> Array:
    """Average over relevant documents 1 minus the share of judged non-relevant ones ranked above.

    The share is of the smaller of the two classes, as in trec_eval; a negative grade is in neither.
    """
    xp = namespace(batch.grades)
    total = n_relevant(batch, rel)
    others = xp.sum(xp.astype(_is_nonrelevant(batch.pool, rel), batch.pool.dtype), axis=-1)
    above = xp.cumulative_sum(xp.astype(_is_nonrelevant(batch.grades, rel), batch.grades.dtype), axis=-1)
    share = xp.minimum(above, total[..., None]) / at_least_one(xp.minimum(total, others))[..., None]
    return paired_sum(relevant(batch, rel) * (1.0 - share)) / at_least_one(total)


def interpolated_precision(
    batch: MeasureBatch, *, numerator: int, denominator: int, rel: float = 1.0
) -> Array:
    """Take the best precision at any rank whose recall reaches numerator / denominator.

    The level is a ratio of whole numbers so that reaching it is decided exactly.
    """
    xp = namespace(batch.grades)
    hits = relevant(batch, rel)
    needed = numerator * n_relevant(batch, rel)
    reached = xp.cumulative_sum(hits, axis=-1) * denominator >= needed[..., None]
    return xp.max(xp.where(reached, hits * _precisions(batch, hits), 0.0), axis=-1)


def _precisions(batch: MeasureBatch, hits: Array) -> Array:
    return namespace(hits).cumulative_sum(hits, axis=-1) / batch.ranks


def _n_found(batch: MeasureBatch, rel: float, cutoff: int | None) -> Array:
    return namespace(batch.grades).sum(relevant(batch, rel, cutoff), axis=-1)


def _depth(batch: MeasureBatch, cutoff: int | None) -> Array:
    return at_least_one(batch.n_retrieved) if cutoff is None else batch.n_retrieved * 0.0 + cutoff


def _is_nonrelevant(grades: Array, rel: float) -> Array:
    return (grades >= 0.0) & (grades < rel)
