"""What the characteristic function of one row does beyond the nodes of its inversion, where it comes back."""

from __future__ import annotations

import numpy as np

from ranklens.stats.exact.peaks import Peaks
from ranklens.stats.exact.tail import FlipTail


def returning(tail: FlipTail, frequency: float) -> float:
    """Bound what an inversion with nodes up to `frequency`, in units of 1/sd(T), misses near the middle.

    That is what comes back at the steps of a lattice nearby; nothing on a lattice, whose nodes are all taken.
    """
    if tail.lattice:
        return 0.0
    only = np.zeros(1, dtype=np.int64)
    return float(Peaks.of(tail.magnitudes[None], np.array([tail.n]), only, frequency).error()[0])
