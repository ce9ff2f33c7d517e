"""The step of which all differences of a row are whole multiples, if there is one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ranklens.kernels.ties import BAND_SLACK
from ranklens.stats.exact.differences import DifferenceRows
from ranklens.stats.rows.lattices import FEW_VALUES, lattice_scales

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]

_RATIO_SLACK = 32.0
_TIMES_USUAL = 4.0
_SURE, _BELIEVED = 0.01, 0.3
_MANY = 24
_LONGEST_FRACTION, _FEW_RATIOS = 40, 8
"""Steps of Euclid's algorithm, more than any denominator takes; and how many ratios are worth no arrays."""


def multiples_of_steps(rows: DifferenceRows) -> tuple[Rows, Counts]:
    """Write rows of differences as whole multiples of a step that measures and scores may have.

    Returns
    -------
    found : numpy.ndarray of bool, shape (rows,)
        Whether there is such a step.
    multiples : numpy.ndarray of int64, shape (rows, n)
        Zeros in the rows without one.

    Notes
    -----
    Tried are the steps of `ranklens.stats.lattice_of`, on the differences as given and with the largest in
    [512, 1024), so that a common factor of 2^k hides none; and, for 24 differences or more, any step of which
    their ratios tell.
    """
    multiples = np.zeros(rows.values.shape, dtype=np.int64)
    found = np.zeros(len(rows.values), dtype=bool)
    for rescaled in (False, True):
        places = np.flatnonzero(~found)
        own, scale = _known_scales(rows.take(places), rescaled)
        fits = np.isfinite(scale)
        if fits.any():
            found[places[fits]] = True
            multiples[places[fits]] = np.rint(own[fits] * scale[fits, None])
        if found.all():
            return found, multiples
    if rows.values.shape[1] >= _MANY:
        _put_commensurable(found, multiples, rows)
    return found, multiples


def known_multiples(values: Floats, eps: float) -> Counts | None:
    """Write one sample, shape (n,), as whole multiples of a step that measures and rounded scores have."""
    rows = DifferenceRows(values[None], eps)
    for rescaled in (False, True):
        (own,), scale = _known_scales(rows, rescaled)
        if math.isfinite(scale[0]):
            return np.asarray(np.rint(own * scale[0]).astype(np.int64))
    return None


def _known_scales(rows: DifferenceRows, rescaled: bool) -> tuple[Floats, Floats]:
    """Return the rows, if asked for with the largest in [512, 1024), and the scales known to fit them."""
    units = rows.units if rows.values.size > FEW_VALUES else None
    if not rescaled:
        return rows.values, lattice_scales(rows.values, rows.largest, rows.eps, units)
    return rows.rescaled, lattice_scales(
        rows.rescaled, np.ldexp(rows.largest, rows.doublings), rows.eps, units
    )


def _put_commensurable(found: Rows, multiples: Counts, rows: DifferenceRows) -> None:
    """Fill in rows of many differences that no known step fits, and whose ratios tell of another."""
    for unit in sorted({rows.eps, *rows.units[~found].tolist()}):
        places = np.flatnonzero(~found & (rows.units >= unit))
        if places.size:
            values = rows.take(places).rescaled
            fits, own = commensurable_multiples(values, unit)
            values, own, places = values[fits], own[fits], places[fits]
        if places.size:
            kept = np.count_nonzero(values, axis=1) >= _MANY
            kept &= _keeps_verdicts(values, own, rows.eps, unit)
            multiples[places[kept]], found[places[kept]] = own[kept], True


def commensurable_multiples(
    values: Floats, eps: float, *, sure: float = _SURE, believed: float = _BELIEVED
) -> tuple[Rows, Counts]:
    """Write rows as whole multiples of any step, where their ratios to the largest are fractions.

    A denominator is believed while a random ratio would hardly come that near to such a fraction, and their
    common multiple while multiples of the step lie well apart in spite of rounding. Scores rounded to six
    decimals pass.

    Parameters
    ----------
    values : numpy.ndarray of float64, shape (rows, n)
        Many of them not zero: a single ratio passes by chance once in ten times.
    eps : float
        The rounding unit of the type in which they were computed.
    sure, believed : float
        A ratio may be off by the slack 32 eps: the most that this may be in steps, and the largest
        denominator times the slack's square root.

    Returns
    -------
    found : numpy.ndarray of bool, shape (rows,)
    multiples : numpy.ndarray of int64, shape (rows, n)
    """
    slack = _RATIO_SLACK * eps
    steps = _denominators_of_smallest(values, slack, believed)
    found = steps > 0
    open_rows = np.flatnonzero(found)
    if not open_rows.size:
        return found, np.zeros(values.shape, dtype=np.int64)
    signed = values / np.abs(values).max(axis=1)[:, None]
    ratios = np.abs(signed)
    while open_rows.size:
        own = ratios if len(open_rows) == len(ratios) else ratios[open_rows]
        own_steps = steps[open_rows, None]
        multiples = own * own_steps
        off = np.abs(multiples - np.rint(multiples)) > slack * own_steps
        # The smallest ratio that does not fit is the same in any order.
        smallest = np.where(off, own, math.inf).min(axis=1)
        unfit = np.isfinite(smallest)
        open_rows = open_rows[unfit]
        denominators = _denominators(smallest[unfit], slack, believed)
        grown = np.lcm(steps[open_rows], denominators)
        # At the very edge of the slack one rounding says that a ratio fits and another that it does not.
        fails = (denominators == 0) | (grown > sure / slack) | (grown == steps[open_rows])
        found[open_rows[fails]] = False
        steps[open_rows] = grown
        open_rows = open_rows[~fails]
    steps[~found] = 1
    return found, np.rint(signed * steps[:, None]).astype(np.int64)


def _keeps_verdicts(values: Floats, multiples: Counts, eps: float, unit: float) -> Rows:
    """Whether only zeros become zeros and no value moves by more than most of them may have been rounded, or
    else no sum moves so far that a verdict could change: `lattice_fits`.

    The largest of `values` lies in [512, 1024). A few large ones would let the others move by more than the
    band of ties.
    """
    magnitudes = np.abs(values)
    total = magnitudes.sum(axis=1)
    step = total / np.maximum(np.abs(multiples).sum(axis=1), 1)
    off = values - multiples * step[:, None]
    moved = 0.5 * (np.abs(off).sum(axis=1) + np.abs(off.sum(axis=1)))
    vanishes = ((multiples == 0) & (values != 0.0)).any(axis=1)
    usual = _TIMES_USUAL * total / np.maximum(np.count_nonzero(multiples, axis=1), 1)
    slack = _RATIO_SLACK * unit * np.minimum(magnitudes.max(axis=1), usual)
    rounded = ~vanishes & (np.abs(off).max(axis=1) <= slack)
    return np.asarray(rounded | (moved <= BAND_SLACK * eps * total))


def _denominators_of_smallest(values: Floats, slack: float, believed: float) -> Counts:
    """Return the denominator of each row's smallest ratio to its largest that is not 0; 0 without one."""
    magnitudes = np.abs(values)
    largest = magnitudes.max(axis=1)
    smallest = np.where(magnitudes > slack * largest[:, None], magnitudes, math.inf).min(axis=1) / largest
    return _denominators(smallest, slack, believed)


def _denominators(ratios: Floats, slack: float, believed: float) -> Counts:
    """Return the smallest denominator of a convergent within `slack` of each ratio; 0 without one."""
    largest = believed / math.sqrt(slack)
    if len(ratios) <= _FEW_RATIOS:
        found = [_denominator(ratio, slack, largest) for ratio in ratios.tolist()]
        return np.array(found, dtype=np.int64)
    p, former_q = np.zeros((2, len(ratios)))
    q, former_p = np.ones((2, len(ratios)))
    rest, convergents = ratios, []
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_LONGEST_FRACTION):
            inverse = 1.0 / rest
            term = np.floor(inverse)
            rest = inverse - term
            p, q, former_p, former_q = term * p + former_p, term * q + former_q, p, q
            convergents.append((p, q))
            if not (q <= largest).any():
                break
        numerators, denominators = (np.stack(column) for column in zip(*convergents, strict=True))
        fits = (np.abs(ratios - numerators / denominators) <= slack) & (denominators <= largest)
    smallest = denominators[fits.argmax(axis=0), np.arange(len(ratios))]
    return np.where(fits.any(axis=0), smallest, 0.0).astype(np.int64)


def _denominator(ratio: float, slack: float, largest: float) -> int:
    """Return what `_denominators` does for one ratio: the same operations, without arrays."""
    p, q, former_p, former_q, rest = 0.0, 1.0, 1.0, 0.0, ratio
    for _ in range(_LONGEST_FRACTION):
        if not rest:
            break
        inverse = 1.0 / rest
        term = inverse // 1.0
        rest = inverse - term
        p, q, former_p, former_q = term * p + former_p, term * q + former_q, p, q
        if not q <= largest:
            break
        if abs(ratio - p / q) <= slack:
            return int(q)
    return 0
