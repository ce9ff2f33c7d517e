"""The laws of sums of n draws from samples of whole numbers: n-fold convolutions, by Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut, rows_within
from ranklens.arrays.threads import for_each, n_cores
from ranklens.kernels.exact_resampling import integer_power
from ranklens.stats.ideal.sums import SumLaws

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_FLOAT_BYTES, _COPIES, _AT_ONCE = 8, 4, 1 << 16
_MOST_BLOCKS = 256
_BLOCK = 1 << 12
_GONE = 1e-20


def with_sum_laws(read: Callable[[slice, SumLaws], None], steps: Floats, length: int) -> None:
    """Call `read` with some of the rows at a time, and the laws of the sums of n draws from each.

    Parameters
    ----------
    read : callable
        Called on several threads; the laws are overwritten once it returns.
    steps : numpy.ndarray of float64, shape (rows, n)
        Whole numbers.
    length : int
        A power of two that holds all sums which are not improbable.
    """
    rows, n_threads = len(steps), n_cores()
    row_bytes = _COPIES * _FLOAT_BYTES * length * n_threads
    at_once = rows_within(row_bytes, min(rows, max(1, _AT_ONCE // length)), share=0.25)

    def compute(span: range) -> None:
        workspace = _Workspace.of(min(at_once, len(span)), length)
        for part in cut(span, at_once):
            some = slice(part.start, part.stop)
            read(some, workspace.sum_laws(steps[some]))

    spans = cut(range(rows), max(at_once, -(-rows // n_threads)))
    for_each(compute, spans, n_threads=n_threads)


def sum_laws(steps: Floats, length: int) -> SumLaws:
    """Return the laws of the sums of n draws from rows of whole numbers (rows, n), all at once."""
    return _Workspace.of(len(steps), length).sum_laws(steps)


def draw_masses(steps: Floats, length: int) -> Floats:
    """Return the law of one draw from each row of whole numbers, modulo `length`; shape (rows, length)."""
    masses = np.empty((len(steps), length))
    _put_masses(steps, masses)
    return masses


class _Workspace(NamedTuple):
    """Memory for the laws of some rows at a time: fresh pages would take longer than the transforms."""

    masses: Floats
    spectrum: Complexes

    @classmethod
    def of(cls, rows: int, length: int) -> _Workspace:
        return cls(np.empty((rows, length)), np.empty((rows, length // 2 + 1), dtype=np.complex128))

    def sum_laws(self, steps: Floats) -> SumLaws:
        """Return the laws of the sums of n draws from rows of whole numbers (rows, n)."""
        rows, n = steps.shape
        masses, spectrum = self.masses[:rows], self.spectrum[:rows]
        length = masses.shape[1]
        _put_masses(steps, masses)
        np.fft.rfft(masses, out=spectrum)
        _raise_to_power(spectrum, n)
        np.fft.irfft(spectrum, n=length, out=masses)
        np.maximum(masses, 0.0, out=masses)
        first = np.sum(steps, axis=1).astype(np.int64) - length // 2
        return SumLaws.of(first, masses.reshape(rows, min(_MOST_BLOCKS, length), -1))


def _put_masses(steps: Floats, masses: Floats) -> None:
    rows, length = masses.shape
    places = (steps.astype(np.int64) & (length - 1)) + np.arange(rows)[:, None] * length
    masses.fill(0.0)
    np.add.at(masses.reshape(-1), places.ravel(), 1.0)
    masses /= steps.shape[1]


def _raise_to_power(spectrum: Complexes, n: int) -> None:
    """Turn the characteristic function of one draw into that of `n`; what is too small to count becomes 0."""
    gone = _GONE ** (2.0 / n)
    columns = max(1, _BLOCK // len(spectrum))
    for start in range(0, spectrum.shape[1], columns):
        block = spectrum[:, start : start + columns]
        counts = block.real**2 + block.imag**2 >= gone
        counted = np.flatnonzero(counts.any(axis=0))
        last = int(counted[-1]) + 1 if counted.size else 0
        block[:, :last] = integer_power(block[:, :last] * counts[:, :last], n)
        block[:, last:] = 0.0
