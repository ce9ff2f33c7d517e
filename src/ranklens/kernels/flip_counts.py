"""How many random sign flips are as extreme as the observed signs; the null distribution is never kept."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any

from ranklens.arrays import (
    Purpose,
    backend_of,
    compiled,
    cut,
    draw_words,
    even,
    n_devices,
    namespace,
    rows_within,
)
from ranklens.arrays.host_batch import flip_words
from ranklens.arrays.host_flips import flipped_sums_of_one
from ranklens.arrays.host_outside import count_outside
from ranklens.arrays.parts import part_length
from ranklens.kernels.flips import (
    BYTE_VALUES,
    BYTES,
    WORD_BITS,
    count_extreme,
    flipped_sums,
    sign_matrix,
    thresholds,
)
from ranklens.kernels.ties import Comparable

_FLOAT_BYTES = 8
_TABLE_BYTES = BYTES * BYTE_VALUES * _FLOAT_BYTES
# How many arrays of its size a step holds at once.
_TABLE_COPIES = 3
_LOOKUP_COPIES = 5
_SIGN_COPIES = 4
_SUM_COPIES = 4
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
    backend = backend_of(sample.values)
    observed = backend.xp.sum(sample.values, axis=-1)
    if sample.values.ndim == 2 and backend.name == "numpy":
        beyond = thresholds(observed, sample.band, alternative)
        return count_outside(sample.values, *beyond, flip_words(seed, sample.values.shape[1]), resamples)
    if sample.values.ndim == 2:
        return _batch_counts(sample, observed, seed, resamples, alternative)
    if backend.name == "numpy":
        parts = flipped_sums_of_one(sample.values, seed, resamples)
    else:
        parts = _device_sums(sample.values, seed, resamples)
    counted = compiled(count_extreme, backend, static=("alternative",))
    counts = [counted(sums, observed, sample.band, alternative=alternative) for sums in parts]
    return functools.reduce(operator.add, counts)


def _device_sums(values: Any, seed: int, resamples: range) -> Iterator[Any]:
    backend = backend_of(values)
    chunks = [*_column_chunks(values.shape[0])]
    row_bytes = len(chunks[0]) * _FLOAT_BYTES * _LOOKUP_COPIES
    flipped = compiled(flipped_sums, backend)
    length = even(rows_within(row_bytes, len(resamples), share=0.25), backend)
    for block in cut(resamples, length):
        parts = []
        for columns in chunks:
            words = draw_words(backend, seed, block.start, block.stop, columns, Purpose.FLIPS)
            parts.append(flipped(_of_columns(values, columns), words))
        yield functools.reduce(operator.add, parts)


def _column_chunks(n: int) -> Iterator[range]:
    n_columns = -(-n // WORD_BITS)
    return cut(range(n_columns), rows_within(_TABLE_BYTES * _TABLE_COPIES, n_columns, share=0.25))


def _of_columns(values: Any, columns: range) -> Any:
    return values[WORD_BITS * columns.start : min(WORD_BITS * columns.stop, values.shape[0])]


def _batch_counts(sample: Comparable, observed: Any, seed: int, resamples: range, alternative: str) -> Any:
    values = sample.values
    backend = backend_of(values)
    n_comparisons, n = values.shape
    columns = range(-(-n // WORD_BITS))
    row_bytes = _FLOAT_BYTES * (_SIGN_COPIES * WORD_BITS * len(columns) + _SUM_COPIES * n_comparisons)
    most = rows_within(row_bytes, min(len(resamples), _BATCH_BLOCK * n_devices(backend)), share=0.5)
    counted = compiled(_extreme_flips, backend, static=("alternative",))
    counts = []
    length = min(len(resamples), part_length(len(resamples), most, backend))
    for block in cut(resamples, even(length, backend)):
        words = draw_words(backend, seed, block.start, block.stop, columns, Purpose.FLIPS)
        counts.append(counted(words, values, observed, sample.band, alternative=alternative))
    return functools.reduce(operator.add, counts)


def _extreme_flips(words: Any, values: Any, observed: Any, band: Any, alternative: str) -> Any:
    signs = sign_matrix(words, values.shape[1], values.dtype)
    sums = signs @ namespace(values).matrix_transpose(values)
    return count_extreme(sums, observed, band, alternative)
