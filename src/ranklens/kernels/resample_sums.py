"""The sum of every bootstrap resample."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from ranklens.arrays import Purpose, backend_of, compiled, cut, draw_words, even, namespace, rows_within
from ranklens.arrays.counting import COUNTING, count_draws, count_first_draws
from ranklens.arrays.host_batch import drawn_sums
from ranklens.arrays.host_loops import add_resampled, add_resampled_wide
from ranklens.arrays.parts import by_parts, is_one_processor, part_length
from ranklens.arrays.threads import for_each, n_cores
from ranklens.kernels.resamples import (
    WIDE_FROM,
    drawn_indices,
    n_word_columns,
    picked_sums,
)

_FLOAT_BYTES = 8
_HOST_BLOCK = 4096
_MOST_PARTS = 8
_LEAST_COLUMNS = 256
# Below this many draws starting threads costs more than they save.
_DRAWS_WORTH_THREADS = 4_000_000
# Indices, words and their halves, of two draws a word, beside what each comparison picks.
_INDEX_COPIES = 8
# Words, halves, indices, places and counts of one resample.
_COUNT_COPIES = 7
# On the host and in the program.
_WORD_COPIES = 2
_PART = 512
ROWS_WORTH_COUNTING = 4
"""From so many rows on the draws are counted, and the counts multiplied with all rows."""
_LONG, _LONG_ROWS_WORTH_COUNTING = 128, 12


def resample_sums(values: Any, n: int, *, seed: int, resamples: range) -> Any:
    """Return the sum of n draws with replacement in each of `resamples`.

    Parameters
    ----------
    values : array, shape (n,) or (comparisons, n)
        Zeros may follow the first n; they are never drawn. Every comparison of a batch draws the same
        queries, which are also those of a single one.
    n : int
        The number of differences, and of draws.
    seed : int
        See `ranklens.arrays.words`.
    resamples : range
        Which resamples.

    Returns
    -------
    array, shape (len(resamples),) or (comparisons, len(resamples))
    """
    backend = backend_of(values)
    if backend.name == "numpy" and values.ndim == 1:
        return _on_host(values[:n], seed, resamples)
    if backend.name == "numpy":
        return _rows_on_host(values[:, :n], seed, resamples)
    if worth_counting(values):
        return counted_sums(values, n, seed=seed, resamples=resamples)
    return _on_device(values, n, seed, resamples)


def _on_host(values: Any, seed: int, resamples: range) -> Any:
    xp = backend_of(values).xp
    n = values.shape[0]
    add = add_resampled_wide if n >= WIDE_FROM else add_resampled
    parts = column_parts(n_word_columns(n))
    sums = xp.zeros((len(parts), len(resamples)), dtype=values.dtype, device=None)

    def fill(task: tuple[int, range]) -> None:
        part, block = task
        first = block.start - resamples.start
        add(values, seed, block.start, parts[part], sums[part, first : first + len(block)])

    tasks = [(part, block) for block in cut(resamples, _HOST_BLOCK) for part in range(len(parts))]
    for_each(fill, tasks, n_threads=n_cores() if n * len(resamples) >= _DRAWS_WORTH_THREADS else 1)
    return xp.sum(sums, axis=0)


def _rows_on_host(values: Any, seed: int, resamples: range) -> Any:
    rows, n = values.shape
    if rows < (_LONG_ROWS_WORTH_COUNTING if n >= _LONG else ROWS_WORTH_COUNTING):
        alone = [_on_host(values[row], seed, resamples) for row in range(rows)]
        return backend_of(values).xp.stack(alone)
    return drawn_sums(values, seed, resamples)


def _draws(backend: Any, seed: int, n: int, some: range) -> Any:
    """Return which of `n` differences some resamples draw, shape (n, resamples)."""
    words = draw_words(backend, seed, some.start, some.stop, range(n_word_columns(n)), Purpose.RESAMPLES)
    return drawn_indices(words, n, n >= WIDE_FROM)[:n, :]


def column_parts(n_columns: int) -> list[range]:
    """Cut the columns for the threads, in a way that hangs on nothing but their number.

    What is added to what is then the same for any number of threads and any cut of the resamples.
    """
    return [*cut(range(n_columns), max(_LEAST_COLUMNS, -(-n_columns // _MOST_PARTS)))]


def _on_device(values: Any, n: int, seed: int, resamples: range) -> Any:
    xp = backend_of(values).xp
    rows = values.shape[0] if values.ndim == 2 else 1
    draw_bytes = _FLOAT_BYTES * (_INDEX_COPIES + 3 * rows)
    length = rows_within(draw_bytes * min(values.shape[-1], 64), len(resamples), share=0.5)
    length = even(length, backend_of(values))
    parts = [_block_sums(values, n, seed, block, length * draw_bytes) for block in cut(resamples, length)]
    return xp.concat(parts, axis=-1)


def _block_sums(values: Any, n: int, seed: int, block: range, draw_bytes: int) -> Any:
    backend = backend_of(values)
    wide = n >= WIDE_FROM
    draws_a_word = 1 if wide else 2
    picked = compiled(picked_sums, backend, static=("wide",))
    n_columns = n_word_columns(values.shape[-1])
    parts = []
    for columns in cut(range(n_columns), rows_within(draws_a_word * draw_bytes, n_columns, share=0.5)):
        words = draw_words(backend, seed, block.start, block.stop, columns, Purpose.RESAMPLES)
        parts.append(picked(values, words, n, draws_a_word * columns.start, wide=wide))
    return functools.reduce(operator.add, parts)


def worth_counting(values: Any) -> bool:
    """Whether counts multiplied with all of `values` are faster than picking from each of its rows."""
    return backend_of(values).name in COUNTING and values.ndim == 2 and values.shape[0] >= ROWS_WORTH_COUNTING


def counted_sums(values: Any, n: int, *, seed: int, resamples: range) -> Any:
    """Do `resample_sums` for a batch on a device, shape (comparisons, len(resamples)).

    How often each query was drawn is multiplied with the differences of all comparisons.
    """
    backend = backend_of(values)
    if backend.name == "jax":
        parts = drawn_parts(values, n, seed=seed, resamples=resamples)
        return compiled(_joined, backend, static=("m",))(parts, m=len(resamples))
    xp = backend.xp
    by_query = xp.matrix_transpose(values[:, :n])
    row_bytes = _FLOAT_BYTES * (_COUNT_COPIES * n + values.shape[0])
    blocks = cut(resamples, rows_within(row_bytes, len(resamples), share=0.5))
    sums = [count_draws(backend, _draws(backend, seed, n, block), n) @ by_query for block in blocks]
    return xp.matrix_transpose(xp.concat(sums, axis=0))


def drawn_parts(values: Any, n: int, *, seed: int, resamples: range) -> list[Any]:
    """Do `counted_sums` on JAX, in arrays of shape (parts, comparisons, length).

    One after the other they hold the sums of `resamples`, and of those that fill the last part.
    """
    backend = backend_of(values)
    # A compiled program serves one shape, whatever part of it is drawn.
    columns = range(n_word_columns(values.shape[1]))
    length, together = _parts_of(values, len(columns), len(resamples))
    drawn = compiled(_drawn_parts, backend, static=("wide", "length"))
    parts = []
    for first in range(resamples.start, resamples.stop, together * length):
        words = draw_words(backend, seed, first, first + together * length, columns, Purpose.RESAMPLES)
        parts.append(drawn(words, values, n, wide=n >= WIDE_FROM, length=length))
    return parts


def _parts_of(values: Any, n_columns: int, n_resamples: int) -> tuple[int, int]:
    """Return how many resamples are a part, and for how many parts words are drawn at once."""
    backend = backend_of(values)
    rows, width = values.shape
    most = rows_within(_FLOAT_BYTES * (_COUNT_COPIES * width + rows), n_resamples, share=0.25)
    if not is_one_processor(backend):
        return part_length(n_resamples, most, backend), 1
    length = part_length(n_resamples, min(most, _PART), backend)
    n_parts = -(-n_resamples // length)
    word_bytes = _WORD_COPIES * _FLOAT_BYTES * n_columns * length
    return length, part_length(n_parts, rows_within(word_bytes, n_parts, share=0.25), backend)


def _drawn_parts(words: Any, values: Any, n: Any, wide: bool, length: int) -> Any:
    def sums(part: Any) -> Any:
        indices = drawn_indices(part, n, wide)
        counts = count_first_draws(indices, n, values.shape[1], values.dtype)
        return values @ namespace(counts).matrix_transpose(counts)

    return by_parts(sums, words, length)


def _joined(parts: Sequence[Any], m: int) -> Any:
    xp = namespace(parts[0])
    together = xp.permute_dims(xp.concat(parts, axis=0), (1, 0, 2))
    return xp.reshape(together, (together.shape[0], -1))[:, :m]
