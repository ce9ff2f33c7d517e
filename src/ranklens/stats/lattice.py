"""Differences that are whole multiples of a step, as those of P@10 or of scores rounded to 1e-4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, compiled
from ranklens.kernels.ties import (
    EXACT_BAND,
    LARGEST_ON_LATTICE,
    SCALES,
    Comparable,
    comparable,
    lattice_fits,
    rounding_slack,
    rounding_unit,
    safe_factor,
    tie_band,
)

_GLANCE = 8
_SCALES = np.array(SCALES, dtype=np.float64)
EPS = 2.0**-52


@dataclass(frozen=True, slots=True)
class Lattice:
    """Differences as integers: ``deltas == integers / scale`` up to rounding.

    Sums of the integers are exact in any order.
    """

    scale: int
    integers: NDArray[np.int64]


def lattice_of(deltas: NDArray[np.float64], eps: float = EPS) -> Lattice | None:
    """Find the coarsest lattice on which all differences lie.

    Tried are steps of 1/1, 1/2, 1/4, 1/5, 1/8, 1/10 and so on to 1/10,000, and 1/2520 (reciprocal ranks to
    depth 10). A difference of two values of size 1 carries a rounding error of about 1e-16 however small it
    is itself, so it counts as a multiple of the step when it is one to within 4 eps · max(1, max|d|), but
    only a zero counts as zero; unless all that is rounded together stays below half of the band within which
    sums are equal, so that the lattice changes no comparison. Where all differences have as few digits as
    float32 values leave, `eps` is float32's.

    Parameters
    ----------
    deltas : numpy.ndarray of float64, shape (n,)
        Finite, with n at least 1.
    eps : float
        The spacing of the type in which the differences were computed; by default float64's.

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
    return _lattice_within(deltas, np.abs(deltas).max(), eps)


def _lattice_within(deltas: NDArray[np.float64], largest: np.float64, eps: float) -> Lattice | None:
    if largest >= LARGEST_ON_LATTICE:
        return None
    unit = float(rounding_unit(deltas, eps))
    for scale in _candidates(deltas, unit):
        if lattice_fits(deltas, largest, np.array([float(scale)]), unit)[0]:
            return Lattice(scale, np.rint(deltas * scale).astype(np.int64))
    return None


def comparable_sample(deltas: Any, backend: Backend, eps: float = EPS) -> Comparable:
    """Bring differences to where their sums can be compared, without waiting for a device.

    On the host the search for a lattice stops at the first that fits; elsewhere all are tried in one program.
    """
    if backend.name != "numpy":
        return compiled(comparable, backend, static=("eps",))(deltas, eps=eps)
    largest = np.abs(deltas).max()
    lattice = _lattice_within(deltas, largest, eps)
    if lattice is not None:
        return Comparable(lattice.integers.astype(np.float64), np.asarray(float(lattice.scale)), EXACT_BAND)
    factor = safe_factor(largest)
    values = deltas * factor
    return Comparable(values, factor, tie_band(values, eps))


def _candidates(deltas: NDArray[np.float64], eps: float) -> list[int]:
    """Return the scales that the first few differences do not rule out; most samples rule out all."""
    slack = float(rounding_slack(deltas, eps))
    scaled = np.multiply.outer(_SCALES, deltas[:_GLANCE])
    error = np.abs(scaled - np.rint(scaled)).max(axis=1)
    return [scale for scale, fits in zip(SCALES, (error <= slack * _SCALES).tolist(), strict=True) if fits]
