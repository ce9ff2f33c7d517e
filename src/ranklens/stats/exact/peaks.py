"""Where the characteristic function of T comes back, as it does for differences on or near a lattice."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut, rows_within
from ranklens.kernels.exact_folds import folded_sum
from ranklens.stats.exact.steps import commensurable_multiples

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_SCALES = np.array(
    [scale * 2.0**-k for scale in (1e1, 1e2, 1e3, 1e4, 2520.0) for k in range(9, 14)]
    + [2.0**-k for k in range(10)]
)
"""Steps per unit with the largest difference in [512, 1024): those that scores have, up to a power of two."""

_GLANCES, _GROWTH = ((320, 64), (64, 40), (0, 16)), 4
"""From which width on how many values are looked at first: in long rows little but a lattice passes."""

_FADED, _FADED_OF_LONG = -7.0, -18.0
_MEAN, _SPREAD = 2.0 * math.log(2.0) - 2.0, 3.0
"""Of the logarithm of a modulus, a value's part at a step that has nothing to do with it, and four times the
square root of the variance of that."""

_STRAYING, _SURE, _BELIEVED = (3e-8, 3e-6), 0.1, 0.7
"""How far from multiples of any step the differences may lie in parts of the largest, over 32; see
`commensurable_multiples`."""

_FEW_RATIOS = 24

_TINY = 1e-300
_COPIES, _FLOAT_BYTES, _MOST_ROWS = 4, 8, 256


class Peaks(NamedTuple):
    """How each row's characteristic function comes back; shapes (rows,).

    `steps` are the widest of the lattices nearby, in standard deviations of T, and `log_height` is the
    logarithm of the largest modulus where it comes back at frequencies that matter, minus infinity where it
    does not at the steps that are tried. Only the last return tells sums apart from their neighbours, so that
    those before are of no use.
    """

    steps: Floats
    log_height: Floats

    @classmethod
    def of(cls, magnitudes: Counts, n: Counts, chosen: Counts, beyond: float) -> Peaks:
        """Look at a few differences of some rows, and at more of them where these seem to share a step.

        Parameters
        ----------
        magnitudes : numpy.ndarray of int64, shape (rows, width)
            Ascending; zeros before the `n` of each row.
        n : numpy.ndarray of int64, shape (rows,)
        chosen : numpy.ndarray of int64, shape (k,)
            The rows that are asked for.
        beyond : float
            Frequencies up to this, in units of the inverse standard deviation of T, do not matter.
        """
        count = len(chosen)
        found = cls(np.zeros(count), np.full(count, -math.inf))
        glance = next(most for width, most in _GLANCES if magnitudes.shape[1] >= width)
        row_bytes = _COPIES * _FLOAT_BYTES * glance * len(_SCALES)
        for part in cut(range(count), rows_within(row_bytes, min(max(count, 1), _MOST_ROWS), share=0.125)):
            some = chosen[part.start : part.stop]
            found._look(part.start, magnitudes, n, some, beyond, glance)
            found._look_for_any(part.start, magnitudes, some, beyond)
        return found

    def error(self) -> Floats:
        """Bound what the returns change about a tail that is inverted without them, near the middle."""
        return np.asarray(self.steps * np.exp(self.log_height))

    def _look(
        self, start: int, magnitudes: Counts, n: Counts, chosen: Counts, beyond: float, glance: int
    ) -> None:
        # With the largest in [512, 1024).
        units = np.ldexp(1.0, 10 - np.frexp(magnitudes[chosen, -1].astype(np.float64))[1])
        turns = np.multiply.outer(_SCALES, _spread_over(magnitudes, n, chosen, glance) * units[:, None])
        turns -= np.rint(turns)
        turns *= turns
        # cos(πx) is near 1 - 4x² up to 1/2.
        faded = _faded(n[chosen])
        scale, place = np.nonzero(np.multiply.reduce(1.0 - 4.0 * turns, axis=-1) >= np.exp(faded))
        most = glance
        while place.size:
            most *= _GROWTH
            values = _spread_over(magnitudes, n, chosen[place], most) * units[place, None]
            logs = _log_moduli(values, _SCALES[scale])
            kept = logs >= faded[place]
            done = kept & (n[chosen[place]] <= most)
            spread = np.sqrt(folded_sum(np.ascontiguousarray((values[done] ** 2).T)))
            widths = _common_multiples(values[done], _SCALES[scale[done]]) / _SCALES[scale[done]]
            self._put(start + place[done], widths / spread, logs[done], beyond)
            place, scale = place[kept & ~done], scale[kept & ~done]

    def _look_for_any(self, start: int, magnitudes: Counts, chosen: Counts, beyond: float) -> None:
        """Look for a step from which they hardly stray, of whatever size: ratios of the differences tell."""
        few = magnitudes[chosen, :: -max(1, magnitudes.shape[1] // _FEW_RATIOS)].astype(np.float64)
        for straying in _STRAYING:
            near, _ = commensurable_multiples(few, straying, sure=_SURE, believed=_BELIEVED)
            if near.any():
                places = np.flatnonzero(near)
                values = magnitudes[chosen[places], ::-1].astype(np.float64)
                found, multiples = commensurable_multiples(values, straying, sure=_SURE, believed=_BELIEVED)
                self._put_worse(start + places[found], values[found], multiples[found], beyond)

    def _put_worse(self, places: Counts, values: Floats, multiples: Counts, beyond: float) -> None:
        """Put what rows do at steps of which they are nearly multiples, where it changes more than is known.

        A finer step together with what is left of the modulus at a wider one would allow for too much.
        """
        own = (multiples // np.gcd.reduce(multiples, axis=1)[:, None]).astype(np.float64)
        squares = folded_sum(np.ascontiguousarray((own * own).T))
        logs = _log_moduli(values, squares / folded_sum(np.ascontiguousarray((own * values).T)))
        steps = 1.0 / np.sqrt(squares)
        worse = (math.pi / steps > beyond) & (steps * np.exp(logs) > self.error()[places])
        self.steps[places[worse]], self.log_height[places[worse]] = steps[worse], logs[worse]

    def _put(self, places: Counts, steps: Floats, logs: Floats, beyond: float) -> None:
        np.maximum.at(self.steps, places, steps)
        late = math.pi / steps > beyond
        np.maximum.at(self.log_height, places[late], logs[late])


def _faded(n: Counts) -> Floats:
    """Return the logarithm of a modulus below which a return is no more than chance makes of `n` values."""
    by_chance = _MEAN * n + _SPREAD * np.sqrt(n)
    return np.asarray(np.clip(by_chance, _FADED_OF_LONG, _FADED))


def _spread_over(magnitudes: Counts, n: Counts, rows: Counts, most: int) -> Floats:
    """Return up to `most` values of some rows, evenly among them, and zeros where there are fewer."""
    width = magnitudes.shape[1]
    if most >= width:
        return magnitudes[rows, ::-1].astype(np.float64)
    taken = np.arange(most)
    few = np.minimum(n[rows], most)[:, None]
    places = width - 1 - taken * (n[rows, None] - 1) // np.maximum(few - 1, 1)
    found = magnitudes[rows[:, None], np.maximum(places, 0)]
    return np.where(taken < few, found, 0).astype(np.float64)


def _common_multiples(values: Floats, scales: Floats) -> Floats:
    """Return how many of the steps that were tried make up the widest of which all are multiples."""
    multiples = np.rint(values * scales[:, None]).astype(np.int64)
    return np.asarray(np.maximum(np.gcd.reduce(multiples, axis=1), 1), dtype=np.float64)


def _log_moduli(values: Floats, scales: Floats) -> Floats:
    turns = values * scales[:, None]
    turns -= np.rint(turns)
    logs = np.log(np.maximum(1.0 - 4.0 * turns * turns, _TINY))
    return np.asarray(folded_sum(np.ascontiguousarray(logs.T)))
