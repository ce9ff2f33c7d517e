"""The laws of sums of n draws from samples of whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import cut, rows_within
from ranklens.arrays.threads import for_each, n_cores
from ranklens.kernels.exact_resampling import integer_power

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_FLOAT_BYTES = 8
_COPIES = 8
_AT_ONCE = 1 << 16
_BLOCK = 64
_COLUMNS = 1 << 10
_GONE = 1e-20


class SumLaws(NamedTuple):
    """The laws of sums, a row each: `masses` (rows, length) on whole numbers from `first` (rows,) on.

    The masses of a row sum to `total`. `passed` is what lies up to the end of each block of 64 of them: only
    the block in which a level is reached is looked at more closely.
    """

    first: Counts
    masses: Floats
    passed: Floats

    @property
    def total(self) -> Floats:
        return self.passed[:, -1]

    def reached(self, level: Floats) -> tuple[Counts, Floats]:
        """Return the first sum up to which the share is at least `level`, both of shape (rows,).

        And which part of its mass it takes to get there.
        """
        level = level * self.total
        blocks = self.passed.shape[1]
        block = np.minimum(np.count_nonzero(self.passed < level[:, None], axis=1), blocks - 1)
        before, within = self._block(block)
        upto = before[:, None] + np.cumsum(within, axis=1)
        place = np.minimum(np.count_nonzero(upto < level[:, None], axis=1), within.shape[1] - 1)
        mass = _at(within, place)
        missing = level - (_at(upto, place) - mass)
        part = np.divide(missing, mass, out=np.ones_like(mass), where=mass > 0.0)
        found = self.first + block * within.shape[1] + place
        return found, np.minimum(np.maximum(part, 0.0), 1.0)

    def share_at(self, sums: Counts) -> Floats:
        """Return the share of smaller sums, and half that of equal ones."""
        place = sums - self.first
        size = self.masses.shape[1] // self.passed.shape[1]
        before, within = self._block(place // size)
        upto = before + _at(np.cumsum(within, axis=1), place % size)
        return np.asarray((upto - 0.5 * _at(within, place % size)) / self.total)

    def _block(self, block: Counts) -> tuple[Floats, Floats]:
        rows, blocks = self.passed.shape
        within = self.masses.reshape(rows, blocks, -1)[np.arange(rows), block]
        return np.where(block > 0, _at(self.passed, np.maximum(block - 1, 0)), 0.0), within


class _Workspace(NamedTuple):
    """Memory for the laws of some rows at a time: fresh pages would take longer than the transforms."""

    masses: Floats
    spectrum: NDArray[np.complex128]
    law: Floats

    @classmethod
    def of(cls, rows: int, length: int) -> _Workspace:
        spectrum = np.empty((rows, length // 2 + 1), dtype=np.complex128)
        return cls(np.empty((rows, length)), spectrum, np.empty((rows, length)))


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
            read(some, _sum_laws(steps[some], workspace))

    spans = cut(range(rows), max(at_once, -(-rows // n_threads)))
    for_each(compute, spans, n_threads=n_threads)


def draw_masses(steps: Floats, length: int) -> Floats:
    """Return the law of one draw from each row of whole numbers, modulo `length`; shape (rows, length)."""
    masses = np.empty((len(steps), length))
    _put_masses(steps, masses)
    return masses


def _put_masses(steps: Floats, masses: Floats) -> None:
    rows, length = masses.shape
    places = (steps.astype(np.int64) & (length - 1)) + np.arange(rows)[:, None] * length
    masses.fill(0.0)
    np.add.at(masses.reshape(-1), places.ravel(), 1.0)
    masses /= steps.shape[1]


def _sum_laws(steps: Floats, workspace: _Workspace) -> SumLaws:
    """Return the laws of the sums of n draws from rows of whole numbers (rows, n)."""
    rows, n = steps.shape
    masses, spectrum, law = workspace.masses[:rows], workspace.spectrum[:rows], workspace.law[:rows]
    length = masses.shape[1]
    _put_masses(steps, masses)
    np.fft.rfft(masses, out=spectrum)
    _raise_to_power(spectrum, n)
    np.fft.irfft(spectrum, n=length, out=law)
    first = np.sum(steps, axis=1).astype(np.int64) - length // 2
    for i, start in enumerate((first % length).tolist()):
        np.maximum(law[i, start:], 0.0, out=masses[i, : length - start])
        np.maximum(law[i, :start], 0.0, out=masses[i, length - start :])
    blocks = masses.reshape(rows, -1, min(_BLOCK, length))
    return SumLaws(first, masses, np.cumsum(np.sum(blocks, axis=2), axis=1))


def _raise_to_power(spectrum: NDArray[np.complex128], n: int) -> None:
    """Turn the characteristic function of one draw into that of `n`; what is too small to count becomes 0."""
    gone = _GONE ** (2.0 / n)
    for start in range(0, spectrum.shape[1], _COLUMNS):
        block = spectrum[:, start : start + _COLUMNS]
        counts = block.real**2 + block.imag**2 >= gone
        if counts.any():
            block[:] = integer_power(block * counts, n)
        else:
            block.fill(0.0)


def _at(values: Floats, place: Counts) -> Floats:
    return np.asarray(np.take_along_axis(values, place[:, None], axis=1)[:, 0])
