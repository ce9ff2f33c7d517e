"""Ask a model for the scores of documents and of shuffled documents, in calls of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, compiled, cut, to_host
from ranklens.explain.asking import require_repeatable
from ranklens.explain.models.base import Model
from ranklens.explain.queries import Stack
from ranklens.kernels.shuffles import moved_points

Array = Any
Indices = NDArray[np.int64]


class Scorer:
    """Scores the documents of a stack, as they are and with features of other documents.

    Parameters
    ----------
    model : Model
    stack : Stack
    backend : Backend
        In whose arrays the model wants its points.
    members : sequence of tuples of int
        The features that each player moves.
    batch_rows : int
        The most rows of one call.

    Attributes
    ----------
    n_rows, n_calls : int
        What the model was asked so far.
    """

    def __init__(
        self,
        model: Model,
        stack: Stack,
        backend: Backend,
        members: Sequence[tuple[int, ...]],
        batch_rows: int,
    ) -> None:
        self.backend = backend
        self.n_rows = 0
        self.n_calls = 0
        self._model = model
        self._members = [list(features) for features in members]
        self._batch_rows = batch_rows
        self._features = stack.on(backend, model.dtype)
        moved = np.zeros((len(members) + 1, self._features.shape[1]), dtype=np.bool_)
        for player, features in enumerate(members):
            moved[player, list(features)] = True
        self._moved = backend.asarray(moved)
        self._first: Array = None
        self._largest: Array = None
        self._again: list[Array] = []

    def originals(self, rows: Indices, n: int) -> Array:
        """Return the scores of the documents `rows`, shape (n,); all others are 0 and not asked for."""
        xp = self.backend.xp
        if not rows.size:
            return xp.zeros(n, dtype=self.backend.float_dtype, device=self.backend.device)
        pieces = [self._features] if rows.size == n else [self._taken(rows)]
        found = [
            self._asked(piece[some.start : some.stop, :], len(some))
            for piece in pieces
            for some in cut(range(piece.shape[0]), self._batch_rows)
        ]
        scores = found[0] if len(found) == 1 else xp.concat(found)
        self._first, self._first_row = scores[:1], rows[:1]
        self._largest = xp.max(xp.abs(scores))
        if rows.size == n:
            return scores
        # Position of each document among those that were asked for; the zero behind them for the others.
        place = np.full(n, rows.size, dtype=np.int64)
        place[rows] = np.arange(rows.size)
        return xp.take(xp.concat([scores, scores[:1] * 0.0]), self.backend.asarray(place), axis=0)

    def moved(self, rows: Indices, sources: Indices, owners: Indices) -> Array:
        """Return the scores of the documents `rows`, given the features of player `owners` from `sources`.

        More scores may follow, which are of no use.
        """
        xp = self.backend.xp
        # The first document once more, to see whether the model repeats itself.
        rows, sources = (np.append(column, self._first_row) for column in (rows, sources))
        owners = np.append(owners, len(self._members))
        found = []
        for some in cut(range(rows.size), self._batch_rows):
            part = slice(some.start, some.stop)
            found.append(self._scored(rows[part], sources[part], owners[part]))
        scores = found[0] if len(found) == 1 else xp.concat(found)
        self._again.append(xp.take(scores, self.backend.asarray(np.asarray([rows.size - 1])), axis=0))
        return scores

    def again(self) -> None:
        """Score the first document once more, by itself."""
        none = np.empty(0, dtype=np.int64)
        self.moved(none, none, none)

    def close(self) -> None:
        """Raise a `ModelError` when the model scored the same document differently later on."""
        if not self._again:
            return
        again = self.backend.xp.concat(self._again)
        first, later, largest = to_host(self._first, again, self._largest)
        require_repeatable(self._model, np.broadcast_to(first, later.shape), later, largest)

    def _scored(self, rows: Indices, sources: Indices, owners: Indices) -> Array:
        n = rows.size
        if self.backend.name == "numpy":
            return self._asked(self._host_points(rows, sources, owners), n)
        if self.backend.name == "jax":
            # Compiled once for each power of two.
            more = min(1 << (n - 1).bit_length(), max(n, self._batch_rows)) - n
            rows, sources, owners = (
                np.pad(column, (0, more), mode="edge") for column in (rows, sources, owners)
            )
        to_device = self.backend.asarray
        make = compiled(moved_points, self.backend)
        return self._asked(
            make(self._features, to_device(rows), to_device(sources), self._moved, to_device(owners)), n
        )

    def _host_points(self, rows: Indices, sources: Indices, owners: Indices) -> NDArray[Any]:
        points: NDArray[Any] = self._features[rows]
        edges = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), rows.size]
        for start, stop in pairwise(edges):
            features = self._members[owners[start]] if owners[start] < len(self._members) else []
            for feature in features:
                points[start:stop, feature] = self._features[sources[start:stop], feature]
        return points

    def _asked(self, points: Array, n: int) -> Array:
        scores = self._model.checked_scores(points)
        self.n_rows += n
        self.n_calls += 1
        return self.backend.xp.astype(scores, self.backend.float_dtype)

    def _taken(self, rows: Indices) -> Array:
        return self.backend.xp.take(self._features, self.backend.asarray(rows), axis=0)
