"""How many random sign flips are as extreme as the observed signs; the null distribution is never kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ranklens.arrays import Purpose, backend_of, compiled, cut, draw_words, rows_within
from ranklens.arrays.host_loops import add_table_sums
from ranklens.kernels.flips import (
    BYTE_VALUES,
    BYTES,
    WORD_BITS,
    byte_tables,
    count_extreme,
    sign_matrix,
    table_sums,
)
from ranklens.kernels.ties import Comparable

_FLOAT_BYTES = 8
_TABLE_BYTES = BYTES * BYTE_VALUES * _FLOAT_BYTES
# How many arrays of its size a step holds at once.
_TABLE_COPIES = 3
_LOOKUP_COPIES = 5
_SIGN_COPIES = 4
_SUM_COPIES = 4
_HOST_BLOCK = 12_288
_BATCH_BLOCK = 1024


def flip_counts(sample: Comparable, *, seed: int, resamples: range, alternative: str) -> Any:
    """Count the flips whose sum is at least as extreme as the observed one.

    Parameters
    ----------
    sample : Comparable
        Of one comparison, values of shape (n,), or of a batch, (comparisons, n).
    seed : int
        Every comparison of a batch is flipped by the same signs, which are also those of a single one.
    resamples : range
        Which resamples.
    alternative : {"two-sided", "greater", "less"}
        The side on which a sum is extreme.

    Returns
    -------
    array of integers, shape () or (comparisons,)
        On the device of the values.
    """
    xp = backend_of(sample.values).xp
    observed = xp.sum(sample.values, axis=-1)
    sums_of = _single_sums if sample.values.ndim == 1 else _batch_sums
    count = xp.zeros_like(observed, dtype=xp.int64)
    for sums in sums_of(sample.values, seed, resamples):
        count = count + count_extreme(sums, observed, sample.band, alternative)
    return count


def _single_sums(values: Any, seed: int, resamples: range) -> Iterator[Any]:
    for part in cut(resamples, rows_within(_FLOAT_BYTES * _SUM_COPIES, len(resamples), share=0.25)):
        yield from _sums_by_block(values, seed, part)


def _sums_by_block(values: Any, seed: int, resamples: range) -> list[Any]:
    backend = backend_of(values)
    n_columns = -(-values.shape[0] // WORD_BITS)
    columns_at_once = rows_within(_TABLE_BYTES * _TABLE_COPIES, n_columns, share=0.25)
    blocks = [*cut(resamples, _block_length(backend.name, columns_at_once, len(resamples)))]
    sums = [backend.xp.zeros(len(block), dtype=values.dtype, device=backend.device) for block in blocks]
    for columns in cut(range(n_columns), columns_at_once):
        tables = byte_tables(
            values[WORD_BITS * columns.start : min(WORD_BITS * columns.stop, values.shape[0])]
        )
        for i, block in enumerate(blocks):
            if backend.name == "numpy":
                add_table_sums(tables, seed, block.start, columns.start, sums[i])
            else:
                words = draw_words(backend, seed, block.start, block.stop, columns, Purpose.FLIPS)
                sums[i] = sums[i] + compiled(table_sums, backend)(tables, words)
    return sums


def _block_length(backend_name: str, n_columns: int, n_resamples: int) -> int:
    if backend_name == "numpy":
        return _HOST_BLOCK
    return rows_within(n_columns * _FLOAT_BYTES * _LOOKUP_COPIES, n_resamples, share=0.25)


def _batch_sums(values: Any, seed: int, resamples: range) -> Iterator[Any]:
    backend = backend_of(values)
    n_comparisons, n = values.shape
    columns = range(-(-n // WORD_BITS))
    row_bytes = _FLOAT_BYTES * (_SIGN_COPIES * WORD_BITS * len(columns) + _SUM_COPIES * n_comparisons)
    by_query = backend.xp.matrix_transpose(values)
    for block in cut(resamples, rows_within(row_bytes, min(len(resamples), _BATCH_BLOCK), share=0.5)):
        words = draw_words(backend, seed, block.start, block.stop, columns, Purpose.FLIPS)
        yield sign_matrix(words, n, values.dtype) @ by_query
