"""Counting the tail subset by subset, or integer by integer: no error beyond the last bit."""

from __future__ import annotations

import functools
import math
import operator

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, budget_bytes, to_host
from ranklens.kernels.exact_lattice import subset_counts
from ranklens.kernels.exact_subsets import count_pairs, count_weighted, subset_sums
from ranklens.stats.exact.tail import FlipTail, Mass

_EXACT_INTEGERS = 2.0**53
_BYTES_PER_SUM = 48
_EPS = float(np.finfo(np.float64).eps)

Half = tuple[NDArray[np.int64], NDArray[np.float64]]


def meet_in_the_middle(tail: FlipTail, backend: Backend) -> Mass:
    """Count with all subset sums of either half: 2^(n/2) of them.

    What does not fit into the memory budget is flipped one subset at a time.
    """
    magnitudes = tail.sums.magnitudes
    most = 2 * max(1, int(math.log2(budget_bytes() / _BYTES_PER_SUM)))
    halves, rest = magnitudes[-most:], magnitudes[:-most]
    xp, ship = backend.xp, backend.asarray
    first, second = (xp.sort(subset_sums(ship(half))) for half in (halves[::2], halves[1::2]))
    flipped: list[int] = subset_sums(rest).tolist()
    counts = [count_pairs(first, second, tail.limit - part) for part in flipped if part <= tail.limit]
    (count,) = to_host(functools.reduce(operator.add, counts))
    return Mass(int(count[0]), tail.n, 0.0, "meet in the middle")


def lattice_convolution(tail: FlipTail) -> Mass:
    """Count by adding one difference after the other to the counts of all sums up to the limit.

    On the host: a compiler on a device would meet a new shape for every distinct difference.
    """
    start = np.zeros(tail.limit + 1)
    start[0] = 1.0
    counts, exponent = subset_counts(start, tail.sums.magnitudes.tolist())
    return _counted(float(np.sum(counts)), tail.n - exponent, tail.n, "lattice convolution")


def subset_count(tail: FlipTail, backend: Backend, max_sums: int) -> Mass | None:
    """Count the subsets that fit below the limit, if there are few; None when either half has too many.

    Sums past the limit are dropped as soon as they appear and equal ones are merged, so the shapes depend on
    the data: the halves are built on the host, and only counted on the device.
    """
    halves = _fitting_halves(tail, min(max_sums, budget_bytes() // (4 * _BYTES_PER_SUM)))
    if halves is None:
        return None
    (sums, weights), (others, other_weights) = halves
    ship = backend.asarray
    total = count_weighted(ship(sums), ship(weights), ship(others), ship(other_weights), tail.limit)
    terms = sums.shape[0] + others.shape[0]
    return _counted(float(to_host(total)[0][0]), tail.n, terms, "subset count")


def _counted(count: float, exponent: int, n_additions: int, step: str) -> Mass:
    if count < _EXACT_INTEGERS and count == math.floor(count):
        return Mass(int(count), exponent, 0.0, step)
    return Mass(count, exponent, n_additions * _EPS * count, step)


def _fitting_halves(tail: FlipTail, max_sums: int) -> tuple[Half, Half] | None:
    values, multiplicities = tail.groups
    halves = [(np.zeros(1, dtype=np.int64), np.ones(1)) for _ in range(2)]
    for value, multiplicity in zip(values[::-1].tolist(), multiplicities[::-1].tolist(), strict=True):
        smaller = int(halves[0][0].shape[0] > halves[1][0].shape[0])
        grown = _with_group(halves[smaller], value, multiplicity, tail, max_sums)
        if grown is None:
            return None
        halves[smaller] = grown
    order = np.argsort(halves[0][0])
    return (halves[0][0][order], halves[0][1][order]), halves[1]


def _with_group(half: Half, value: int, multiplicity: int, tail: FlipTail, max_sums: int) -> Half | None:
    sums, weights = half
    if value == 0:
        return (sums, weights * 2.0**multiplicity) if multiplicity < 900 else None
    most = min(multiplicity, tail.limit // value)
    if (most + 1) * sums.shape[0] > 4 * max_sums:
        return None
    if most == 0:
        return half
    ways = np.array([_ways(multiplicity, chosen) for chosen in range(most + 1)])
    sums = (sums[:, None] + value * np.arange(most + 1)).ravel()
    with np.errstate(over="ignore"):
        weights = (weights[:, None] * ways).ravel()
    fits = sums <= tail.limit
    sums, weights = sums[fits], weights[fits]
    if tail.sums.lattice:
        sums, weights = _merged(sums, weights)
    return (sums, weights) if sums.shape[0] <= max_sums and np.isfinite(weights).all() else None


def _ways(n: int, chosen: int) -> float:
    ways = math.comb(n, chosen)
    return float(ways) if ways < 10**300 else math.inf


def _merged(sums: NDArray[np.int64], weights: NDArray[np.float64]) -> Half:
    order = np.argsort(sums)
    sums, weights = sums[order], weights[order]
    first = np.flatnonzero(np.diff(sums, prepend=-1))
    return sums[first], np.add.reduceat(weights, first)
