"""Philox4x64-10 from array operations: the words of `streams`, made on the device.

Products of 64 x 64 bits are put together from 32-bit limbs in wrapping int64 arithmetic, since int64 is the
one wide integer with which every library computes. A right shift of int64 keeps the sign, so it is masked.
"""

from __future__ import annotations

from typing import Any

from ranklens.arrays.backend import Backend
from ranklens.arrays.compile import compiled
from ranklens.arrays.mesh import spread
from ranklens.arrays.streams import BLOCK, LANES, Purpose, key_of

ROUNDS = 10
_LOW = 0xFFFFFFFF
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def device_words(backend: Backend, seed: int, start: int, stop: int, columns: range, purpose: Purpose) -> Any:
    """Return `streams.words` as an int64 array (the same bits) made on the backend's device."""
    xp, device = backend.xp, backend.device
    first, last = start // LANES, -(-stop // LANES)
    counts = spread(xp.arange(first, last, dtype=xp.int64, device=device), backend, axis=0)
    column = xp.arange(columns.start, columns.stop, columns.step, dtype=xp.int64, device=device)
    keys = xp.asarray(round_keys(seed), dtype=xp.int64, device=device)
    lanes = compiled(philox, backend)(
        counts % (BLOCK // LANES),
        column[:, None],
        counts // (BLOCK // LANES),
        counts * 0 + int(purpose),
        keys,
    )
    drawn = xp.reshape(xp.stack(lanes, axis=-1), (len(columns), (last - first) * LANES))
    return drawn[:, start - first * LANES : stop - first * LANES]


def round_keys(seed: int) -> list[list[int]]:
    """Return the keys of the ten rounds, as signed 64-bit integers."""
    return [
        [_signed(word + step * weyl) for word, weyl in zip(key_of(seed), _WEYL, strict=True)]
        for step in range(ROUNDS)
    ]


def philox(c0: Any, c1: Any, c2: Any, c3: Any, keys: Any) -> tuple[Any, Any, Any, Any]:
    """Return the four output words of counter (c0, c1, c2, c3); `keys` has shape (10, 2)."""
    for step in range(ROUNDS):
        high0, low0 = _product(c0, _MULTIPLIERS[0])
        high1, low1 = _product(c2, _MULTIPLIERS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ keys[step, 0], low1, high0 ^ c3 ^ keys[step, 1], low0
    return c0, c1, c2, c3


def _product(x: Any, multiplier: int) -> tuple[Any, Any]:
    """Return the high and the low 64 bits of `x` times a constant, both unsigned in int64 clothing."""
    high, low = multiplier >> 32, multiplier & _LOW
    x_high, x_low = _upper(x), x & _LOW
    cross, cross2 = x_low * high, x_high * low
    middle = _upper(x_low * low) + (cross & _LOW) + (cross2 & _LOW)
    return x_high * high + _upper(cross) + _upper(cross2) + (middle >> 32), x * _signed(multiplier)


def _upper(x: Any) -> Any:
    return (x >> 32) & _LOW


def _signed(word: int) -> int:
    word %= 2**64
    return word - 2**64 if word >= 2**63 else word
