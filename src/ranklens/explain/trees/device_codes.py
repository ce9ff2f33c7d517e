"""Codes on a device, as int32: of values that lie there, or made on the host and shipped."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklens.arrays import Backend, compiled
from ranklens.explain.trees.codes import Coding
from ranklens.kernels.tree_codes import ThresholdArrays, category_codes, threshold_codes

Array = Any

_THRESHOLD_BYTES = 12
_FEATURE_BYTES = 64


class DeviceCoding:
    """The tables of a coding on a device."""

    def __init__(self, coding: Coding, backend: Backend) -> None:
        self._coding = coding
        self._backend = backend
        features = coding.features
        sizes = np.asarray([feature.thresholds.size for feature in features], dtype=np.int64)
        ends = np.cumsum(sizes)
        thresholds = np.concatenate([feature.thresholds for feature in features] or [np.empty(0)])
        self.bytes_per_row = int(_THRESHOLD_BYTES * thresholds.size + _FEATURE_BYTES * sizes.size)
        tables = ThresholdArrays(
            thresholds=thresholds,
            owner=np.repeat(np.arange(sizes.size), sizes).astype(np.int32),
            first=(ends - sizes).astype(np.int32),
            last=ends.astype(np.int32),
            n_special=coding.n_special.astype(np.int32)[:, None],
            zero=np.asarray([feature.zero for feature in features], dtype=np.bool_)[:, None],
        )
        self._tables = ThresholdArrays(*map(backend.asarray, tables))
        self._columns = backend.asarray(np.asarray([f.column for f in features], dtype=np.int64))
        self._categories = {
            place: backend.asarray(feature.categories)
            for place, feature in enumerate(features)
            if feature.categories.size
        }

    def codes(self, points: Array, n: int) -> Array:
        """Return the codes of `points` (m, columns), shape (features, n); what is beyond m has no meaning."""
        m = points.shape[0]
        if isinstance(points, np.ndarray):
            found = np.pad(self._coding.on_host(points).astype(np.int32), ((0, 0), (0, n - m)))
            return self._backend.asarray(found)
        xp = self._backend.xp
        if m < n:
            points = xp.take(points, self._backend.asarray(np.arange(n) % m), axis=0)
        values = xp.permute_dims(xp.take(points, self._columns, axis=1), (1, 0))
        values = self._coding.reading.on_device(values, xp)
        codes = compiled(threshold_codes, self._backend)(values, self._tables)
        if not self._categories:
            return codes
        rows = [codes[place, :] for place in range(codes.shape[0])]
        number = compiled(category_codes, self._backend, static=("downwards",))
        downwards = self._coding.reading.downwards
        for place, categories in self._categories.items():
            rows[place] = xp.astype(number(values[place, :], categories, downwards=downwards), xp.int32)
        return xp.stack(rows)
