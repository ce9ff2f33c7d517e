"""The chance that the smaller differences decide as the tail asks, for many choices among the larger ones."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ranklens.kernels.exact_fourier import cosine_products, tilted_products
from ranklens.stats.exact.prefixes import Prefixes
from ranklens.stats.exact.spectrum import Floats, half_odd_nodes, log_coincidence

_EPS = float(np.finfo(np.float64).eps)
_REACH, _TILTED_REACH, _FADED = 8.5, 9.0, 38.0
_LEAST_TILT, _MOST_TILT = 1.0, 350.0
_FIRST_NODES, _MOST_NODES = 128, 1 << 14
_MOST_CELLS, _CELLS_AT_ONCE = 1 << 21, 1 << 18
_MOST_LATTICE_CELLS = 1 << 22
_CAUTION, _MORE_CAUTION = 4.0, 30.0
_FADING = 0.3
_FADED_MODULUS = 1e-17
_MOST_WAVES = 1 << 22


class Inverted(NamedTuple):
    """A chance exp(log_scale) · mass, of which the mass may be off by `error`; nodes reach to `frequency`."""

    mass: float
    error: float
    log_scale: float
    frequency: float


class _Rest(NamedTuple):
    """What is left of a tail, in standard deviations of the remaining sum.

    `values` (k,) occur `times` (k,); of the choices before them there are `share` (width,) that need the
    remaining sum to exceed `begin` (width,). Atoms are 2 · `half_step` apart on a lattice, else it is 0. The
    standard deviation is `unit`.
    """

    values: Floats
    times: Floats
    begin: Floats
    share: Floats
    half_step: float
    unit: float

    @classmethod
    def of(cls, prefixes: Prefixes, n_chosen: int, lattice: bool) -> _Rest:
        values, times = np.unique(prefixes.rest, return_counts=True)
        own = values.astype(np.float64)
        unit = math.sqrt(float(np.sum(times * own * own)))
        # Between two atoms, so that no rounding moves one across.
        begin = int(prefixes.rest.sum()) - 2 * prefixes.room - 1
        share = np.ldexp(prefixes.ways, -n_chosen)
        step = 1.0 / unit if lattice else 0.0
        return cls(own / unit, times.astype(np.float64), begin / unit, share, step, unit)

    @property
    def n(self) -> float:
        """The number of remaining differences."""
        return float(self.times.sum())


def plain_remainder(prefixes: Prefixes, n_chosen: int, lattice: bool) -> Inverted:
    """Invert the remaining characteristic function once, against a square wave for every choice.

    The error is four times what the later half of the nodes adds in absolute value, more where it does not
    fade, and four times the root mean square of what those left out do if their phases are as good as random.
    """
    rest = _Rest.of(prefixes, n_chosen, lattice)
    near = np.abs(rest.begin) <= _REACH
    sure, begin, share = float(rest.share[rest.begin < -_REACH].sum()), rest.begin[near], rest.share[near]
    undecided = float(share.sum())
    if not undecided:
        return Inverted(sure, 2e-16 * float(rest.share.sum()), 0.0, math.inf)
    half_period = float(np.abs(begin).max()) + _REACH
    n_nodes = 0
    if rest.half_step:
        steps = 4 * math.ceil(half_period / rest.half_step / 4.0)
        n_nodes = steps // 4
        finite = n_nodes * max(len(rest.values), len(begin)) <= _MOST_LATTICE_CELLS
        half_period, n_nodes = (steps * rest.half_step, n_nodes) if finite else (half_period, 0)
    step = 2.0 * math.pi / half_period
    added, late = 0.0, [0.0]
    for first, last in [(0, n_nodes)] if n_nodes else _blocks(len(rest.values), len(begin)):
        nodes = half_odd_nodes(last, step)[first:]
        kernel = rest.half_step / np.sin(rest.half_step * nodes) if n_nodes else 1.0 / nodes
        products = 2.0 * step / math.pi * kernel * _cosines(rest, nodes)
        kept = np.abs(products) > _FADED_MODULUS
        added += float(np.dot(products[kept], _waves(np.sin, nodes[kept], begin, share)))
        late.append(float(np.abs(products).sum()))
    beyond = 0.0 if n_nodes else undecided * (_unseen(rest, last) + _going_on(late, rest))
    mass = sure + 0.5 * (undecided - added)
    rounding = 8.0 * _EPS * (rest.n + 32.0) * float(rest.share.sum())
    frequency = math.inf if n_nodes else last * step / rest.unit
    return Inverted(max(mass, 0.0), 0.5 * beyond + rounding, 0.0, frequency)


def tilted_remainder(prefixes: Prefixes, n_chosen: int) -> Inverted:
    """Invert the characteristic function of the remaining sum, tilted to where the choices need it.

    One tilt t serves all choices: it makes the least of Σ share · exp(K(t) - t begin), K the logarithm of
    the remaining moment generating function.
    """
    rest = _Rest.of(prefixes, n_chosen, lattice=False)
    tilt, center, spread, log_scale = _tilt(rest)
    near = rest.begin <= center + _TILTED_REACH * spread
    begin = rest.begin[near]
    share = rest.share[near] * np.exp(-tilt * (begin - center))
    step = 2.0 * math.pi / (2.0 * _TILTED_REACH * spread + _FADED / tilt)
    tanhs = np.tanh(tilt * rest.values)
    added, late = 0.0, [0.0]
    for first, last in _blocks(len(rest.values), len(begin)):
        nodes = half_odd_nodes(last, step)[first:]
        real, imaginary = _tilted_products(rest, tanhs, nodes)
        weighted = step / math.pi * (real + 1j * imaginary) / (tilt + 1j * nodes)
        kept = np.abs(weighted) > _FADED_MODULUS
        added += float(np.dot(weighted[kept].real, _waves(np.cos, nodes[kept], begin, share)))
        added += float(np.dot(weighted[kept].imag, _waves(np.sin, nodes[kept], begin, share)))
        late.append(float(np.abs(weighted).sum()))
    rounding = _EPS * (64.0 * rest.n + abs(log_scale) + 256.0) * float(share.sum())
    return Inverted(
        max(added, 0.0),
        float(share.sum()) * _going_on(late, rest) + rounding,
        log_scale,
        last * step / rest.unit,
    )


def _unseen(rest: _Rest, n_nodes: int) -> float:
    """Return what random phases make of the nodes left out: the root of a sum of squares."""
    return _CAUTION * 2.0 / math.pi * math.sqrt(math.exp(log_coincidence(rest.times)) / (2.0 * n_nodes))


def _going_on(late: list[float], rest: _Rest) -> float:
    """Bound what further nodes add in absolute value, by what the last ones did that doubled their number.

    As much again each time where nothing has faded yet, as with differences that are still far apart.
    """
    floor = math.exp(0.5 * log_coincidence(rest.times))
    fading = late[-1] <= max(_FADING * late[-2], 4.0 * floor)
    return (_CAUTION if fading else _MORE_CAUTION) * late[-1]


def _blocks(n_values: int, width: int) -> list[tuple[int, int]]:
    """Return the nodes, doubling, as many as a fraction of a second allows."""
    most = min(_MOST_NODES, _MOST_CELLS // n_values, _MOST_WAVES // width)
    ends = [_FIRST_NODES, 2 * _FIRST_NODES]
    while 2 * ends[-1] <= most:
        ends.append(2 * ends[-1])
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _cosines(rest: _Rest, nodes: Floats) -> Floats:
    many = None if np.all(rest.times == 1.0) else rest.times
    return np.concatenate([cosine_products(rest.values, part, many) for part in _parts(nodes, rest)])


def _tilted_products(rest: _Rest, tanhs: Floats, nodes: Floats) -> tuple[Floats, Floats]:
    many = None if np.all(rest.times == 1.0) else rest.times
    parts = [tilted_products(rest.values, tanhs, part, many) for part in _parts(nodes, rest)]
    real, imaginary = (np.concatenate(column) for column in zip(*parts, strict=True))
    return real, imaginary


def _parts(nodes: Floats, rest: _Rest) -> list[Floats]:
    rows = max(1, _CELLS_AT_ONCE // len(rest.values))
    return [nodes[i : i + rows] for i in range(0, len(nodes), rows)]


def _waves(wave: Any, nodes: Floats, begin: Floats, share: Floats) -> Floats:
    """Return Σ share · wave(y begin) at each node y."""
    rows = max(1, _CELLS_AT_ONCE // len(begin))
    parts = [nodes[i : i + rows] for i in range(0, len(nodes), rows)]
    found = [wave(np.multiply.outer(part, begin)) @ share for part in parts]
    return np.concatenate(found) if found else np.zeros(0)


def _tilt(rest: _Rest) -> tuple[float, float, float, float]:
    """Return the tilt, the mean and the spread of the tilted sum, and the logarithm of the scale."""
    low, high = 0.0, _MOST_TILT / float(rest.values[-1])
    lowest = float(rest.begin.min())
    for _ in range(50):
        tilt = 0.5 * (low + high)
        weights = rest.share * np.exp(-tilt * (rest.begin - lowest))
        wanted = float(np.dot(weights, rest.begin) / weights.sum())
        mean = float(np.dot(rest.times * rest.values, np.tanh(tilt * rest.values)))
        low, high = (tilt, high) if mean < wanted else (low, tilt)
        if high - low <= 1e-3 * high:
            break
    tilt = max(high, _LEAST_TILT)
    angles = tilt * rest.values
    mean = float(np.dot(rest.times * rest.values, np.tanh(angles)))
    spread = math.sqrt(float(np.dot(rest.times, (rest.values / np.cosh(angles)) ** 2)))
    log_mgf = float(np.dot(rest.times, angles + np.log1p(np.exp(-2.0 * angles)))) - rest.n * math.log(2.0)
    return tilt, mean, spread, log_mgf - tilt * mean
