"""What a long row's characteristic function is at most, from the sums of squares of blocks of its values."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.kernels.exact_folds import row_sums

Floats = NDArray[np.float64]

N_BLOCKS = 32
_HALF_PI = 0.5 * math.pi


class Blocks(NamedTuple):
    """Consecutive values of ascending rows, as many in each block.

    Attributes
    ----------
    squares : numpy.ndarray of float64, shape (32, rows)
        The sum of the squares of a block's values.
    largest : numpy.ndarray of float64, shape (32, rows)
        The last of them.
    size : int
        How many values a block has.
    """

    squares: Floats
    largest: Floats
    size: int

    @classmethod
    def of(cls, values: Floats) -> Blocks:
        """Cut ascending rows, given as columns (width, rows), into blocks; the width is a multiple of 32."""
        size = values.shape[0] // N_BLOCKS
        rows = np.ascontiguousarray(values.T).reshape(-1, N_BLOCKS, size)
        return cls(np.ascontiguousarray(row_sums(rows * rows).T), values[size - 1 :: size], size)

    @property
    def typical(self) -> Floats:
        """The root mean square of each block, shape (32, rows)."""
        return np.asarray(np.sqrt(self.squares / self.size))

    def moduli(self, rate: Floats | None, edges: Floats) -> Floats:
        """Bound the modulus of the characteristic function between frequencies.

        Parameters
        ----------
        rate : numpy.ndarray of float64, shape (rows,), or None
            t, the tilt; None without one.
        edges : numpy.ndarray of float64, shape (k + 1, rows)
            Ascending.

        Returns
        -------
        numpy.ndarray of float64, shape (k, rows)

        Notes
        -----
        The factor of a value x is at most ``exp(-sin²(y x) / (2 cosh²(t x)))``, and the sine is concave up to
        π: in a block it is at least x/X of the smaller one that the block's largest value X has at either
        edge. Without a tilt it is at most ``exp(-(y x)²/2)`` as long as y x stays below π/2.
        """
        angles = self.largest[:, None, :] * edges
        sines = np.where(angles < math.pi, np.sin(angles), 0.0)
        least = np.minimum(sines[:, :-1], sines[:, 1:])
        if rate is None:
            least = np.where(angles[:, 1:] <= _HALF_PI, angles[:, :-1], least)
            shares = self.squares
        else:
            shares = self.squares / np.cosh(rate * self.largest) ** 2
        shares = shares / np.maximum(self.largest * self.largest, 1e-300)
        return np.asarray(np.exp(-0.5 * np.sum(shares[:, None, :] * least * least, axis=0)))
