"""Codes on the host: all features beside their first threshold at once, then those that have a second, ...

That takes a few calls a threshold, and not a few calls a feature, of which there are many more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklens.explain.trees.reading import Reading
from ranklens.kernels.tree_codes import ZERO_WIDTH, category_codes, number_codes

if TYPE_CHECKING:
    from ranklens.explain.trees.codes import FeatureCodes

NAN_CODE = 0
ZERO_CODE = 1

COUNTED = 40
"""Most thresholds of a feature that are counted rather than searched."""

_ROWS_AT_ONCE = 512
"""So many values of all features stay in the cache."""

Codes = NDArray[Any]


@dataclass(frozen=True)
class Numbering:
    """The tables of the coded features.

    Attributes
    ----------
    counted : int64 array, shape (counted,)
        Places of the features with few thresholds, those with most of them first.
    columns : int64 array, shape (counted,)
    thresholds : tuple of float64 arrays, each of shape (features that have so many, 1)
    n_special : int array, shape (counted, 1)
    zero : bool array, shape (counted, 1)
    others : tuple of (place, feature)
        Features with many thresholds, and those with categories.
    dtype : type
        Of the codes.
    """

    counted: NDArray[np.int64]
    columns: NDArray[np.int64]
    thresholds: tuple[NDArray[np.float64], ...]
    n_special: Codes
    zero: NDArray[np.bool_]
    others: tuple[tuple[int, FeatureCodes], ...]
    dtype: Any

    @classmethod
    def of(cls, features: Sequence[FeatureCodes], dtype: Any) -> Numbering:
        """Lay out the tables."""
        searched = [f.categories.size > 0 or f.thresholds.size > COUNTED for f in features]
        places = [place for place, other in enumerate(searched) if not other]
        places.sort(key=lambda place: -features[place].thresholds.size)
        few = [features[place] for place in places]
        most = few[0].thresholds.size if few else 0
        return cls(
            counted=np.asarray(places, dtype=np.int64),
            columns=np.asarray([feature.column for feature in few], dtype=np.int64),
            thresholds=tuple(
                np.asarray([f.thresholds[i] for f in few if f.thresholds.size > i])[:, None]
                for i in range(most)
            ),
            n_special=np.asarray([feature.n_special for feature in few], dtype=dtype)[:, None],
            zero=np.asarray([feature.zero for feature in few], dtype=np.bool_)[:, None],
            others=tuple((place, features[place]) for place, other in enumerate(searched) if other),
            dtype=dtype,
        )

    def codes(self, points: NDArray[Any], reading: Reading) -> Codes:
        """Return the codes of `points` (m, columns), shape (features, m); see `Coding.on_host`."""
        m = points.shape[0]
        found = np.empty((self.counted.size + len(self.others), m), dtype=self.dtype)
        for start in range(0, m if self.counted.size else 0, _ROWS_AT_ONCE):
            some = points[start : start + _ROWS_AT_ONCE]
            values = reading.on_host(np.ascontiguousarray(some[:, self.columns].T))
            found[self.counted, start : start + _ROWS_AT_ONCE] = self._counts(values)
        for place, feature in self.others:
            values = reading.on_host(points[:, feature.column])
            if feature.categories.size:
                found[place] = category_codes(values, feature.categories, downwards=reading.downwards)
            else:
                found[place] = number_codes(values, feature.thresholds, feature.zero)
        return found

    def _counts(self, values: NDArray[np.float64]) -> Codes:
        counts = np.broadcast_to(self.n_special, values.shape).copy()
        above = np.empty(values.shape, dtype=np.bool_)
        for marks in self.thresholds:
            n = marks.shape[0]
            np.greater(values[:n], marks, out=above[:n])
            counts[:n] += above[:n].view(np.uint8)
        if self.zero.any():
            counts[self.zero & (np.abs(values) <= ZERO_WIDTH)] = ZERO_CODE
        nan = np.isnan(values)
        if nan.any():
            counts[nan] = NAN_CODE
        return counts
