"""Step-down max-T of totals: one correction that knows how rows depend on each other, under any design."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.maxt import max_t_values
from ranklens.stats.options import Options
from ranklens.stats.rows.batch import Batch
from ranklens.stats.rows.design_flips import shifted_totals
from ranklens.stats.rows.jobs import Job, together
from ranklens.stats.units import Units

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def designed_max_t(batch: Batch, units: Units | None, options: Options) -> Floats:
    """Return the adjusted p-values of `max_t_job`, at once."""
    (found,) = together([max_t_job(batch, None, units, options)])
    return np.asarray(found)


def max_t_job(batch: Batch, rows: Counts | None, units: Units | None, options: Options) -> Job[Floats]:
    """Return the adjusted p-values of `max_t_values` where units are flipped, of all rows or of some.

    With a margin the differences are shifted by it. Equivalence asks two questions of each row: the questions
    of all rows are one family, and the larger of a row's two adjusted p-values counts.
    """
    if rows is not None:
        batch = batch.take(rows)
    hypotheses = options.design.hypotheses(options.alternative)
    xp = batch.backend.xp
    # Two sides need one: what lies below a margin is above it with the sign turned.
    turned = [
        -values if len(hypotheses) > 1 and side == "less" else values
        for values, (_, side) in zip(shifted_totals(batch, units, options), hypotheses, strict=True)
    ]
    side = hypotheses[0].alternative
    totals = Batch(xp.concat(turned, axis=0), None, batch.backend, batch.eps)
    found = yield from max_t_values(totals, dataclasses.replace(options, alternative=side))
    return np.asarray(found.reshape(len(hypotheses), -1).max(axis=0))
