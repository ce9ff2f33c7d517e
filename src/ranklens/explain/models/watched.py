"""A model whose scored rows are counted, for a progress bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ranklens.arrays import Backend
from ranklens.explain.models.base import Model

Progress = Callable[[int, int], None]


class Watched(Model):
    """Another model, which it does everything like.

    Parameters
    ----------
    model : Model
    progress : callable
        Called as ``progress(done, total)`` after each call of the model, with the rows that it has scored.
    total : int
        All rows that it will score.
    """

    def __init__(self, model: Model, progress: Progress, total: int) -> None:
        super().__init__(model.names)
        self.kind, self.pure = model.kind, model.pure
        self._model = model
        self._progress = progress
        self._total = total
        self._done = 0

    @property
    def backend(self) -> Backend:
        return self._model.backend

    def backend_for(self, values: Any) -> Backend:
        return self._model.backend_for(values)

    @property
    def dtype(self) -> Any:
        return self._model.dtype

    def predict(self, points: Any) -> Any:
        return self._model.predict(points)

    def ask(self, points: Any) -> Any:
        scores = self._model.ask(points)
        self._count(points.shape[0])
        return scores

    def spare_pairs(self, n: int) -> int:
        return self._model.spare_pairs(n)

    def exact(self, pairs: Any) -> Any:
        found = self._model.exact(pairs)
        if found is not None:
            self._count(len(pairs) * 2**pairs.k)
        return found

    def _count(self, n_rows: int) -> None:
        # A row that is asked again, to see whether the answer is the same, is not among the total.
        self._done = min(self._total, self._done + n_rows)
        self._progress(self._done, self._total)
