"""Decimal numbers in a byte buffer, read many at a time and rounded exactly as Python's ``float`` does.

Eight digits become a number in three multiplications on a 64-bit word [1]_. With a mantissa M below 10^19 and
f fraction digits the value is M / 10^f, whose divisor is an exact double up to f = 22 [2]_. Where M needs
more than 53 bits, the quotient is corrected by its remainder (Dekker's exact product); the few results that
still lie too close to a rounding boundary, and every other spelling (exponents, ``inf``), go to ``float``.

.. [1] D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience 51 (2021).
.. [2] W. D. Clinger, "How to read floating point numbers accurately", PLDI 1990.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ranklens.io.text import words_at

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]

_ZEROS = np.uint64(0x3030303030303030)
_DOTS = np.uint64(0x2E2E2E2E2E2E2E2E)
_ONES = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_LAST = np.array([((1 << (8 * n)) - 1) << (64 - 8 * n) for n in range(9)], dtype=np.uint64)
_POWERS = np.array([float(f"1e{k}") for k in range(23)])
_INTEGER_POWERS = np.array([10**k for k in range(20)], dtype=np.uint64)
_MOST_DIGITS = 19
_CARRY = np.uint64(0x7676767676767676)
_ONE = np.uint64(1)
_PAIRS = np.uint64(0x000000FF000000FF)
_SPLITTER = 134217729.0  # 2**27 + 1


def parse_decimals(array: Bytes, start: Ints, stop: Ints) -> tuple[Floats, NDArray[np.intp]]:
    """Read the numbers ``array[start:stop]``.

    Returns
    -------
    values : array of float64
        NaN where the bytes are no number (or say "nan").
    rejected : array of int
        The rows whose bytes are no number.
    """
    first = array[start]
    negative = first == ord("-")
    begin = start + (negative | (first == ord("+")))
    length = stop - begin
    dot = _dot_offset(array, begin, length)
    fraction = np.maximum(length - dot - 1, 0)
    plain = (dot + fraction > 0) & (dot + fraction <= _MOST_DIGITS)
    whole, whole_ok = _digits(array, begin + dot, np.where(plain, dot, 0))
    part, part_ok = _digits(array, stop, np.where(plain, fraction, 0))
    fraction[~plain] = 0
    values = _quotient(whole * _INTEGER_POWERS[fraction] + part, fraction)
    np.negative(values, out=values, where=negative)
    plain &= whole_ok & part_ok
    plain &= ~np.isnan(values)
    return values, _read_singly(array, start, stop, values, np.flatnonzero(~plain))


def parse_decimal(text: bytes) -> float | None:
    """Read one number as ``float`` does, without the underscores and blanks that Python allows."""
    if b"_" in text or text.strip() != text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _read_singly(
    array: Bytes, start: Ints, stop: Ints, values: Floats, rows: NDArray[np.intp]
) -> NDArray[np.intp]:
    rejected = []
    for row in rows.tolist():
        value = parse_decimal(array[start[row] : stop[row]].tobytes())
        if value is None:
            rejected.append(row)
        values[row] = np.nan if value is None else value
    return np.array(rejected, dtype=np.intp)


def _dot_offset(array: Bytes, begin: Ints, length: Ints) -> Ints:
    """Find the first dot of each number, counted from `begin`; `length` where there is none."""
    offset, found = _dot_in_word(array, begin, length)
    rows = np.flatnonzero(~found & (length > 8))
    for j in range(1, 3):
        if not rows.size:
            break
        at, found = _dot_in_word(array, begin[rows] + 8 * j, length[rows] - 8 * j)
        offset[rows] = at + 8 * j
        rows = rows[~found & (length[rows] > 8 * (j + 1))]
    return offset


def _dot_in_word(array: Bytes, begin: Ints, length: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Find the first dot among eight bytes; the offset is `length` where none lies before that."""
    dots = words_at(array, begin) ^ _DOTS
    hit = (dots - _ONES) & ~dots & _HIGH_BITS
    found = hit != 0
    bits_below = np.bitwise_count((hit & (~hit + _ONE)) - _ONE)
    return np.minimum(np.where(found, bits_below >> 3, length), length), found


def _digits(array: Bytes, stop: Ints, count: Ints) -> tuple[Words, NDArray[np.bool_]]:
    """Read the `count` (at most 19) digits that end at `stop`, and tell whether they all are digits."""
    value, ok = _eight_digits(array, stop, np.minimum(count, 8))
    for j in range(1, -(-int(count.max(initial=0)) // 8)):
        rows = np.flatnonzero(count > 8 * j)
        higher, fine = _eight_digits(array, stop[rows] - 8 * j, np.minimum(count[rows] - 8 * j, 8))
        value[rows] += higher * 10 ** (8 * j)
        ok[rows] &= fine
    return value, ok


def _eight_digits(array: Bytes, stop: Ints, count: Ints) -> tuple[Words, NDArray[np.bool_]]:
    keep: Words = _LAST[count]
    word: Words = (words_at(array, stop - 8) & keep) | (~keep & _ZEROS)
    word -= _ZEROS
    ok: NDArray[np.bool_] = ((word + _CARRY) | word) & _HIGH_BITS == 0
    word += (word << np.uint64(3)) + word + (word >> np.uint64(8))
    low, high = word & _PAIRS, (word >> np.uint64(16)) & _PAIRS
    low *= np.uint64(0x000F424000000064)
    high *= np.uint64(0x0000271000000001)
    low += high
    low >>= np.uint64(32)
    return low, ok


def _quotient(mantissa: Words, fraction: Ints) -> Floats:
    """Divide by 10^fraction with one rounding; NaN where the rounding is not certain."""
    divisor = _POWERS[fraction]
    high = mantissa.astype(np.float64)
    values: Floats = high / divisor
    rows = np.flatnonzero(mantissa > 1 << 53)
    if rows.size:
        low = (mantissa[rows] - high[rows].astype(np.uint64)).view(np.int64).astype(np.float64)
        values[rows] = _corrected(high[rows], low, divisor[rows], values[rows])
    return values


def _corrected(high: Floats, low: Floats, divisor: Floats, quotient: Floats) -> Floats:
    product = quotient * divisor
    left, left_rest = _halves(quotient)
    right, right_rest = _halves(divisor)
    error = ((left * right - product) + left * right_rest + left_rest * right) + left_rest * right_rest
    correction = (((high - product) - error) + low) / divisor
    slack = 2.0**-48
    value: Floats = quotient + correction * (1 + slack)
    value[value != quotient + correction * (1 - slack)] = np.nan
    return value


def _halves(value: Floats) -> tuple[Floats, Floats]:
    scaled = value * _SPLITTER
    high = scaled - (scaled - value)
    return high, value - high
