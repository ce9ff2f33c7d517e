"""How often each resample draws each query, on NumPy, in buffers that are used again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays.streams import Purpose, Words, fill_words

_HALF = np.array(32, dtype=np.uint64)
_HALF_MASK = np.array(2**32 - 1, dtype=np.uint64)
_MOST_BY_HALVES = 2**16


class DrawnCounts:
    """The numbers of times that resamples draw each of `n` queries.

    Parameters
    ----------
    seed, n : int
    most : int
        The largest number of resamples that a call asks for.
    dtype : numpy dtype
        A floating type.
    """

    def __init__(self, seed: int, n: int, most: int, dtype: Any) -> None:
        self._seed, self._n = seed, n
        self._bound = np.array(n, dtype=np.uint64)
        self._draws = 2 if n <= _MOST_BY_HALVES else 1
        self._columns = -(-n // self._draws)
        self._words = np.empty(self._columns * most, dtype="<u8")
        self._places = np.empty(self._columns * most * self._draws, dtype=np.uint64)
        self._counts = np.empty(most * n, dtype=dtype)

    def __call__(self, resamples: range) -> NDArray[Any]:
        """Return the counts (resamples, n) in a buffer, which the next call overwrites."""
        n, m = self._n, len(resamples)
        words = self._words[: self._columns * m].reshape(self._columns, m)
        for column, row in enumerate(words):
            fill_words(row, self._seed, resamples.start, column, Purpose.RESAMPLES)
        places = self._places[: words.size * self._draws].reshape(self._columns, m, self._draws)
        (self._pick_by_halves if self._draws == 2 else self._pick_by_words)(words, places)
        np.add(places, (np.arange(m, dtype=np.uint64) * self._bound)[:, None], out=places)
        counts = self._counts[: m * n]
        np.copyto(counts, np.bincount(self._drawn(places), minlength=m * n), casting="same_kind")
        return counts.reshape(m, n)

    def _pick_by_halves(self, words: Words, places: Words) -> None:
        # Little-endian words are pairs of halves, the low one first.
        np.multiply(words.view("<u4").reshape(places.shape), self._bound, out=places)
        np.right_shift(places, _HALF, out=places)

    def _pick_by_words(self, words: Words, places: Words) -> None:
        low = places[:, :, 0]
        np.bitwise_and(words, _HALF_MASK, out=low)
        np.multiply(low, self._bound, out=low)
        np.right_shift(low, _HALF, out=low)
        np.right_shift(words, _HALF, out=words)
        np.multiply(words, self._bound, out=words)
        np.add(words, low, out=low)
        np.right_shift(low, _HALF, out=low)

    def _drawn(self, places: Words) -> NDArray[np.int64]:
        """Return the places of all draws in one row; the last word of an odd sample gives one draw only."""
        flat = places.reshape(-1).view(np.int64)
        if self._columns * self._draws == self._n:
            return flat
        before, m = 2 * (self._columns - 1) * places.shape[1], places.shape[1]
        flat[before : before + m] = flat[before::2].copy()
        return flat[: before + m]
