"""Differences that are whole multiples of a step, as those of P@10 or of scores rounded to 1e-4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, compiled
from ranklens.kernels.ties import (
    LATTICE_SLACK,
    SCALES,
    Comparable,
    comparable,
    lattice_multiples,
    safe_factor,
)

_GLANCE = 8
_EPS = 2.0**-52


@dataclass(frozen=True, slots=True)
class Lattice:
    """Differences as integers: ``deltas == integers / scale`` up to rounding.

    Sums of the integers are exact in any order.
    """

    scale: int
    integers: NDArray[np.int64]


def lattice_of(deltas: NDArray[np.float64]) -> Lattice | None:
    """Find the coarsest lattice on which all differences lie.

    Tried are steps of 1/1, 1/2, 1/4, 1/5, 1/8, 1/10 and so on to 1/10,000, and 1/2520 (reciprocal ranks to
    depth 10). A difference of two values of size 1 carries a rounding error of about 1e-16 however small it
    is itself, so it counts as a multiple of the step when it is one to within 4 eps · max(1, max|d|).

    Parameters
    ----------
    deltas : numpy.ndarray of float64, shape (n,)
        Finite, with n at least 1.

    Returns
    -------
    Lattice or None
        None when no step fits, when every multiple would be 0, or when sums could leave the exact integers
        (2^53).

    Examples
    --------
    >>> lattice_of(np.array([0.3 - 0.2, -0.5])).integers.tolist()
    [1, -5]
    >>> lattice_of(np.array([0.3, 2**0.5])) is None
    True
    """
    largest = np.max(np.abs(deltas))
    for scale in _candidates(deltas, float(largest)):
        multiples, fits = lattice_multiples(deltas, largest, scale)
        if fits:
            return Lattice(scale, multiples.astype(np.int64))
    return None


def comparable_sample(deltas: Any, backend: Backend) -> Comparable:
    """Bring differences to where their sums can be compared, without waiting for a device.

    On the host the search for a lattice stops at the first that fits; elsewhere all are tried in one program.
    """
    if backend.name != "numpy":
        return compiled(comparable, backend)(deltas)
    lattice = lattice_of(deltas)
    if lattice is not None:
        return Comparable(lattice.integers.astype(np.float64), np.float64(lattice.scale), np.True_)
    factor = safe_factor(np.max(np.abs(deltas)))
    return Comparable(deltas * factor, factor, np.False_)


def _candidates(deltas: NDArray[np.float64], largest: float) -> list[int]:
    """Return the scales that the first few differences do not rule out; most samples rule out all."""
    slack = LATTICE_SLACK * _EPS * max(1.0, largest)
    head = [value for value in deltas[:_GLANCE].tolist() if abs(value) < 2.0**53]
    return [
        scale for scale in SCALES if all(abs(x * scale - round(x * scale)) <= slack * scale for x in head)
    ]
