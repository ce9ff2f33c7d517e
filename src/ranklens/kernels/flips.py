"""Sums of differences under random signs, and how many of them are as extreme as the observed one.

Query q's sign in resample i is bit q mod 64, lowest first, of word (i, q div 64); 1 flips it. A single sample
looks the signed sums of eight queries up by the byte of their bits; a batch multiplies its differences with a
matrix of signs.
"""

from __future__ import annotations

import math
from typing import Any

from ranklens.arrays import device_of, namespace

WORD_BITS = 64
BYTE_BITS = 8
BYTE_VALUES = 2**BYTE_BITS
BYTES = WORD_BITS // BYTE_BITS


def signed_sums(groups: Any) -> Any:
    """Return the sums of each group's members under every choice of signs.

    From shape (groups, k), k a power of two, to (groups, 2^k): entry b subtracts the members whose bit is set
    in b, lowest first, and adds the others. Neighbours are merged until one table is left of each group.
    """
    xp = namespace(groups)
    tables = xp.stack([groups, -groups], axis=-1)
    while tables.shape[1] > 1:
        low, high = tables[:, 0::2, None, :], tables[:, 1::2, :, None]
        tables = xp.reshape(low + high, (tables.shape[0], tables.shape[1] // 2, -1))
    return tables[:, 0, :]


def byte_tables(values: Any) -> Any:
    """Return the signed sums of every eight values in turn, shape (ceil(n / 8), 256)."""
    xp = namespace(values)
    padded = -(-values.shape[0] // BYTE_BITS) * BYTE_BITS
    return signed_sums(xp.reshape(padded_to(values, padded), (-1, BYTE_BITS)))


def padded_to(values: Any, length: int) -> Any:
    """Append zeros along the last axis; they change no sum."""
    xp = namespace(values)
    missing = length - values.shape[-1]
    if missing == 0:
        return values
    shape = (*values.shape[:-1], missing)
    return xp.concat([values, xp.zeros(shape, dtype=values.dtype, device=device_of(values))], axis=-1)


def flipped_sums(values: Any, words: Any) -> Any:
    """Return the sums, shape (m,), of `values` (n,) under the signs of int64 `words` (columns, m)."""
    return table_sums(byte_tables(values), words)


def table_sums(tables: Any, words: Any) -> Any:
    """Return the flipped sums, shape (m,), of `tables` (pieces, 256) by int64 `words` (columns, m)."""
    xp = namespace(tables)
    n_columns = words.shape[0]
    flat = padded_to(xp.reshape(tables, (-1,)), n_columns * BYTES * BYTE_VALUES)
    column = xp.arange(n_columns, dtype=xp.int64, device=device_of(words))[:, None]
    sums = xp.zeros(words.shape[1:], dtype=tables.dtype, device=device_of(words))
    for byte in range(BYTES):
        index = (words >> (BYTE_BITS * byte)) & (BYTE_VALUES - 1)
        index = index + (column * BYTES + byte) * BYTE_VALUES
        looked_up = xp.reshape(xp.take(flat, xp.reshape(index, (-1,))), index.shape)
        sums = sums + xp.sum(looked_up, axis=0)
    return sums


def sign_matrix(words: Any, n: int, dtype: Any) -> Any:
    """Return the signs (m, n) of int64 `words` (columns, m): -1 where a query's bit is set, else 1."""
    xp = namespace(words)
    shifts = xp.arange(WORD_BITS, dtype=xp.int64, device=device_of(words))
    bits = (xp.permute_dims(words, (1, 0))[:, :, None] >> shifts) & 1
    return xp.astype(1 - 2 * xp.reshape(bits, (words.shape[1], -1))[:, :n], dtype)


def is_extreme(sums: Any, observed: Any, band: Any, alternative: str) -> Any:
    """Whether `sums` are at least as extreme as `observed`, up to `band`."""
    xp = namespace(sums)
    if alternative == "greater":
        return sums >= observed - band
    if alternative == "less":
        return sums <= observed + band
    return xp.abs(sums) >= xp.abs(observed) - band


def thresholds(observed: Any, band: Any, alternative: str) -> tuple[Any, Any]:
    """Return where the sum t of the flipped differences makes the flipped sum, observed - 2t, extreme.

    It is so for t up to the first and for t from the second on; shapes are those of `observed`.
    """
    xp = namespace(observed)
    near, everywhere = 0.5 * band + xp.zeros_like(observed), xp.full_like(observed, math.inf)
    if alternative == "greater":
        return near, everywhere
    if alternative == "less":
        return -everywhere, -near
    reach = xp.abs(observed) - band
    return 0.5 * (observed - reach), 0.5 * (observed + reach)


def count_extreme(sums: Any, observed: Any, band: Any, alternative: str) -> Any:
    """Count the extreme sums along the first axis: from (m, ...) to int64 (...)."""
    xp = namespace(sums)
    axis = 0 if sums.ndim > 1 else None
    return xp.count_nonzero(is_extreme(sums, observed, band, alternative), axis=axis)
