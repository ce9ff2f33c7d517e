"""Measures of graded relevance and of a user who may stop: nDCG, ERR, RBP and its residual."""

from __future__ import annotations

from ranklens.arrays import namespace
from ranklens.kernels.measures_batch import Array, MeasureBatch, relevant, within
from ranklens.kernels.measures_sums import at_ranks, paired_sum, powers, running_product


def ndcg(batch: MeasureBatch, *, cutoff: int | None = None, gain: str = "linear") -> Array:
    """Divide the discounted gain by that of all judged documents in their best order."""
    xp = namespace(batch.grades)
    found = _gain(batch.gains(), gain) / at_ranks(batch.ranks, batch.logs)
    width = batch.pool.shape[-1]
    best = _gain(xp.maximum(batch.pool, 0.0), gain) / batch.logs[:width]
    if cutoff is not None:
        found = xp.where(batch.ranks <= cutoff, found, 0.0)
        best = xp.where(batch.positions[:width] <= cutoff, best, 0.0)
    ideal = paired_sum(best)
    return paired_sum(found) / xp.where(ideal > 0.0, ideal, 1.0)


def err(batch: MeasureBatch, *, cutoff: int | None = None, max_rel: float | None = None) -> Array:
    """Expect the reciprocal rank at which a user stops, who stops at grade g with (2^g - 1) / 2^max_rel."""
    xp = namespace(batch.grades)
    scale = batch.max_grade if max_rel is None else max_rel
    # 2^(g - scale) - 2^-scale cannot overflow, and is 0 for g = 0.
    stops = 2.0 ** (xp.minimum(xp.maximum(batch.grades, 0.0), scale) - scale) - 2.0**-scale
    goes_on = running_product(1.0 - stops)
    arrives = xp.concat([goes_on[..., :1] * 0.0 + 1.0, goes_on[..., :-1]], axis=-1)
    terms = xp.where(within(batch.ranks, cutoff), stops * arrives / batch.ranks, 0.0)
    return paired_sum(terms)


def rbp(
    batch: MeasureBatch,
    *,
    cutoff: int | None = None,
    p: float = 0.8,
    rel: float = 1.0,
    max_rel: float | None = None,
) -> Array:
    """Weigh gains by 1 - p times p to the number of ranks above."""
    xp = namespace(batch.grades)
    graded = max_rel is not None
    gains = xp.minimum(xp.maximum(batch.grades, 0.0), max_rel) / max_rel if graded else relevant(batch, rel)
    return xp.minimum(_persistent(batch, gains, cutoff, p), 1.0)


def rbp_residual(batch: MeasureBatch, *, cutoff: int | None = None, p: float = 0.8) -> Array:
    """Weigh all that RBP has not seen: unjudged documents, and every rank below the cutoff or the list."""
    xp = namespace(batch.grades)
    judged = xp.astype(within(batch.ranks, None), batch.grades.dtype)
    return xp.maximum(1.0 - _persistent(batch, judged, cutoff, p), 0.0)


def _persistent(batch: MeasureBatch, gains: Array, cutoff: int | None, p: float) -> Array:
    weights = at_ranks(batch.ranks, powers(p, batch.positions))
    seen = namespace(gains).where(within(batch.ranks, cutoff), gains * weights, 0.0)
    return (1.0 - p) * paired_sum(seen)


def _gain(grades: Array, gain: str) -> Array:
    return 2.0**grades - 1.0 if gain == "exp" else grades
