"""Counter-based random words: a word is a pure function of its place, on every backend.

The generator is Philox4x64-10 (Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as
1, 2, 3"), which is also NumPy's. With ``key = SeedSequence(seed).generate_state(2, uint64)``,

    word(i, j, purpose) = element i mod 4096 of the output from counter (0, j, i div 4096, purpose),

where i is the resample and j the column. A word depends on nothing else: neither on the number of resamples
nor on how they are cut into chunks, threads or devices.
"""

from __future__ import annotations

import functools
import operator
import secrets
import threading
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 4096
"""Resamples that share one counter block."""

LANES = 4
"""Words that one counter gives."""
_LAST = 2**64 - 1
Words = NDArray[np.uint64]
Seed = int | np.random.SeedSequence | np.random.Generator | None


class Purpose(IntEnum):
    """What a stream is for; streams of one seed and different purposes are independent."""

    FLIPS = 0
    RESAMPLES = 1
    ORDERS = 2
    COALITIONS = 3
    SHUFFLES = 4
    SYNTHETIC = 5


def seed_of(seed: Seed) -> int:
    """Return the integer that reproduces a call, whatever kind of seed was given.

    Parameters
    ----------
    seed : int, numpy.random.SeedSequence, numpy.random.Generator or None
        A non-negative integer is returned as it is. A sequence gives a 63-bit integer of its own, a generator
        draws one, None takes one from the operating system.

    Raises
    ------
    ValueError
        For a negative integer or any other type.

    Examples
    --------
    >>> seed_of(7)
    7
    """
    if seed is None:
        return secrets.randbits(63)
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(0, 2**63))
    if isinstance(seed, np.random.SeedSequence):
        return int(seed.generate_state(1, np.uint64)[0] >> np.uint64(1))
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if number < 0 or isinstance(seed, (bool, np.bool_)):
        raise ValueError(
            f"seed must be a non-negative integer, a SeedSequence, a Generator or None, got {seed!r}"
        )
    return number


@functools.lru_cache(maxsize=256)
def key_of(seed: int) -> tuple[int, int]:
    """Return the two words of the generator's key."""
    low, high = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    return int(low), int(high)


def words(seed: int, start: int, stop: int, columns: range | int, purpose: Purpose) -> Words:
    """Return the words of resamples `start` to `stop`.

    Parameters
    ----------
    seed : int
        See `seed_of`.
    start, stop : int
        The resamples, ``0 <= start <= stop``.
    columns : range or int
        The columns; an int n stands for ``range(n)``.
    purpose : Purpose
        Which of the seed's independent streams.

    Returns
    -------
    numpy.ndarray of uint64, shape (len(columns), stop - start)
        Element [c, r] is ``word(start + r, columns[c], purpose)``.

    Examples
    --------
    >>> words(0, 0, 3, 1, Purpose.FLIPS)[0, 1] == words(0, 1, 2, 1, Purpose.FLIPS)[0, 0]
    np.True_
    """
    columns = range(columns) if isinstance(columns, int) else columns
    out = np.empty((len(columns), stop - start), dtype=np.uint64)
    for row, column in zip(out, columns, strict=True):
        fill_words(row, seed, start, column, purpose)
    return out


def fill_words(row: Words, seed: int, start: int, column: int, purpose: Purpose) -> None:
    """Fill `row` with the words of one column for the resamples from `start` on."""
    key, stop = key_of(seed), start + row.shape[0]
    position = start
    while position < stop:
        block, first = divmod(position, BLOCK)
        end = min(stop, position - first + BLOCK)
        skipped = first % LANES
        generator = philox_at(key, (first // LANES, column, block, purpose))
        drawn = generator.random_raw(end - position + skipped)
        row[position - start : end - start] = drawn[skipped:] if skipped else drawn
        position = end


def philox_at(key: tuple[int, int], counter: tuple[int, int, int, int]) -> np.random.Philox:
    """Set this thread's generator so that its next four outputs are those of `counter`."""
    generator, state = _own.philox, _own.state
    state["state"] = {"counter": _before(*counter), "key": key}
    generator.state = state
    return generator


def _before(c0: int, c1: int, c2: int, c3: int) -> tuple[int, int, int, int]:
    # NumPy increments the 256-bit counter before it uses it.
    if c0:
        return c0 - 1, c1, c2, c3
    if c1:
        return _LAST, c1 - 1, c2, c3
    if c2:
        return _LAST, _LAST, c2 - 1, c3
    return _LAST, _LAST, _LAST, c3 - 1 if c3 else _LAST


class _OwnGenerator(threading.local):
    """One generator a thread: making one costs 40 times as much as setting its state."""

    def __init__(self) -> None:
        self.philox = np.random.Philox(key=0)
        # Tuples are read faster than arrays.
        self.state: Any = self.philox.state | {"buffer": (0, 0, 0, 0)}


_own = _OwnGenerator()
