"""The step of which all differences are whole multiples, if there is one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ranklens.stats.lattice import lattice_of

Floats = NDArray[np.float64]

_RATIO_SLACK = 32.0
_SURE = 0.01


def known_multiples(values: Floats, eps: float) -> NDArray[np.int64] | None:
    """Write differences as whole multiples of a step that measures and rounded scores have.

    Parameters
    ----------
    values : numpy.ndarray of float64, shape (n,)
    eps : float
        The rounding unit of the type in which they were computed.

    Returns
    -------
    numpy.ndarray of int64, shape (n,), or None
        See `ranklens.stats.lattice_of` for the steps that are tried.
    """
    rescaled = np.ldexp(values, 10 - int(np.frexp(np.max(np.abs(values)))[1]))
    # As given, and with the largest in [512, 1024), so that a common factor of 2^k hides no step.
    for candidate in (values, rescaled):
        lattice = lattice_of(candidate, eps)
        if lattice is not None:
            return lattice.integers
    return None


def commensurable_multiples(values: Floats, eps: float) -> NDArray[np.int64] | None:
    """Write differences as whole multiples of any step, if their ratios to the largest are fractions.

    A denominator is believed while a random ratio would hardly come that near to such a fraction, and their
    common multiple while multiples of the step lie well apart in spite of rounding. Scores rounded to six
    decimals pass.

    Parameters
    ----------
    values : numpy.ndarray of float64, shape (n,)
        Many of them: a single ratio passes by chance once in ten times.
    eps : float
        The rounding unit of the type in which they were computed.
    """
    slack = _RATIO_SLACK * eps
    most_steps, largest_denominator = _SURE / slack, int(0.3 / math.sqrt(slack))
    ratios = values / np.max(np.abs(values))
    steps = 1
    for ratio in np.unique(np.abs(ratios)).tolist():
        if abs(ratio * steps - round(ratio * steps)) <= slack * steps:
            continue
        fraction = Fraction(ratio).limit_denominator(largest_denominator)
        if abs(ratio - fraction) > slack:
            return None
        steps = math.lcm(steps, fraction.denominator)
        if steps > most_steps:
            return None
    multiples = np.rint(ratios * steps)
    off = float(np.max(np.abs(ratios * steps - multiples)))
    return multiples.astype(np.int64) if off <= slack * steps else None
