"""How much memory the temporaries of a kernel may take."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real

from ranklens.arrays.setting import Change, Setting

DEFAULT_BYTES = 256 * 2**20
SMALLEST_BYTES = 2**20

_budget: Setting[int] = Setting("ranklens memory budget")


def memory_budget(n_bytes: int) -> Change[int]:
    """Bound the temporaries of every kernel; inputs and results do not count.

    Takes effect at once. In a ``with`` statement the former budget comes back at the end.

    Parameters
    ----------
    n_bytes : int
        At least 1 MiB. The default is 256 MiB.

    Raises
    ------
    ValueError
        When `n_bytes` is smaller.

    Examples
    --------
    >>> from ranklens.arrays import budget_bytes, memory_budget
    >>> with memory_budget(64 * 2**20):
    ...     budget_bytes()
    67108864
    """
    if isinstance(n_bytes, bool) or not isinstance(n_bytes, Real) or n_bytes != n_bytes:
        raise TypeError(f"n_bytes must be a number of bytes, such as 512 * 2**20, got {n_bytes!r}")
    if n_bytes < SMALLEST_BYTES:
        raise ValueError(f"n_bytes must be at least {SMALLEST_BYTES} (1 MiB), got {n_bytes}")
    return _budget.change(int(n_bytes))


def budget_bytes() -> int:
    """Return the number of bytes that a kernel's temporaries may take together."""
    chosen = _budget.get()
    return DEFAULT_BYTES if chosen is None else chosen


def rows_within(bytes_per_row: int, most: int, *, share: float = 1.0, step: int = 1) -> int:
    """Return how many rows fit `share` of the budget: at least `step`, at most `most`, a multiple of `step`.

    `most` itself is returned when it fits, whether or not it is a multiple of `step`.

    Examples
    --------
    >>> from ranklens.arrays import memory_budget
    >>> with memory_budget(2**20):
    ...     rows_within(1000, 5000, step=8), rows_within(1000, 10, step=8)
    (1048, 10)
    """
    fitting = max(1, int(budget_bytes() * share) // max(1, bytes_per_row))
    if fitting >= most:
        return max(1, most)
    return max(step, fitting // step * step)


def cut(span: range, length: int) -> Iterator[range]:
    """Cut a range into consecutive ranges of at most `length`.

    Examples
    --------
    >>> list(cut(range(3, 8), 2))
    [range(3, 5), range(5, 7), range(7, 8)]
    """
    for start in range(span.start, span.stop, length):
        yield range(start, min(start + length, span.stop))
