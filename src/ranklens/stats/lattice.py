"""Differences that are whole multiples of a step, as those of P@10 or of scores rounded to 1e-4."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SCALES = (
    1,
    2,
    4,
    5,
    8,
    10,
    16,
    20,
    25,
    32,
    50,
    64,
    100,
    128,
    200,
    250,
    256,
    500,
    1_000,
    2_000,
    2_520,
    5_000,
    10_000,
)
"""Steps per unit that are tried, in this order: dyadic and decimal cutoffs, rounded scores, RR to depth 10."""

_SLACK = 4.0


@dataclass(frozen=True, slots=True)
class Lattice:
    """Differences as integers: ``deltas == integers / scale`` up to rounding.

    Sums of the integers are exact in any order.
    """

    scale: int
    integers: NDArray[np.int64]


def lattice_of(deltas: NDArray[np.float64]) -> Lattice | None:
    """Find the coarsest lattice on which all differences lie.

    A difference of two values of size 1 carries a rounding error of about 1e-16 however small it is itself, so
    it counts as a multiple of the step when it is one to within 4 eps · max(1, max|d|).

    Parameters
    ----------
    deltas : numpy.ndarray of float64, shape (n,)
        Finite.

    Returns
    -------
    Lattice or None
        None when no scale fits, when every multiple would be 0, or when sums could leave the exact integers
        (2^53).

    Examples
    --------
    >>> lattice_of(np.array([0.3 - 0.2, -0.5])).integers.tolist()
    [1, -5]
    >>> lattice_of(np.array([0.3, 2**0.5])) is None
    True
    """
    largest = float(np.max(np.abs(deltas), initial=0.0))
    if largest == 0.0:
        return None
    slack = _SLACK * float(np.finfo(np.float64).eps) * max(1.0, largest)
    for scale in SCALES:
        if largest * scale * deltas.shape[0] >= 2.0**53:
            return None
        multiples = deltas * scale
        integers = np.rint(multiples)
        if np.max(np.abs(multiples - integers)) <= slack * scale:
            return Lattice(scale, integers.astype(np.int64)) if integers.any() else None
    return None
