"""At which levels of its law each sample's interval ends."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.interval_levels import bca_tails, bias_of, expanded_tail

Floats = NDArray[np.float64]

REACH = 9.0
"""How many standard errors a grid spans to either side of the mean."""

_FINEST = round(1.0 / sys.float_info.epsilon)


class Levels(NamedTuple):
    """A kind of interval, `tail` beyond each end of it where nothing is corrected."""

    kind: str
    tail: float

    @classmethod
    def of(cls, kind: str, tail: float, n: int) -> Levels:
        """Return those of samples of `n`."""
        return cls(kind, expanded_tail(tail, n) if kind == "expanded" else tail)

    def tails(self, values: Floats, share_at_mean: Callable[[], Floats]) -> tuple[Floats, Floats]:
        """Return the shares below the lower and above the upper end, shape (rows,), of samples (rows, n).

        `share_at_mean` gives the share of resampled means below that of each sample, and half of those equal.
        """
        if self.kind != "bca":
            even = np.full(len(values), self.tail)
            return even, even
        pairs = zip(share_at_mean().tolist(), accelerations(values).tolist(), strict=True)
        tails = [bca_tails(self.tail, bias_of(share, _FINEST), pull) for share, pull in pairs]
        below, above = np.array(tails, dtype=np.float64).reshape(-1, 2).T
        return below, above


def accelerations(values: Floats) -> Floats:
    """Return the jackknife acceleration of the mean of samples (rows, n): their skewness over 6 √n.

    Without one value the mean moves by its distance from the mean over n - 1, so the jackknife needs no loop
    (Efron 1987, section 7).

    Examples
    --------
    >>> accelerations(np.array([[0.0, 0.0, 3.0]])).round(6).tolist()
    [0.068041]
    """
    centred, spread = centred_rows(values)
    return cubes(centred / (spread * math.sqrt(values.shape[1]))[:, None]) / 6.0


def cubes(values: Floats) -> Floats:
    """Return the sums of the cubes of samples (rows, n), shape (rows,)."""
    return np.asarray(np.sum(values * values * values, axis=1))


def centred_rows(values: Floats) -> tuple[Floats, Floats]:
    """Return samples (rows, n) less their means, and their standard deviations (ddof 0), shape (rows,)."""
    centred = values - np.mean(values, axis=1, keepdims=True)
    return centred, np.sqrt(np.mean(centred * centred, axis=1))
