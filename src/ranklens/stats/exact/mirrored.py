"""Counting pairs of signed sums, of which one half is its own mirror image and is listed only once."""

from __future__ import annotations

import numpy as np

from ranklens.arrays import cut
from ranklens.stats.exact.signed import Counts

_AT_ONCE = 1 << 16
"""Keys that stay in a cache while they are counted."""

_SUM, _ABOVE, _BELOW = 2, 1, 3
"""The last two bits of a key, in the order in which equal ones are to stand."""


def mirrored_counts(magnitudes: Counts, limits: Counts) -> Counts:
    """Count the subsets of each row of magnitudes that sum to at most its limit.

    With a threshold s = Σ - 2 · limit these are the signs with Y + B ≥ s, where Y and B are the signed sums
    of either half. With every y comes -y, so that only their absolute values are listed, from one sign of the
    first magnitude. For a b with t = s - b above zero those count that are at least t; for another, all but
    those that are above -t. One sort of the |y| and |t| tells how many.

    Parameters
    ----------
    magnitudes : numpy.ndarray of int64, shape (rows, n)
        Positive and ascending, with a sum below 2^61 in each row; n is at least 1.
    limits : numpy.ndarray of int64, shape (rows,)
        At most the sum of the magnitudes; none of the subsets is below a negative one.

    Returns
    -------
    numpy.ndarray of int64, shape (rows,)
    """
    n = magnitudes.shape[1]
    first, second = magnitudes[:, ::2], magnitudes[:, 1::2]
    if n % 2 == 0:
        first, second = np.append(first, second[:, -1:], axis=1), second[:, :-1]
    own, others = first.sum(axis=1), second.sum(axis=1)
    threshold = own + others - 2 * np.maximum(limits, 0)
    n_sums, n_others = 1 << (first.shape[1] - 1), 1 << second.shape[1]
    keys = np.empty((len(magnitudes), n_sums + n_others), dtype=np.int64)
    sums, needles = keys[:, :n_sums], keys[:, n_sums:]
    # Of one parity all of them, they are listed at twice their size: two free bits and one that is the same.
    parity = 2 * (own[:, None] & 1)
    _list_sums(sums, 2 * own, -4 * first[:, 1:])
    np.abs(sums, out=sums)
    sums += _SUM - parity
    _list_sums(needles, 2 * (threshold - others), 4 * second)
    below = needles <= 0
    np.abs(needles, out=needles)
    needles += _ABOVE - parity
    needles += (_BELOW - _ABOVE) * below.view(np.int8)
    keys.sort(axis=1)
    return np.where(limits < 0, 0, n_sums * n_others + _ranks(keys, n_others))


def _list_sums(into: Counts, start: Counts, steps: Counts) -> None:
    """Write `start` plus the sums of all subsets of `steps`, along the last axis."""
    into[:, 0] = start
    for i in range(steps.shape[1]):
        listed = 1 << i
        np.add(into[:, :listed], steps[:, i : i + 1], out=into[:, listed : 2 * listed])


def _ranks(keys: Counts, n_needles: int) -> Counts:
    """Add up, for each row of ordered keys, how many sums go before the needles below, less those above."""
    rows, length = keys.shape
    if rows > 1:
        columns = np.nonzero((keys & 1).astype(np.bool_))[1].reshape(rows, n_needles)
        sides = (np.take_along_axis(keys, columns, axis=1) & 2) - 1
        return np.asarray((sides * (columns - np.arange(n_needles))).sum(axis=1))
    total, met = 0, 0
    for part in cut(range(length), _AT_ONCE):
        some = keys[0, part.start : part.stop]
        places = np.flatnonzero((some & 1).astype(np.bool_))
        sides = (some.take(places) & 2) - 1
        total += int(np.dot(sides, places - np.arange(len(places)))) + int(sides.sum()) * (part.start - met)
        met += len(places)
    return np.array([total])
