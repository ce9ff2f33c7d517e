"""Exact p-values of many rows at once: Fourier inversion and lattice convolution, batched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, cut, rows_within
from ranklens.arrays.threads import for_each, n_cores
from ranklens.kernels.exact_fourier import (
    cosine_products_by_recurrence,
    square_wave_tail,
    tilted_products,
    tilted_tail,
)
from ranklens.stats.exact.inversion import STEP as PLAIN
from ranklens.stats.exact.tilt import STEP as TILTED
from ranklens.stats.rows.jobs import Job

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_EPS = float(np.finfo(np.float64).eps)
_REACH, _TILTED_REACH, _FADED = 8.5, 9.0, 38.0
_FLOAT_BYTES = 8
_NODES, _SCANNED = 64, 160
_NODES_OF_MANY, _MANY = 40, 300
_CAUTION = 2.0
_LOG2 = math.log(2.0)
_ROWS_COUNTED, _ROWS_TILTED = 64, 32


@dataclass(frozen=True, slots=True)
class RowTails:
    """P(T ≥ |observed|) of some rows, T the sum under fair signs: a scale exp(log_scale) times `mass`.

    `error` bounds what the mass may be off by.
    """

    mass: Floats
    error: Floats
    log_scale: Floats
    step: str

    @property
    def log_tail(self) -> Floats:
        """The natural logarithm of the tail."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(self.mass, 0.0)) + self.log_scale)


def plain_tails(magnitudes: Floats, observed: Floats, backend: Backend) -> Job[RowTails]:
    """Invert ∏ cos(y a) against a square wave, for rows of magnitudes (rows, n) that hardly repeat.

    `observed` (rows,) are the absolute sums. The largest modulus seen beyond the last node bounds the error.
    """
    spread = np.sqrt(np.sum(magnitudes * magnitudes, axis=1, keepdims=True))
    values, threshold = magnitudes / spread, observed[:, None] / spread
    rows, n = values.shape
    n_nodes = _NODES if n < _MANY else _NODES_OF_MANY
    scanned = _SCANNED if n < _MANY else n_nodes + 8
    step = 2.0 * math.pi / (threshold + _REACH)
    found: list[Any] = []
    for part in cut(range(rows), rows_within(5 * _FLOAT_BYTES * n, rows, share=0.25)):
        some = slice(part.start, part.stop)
        ship = backend.asarray
        products = cosine_products_by_recurrence(ship(values[some]), ship(step[some]), scanned)
        kept = products[:, :n_nodes]
        nodes = (np.arange(n_nodes) + 0.5) * step[some]
        weights = np.broadcast_to(2.0 / math.pi / (np.arange(n_nodes) + 0.5), nodes.shape)
        outside = square_wave_tail(kept, ship(nodes), ship(np.array(weights)), ship(threshold[some]))
        left = backend.xp.max(backend.xp.abs(products[:, n_nodes:]), axis=-1)
        found += [outside[:, 0], left]
    host = yield tuple(found)
    mass, beyond = 0.5 * joined(host[0::2]), 0.5 * joined(host[1::2])
    error = _CAUTION * beyond + 4.0 * _EPS * (n + 16) + 2.0**-n
    return RowTails(mass, error, np.zeros(rows), PLAIN)


def tilted_tails(magnitudes: Floats, observed: Floats, backend: Backend) -> Job[RowTails]:
    """Invert the characteristic function of the law tilted until the observed sum is its mean."""
    law = _TiltedLaw.of(magnitudes, observed)
    values, threshold, tilt, tilted_spread, log_scale = law
    rows, n = values.shape
    angles = tilt[:, None] * values
    step = 2.0 * math.pi / (_TILTED_REACH * tilted_spread + _FADED / tilt)
    row_bytes = 8 * _FLOAT_BYTES * n * _SCANNED

    parts = [*cut(range(rows), rows_within(row_bytes, min(rows, _ROWS_TILTED), share=0.125))]
    found: dict[int, tuple[Any, ...]] = {}

    def invert(part: range) -> None:
        some = slice(part.start, part.stop)
        nodes = (np.arange(_SCANNED) + 0.5) * step[some, None]
        point = _Point(threshold[some], tilt[some], step[some])
        found[part.start] = _tilted(values[some], np.tanh(angles[some]), nodes, point, backend)

    for_each(invert, parts, n_threads=n_cores() if backend.name == "numpy" else 1)
    host = yield tuple(array for part in parts for array in found[part.start])
    mass, seen, largest = joined(host[0::3]), joined(host[1::3]), joined(host[2::3])
    beyond = np.maximum(seen, 0.5 * largest)
    error = _CAUTION * beyond + _EPS * (32.0 * n + np.abs(log_scale) + 64.0) * np.abs(mass)
    return RowTails(mass, error, log_scale, TILTED)


def log_tail_estimates(magnitudes: Floats, observed: Floats) -> Floats:
    """Estimate the natural logarithm of each tail by its saddlepoint, to a few percent of the tail."""
    law = _TiltedLaw.of(magnitudes, observed)
    width = np.maximum(law.tilt * law.spread, 0.4)
    return np.asarray(law.log_scale - np.log(width * math.sqrt(2.0 * math.pi)))


class _TiltedLaw(NamedTuple):
    """The laws of rows tilted until the observed sum is the mean, in units of their standard deviations."""

    values: Floats
    threshold: Floats
    tilt: Floats
    spread: Floats
    log_scale: Floats

    @classmethod
    def of(cls, magnitudes: Floats, observed: Floats) -> _TiltedLaw:
        unit = np.sqrt(np.sum(magnitudes * magnitudes, axis=1, keepdims=True))
        values, threshold = magnitudes / unit, observed / unit[:, 0]
        tilt = _tilts(values, threshold)
        angles = tilt[:, None] * values
        spread = np.sqrt(np.sum((values / np.cosh(np.minimum(angles, 350.0))) ** 2, axis=1))
        room = np.sum(values, axis=1) - threshold
        log_scale = tilt * room + np.sum(np.log1p(np.exp(-2.0 * angles)), axis=1)
        return cls(values, threshold, tilt, spread, log_scale - values.shape[1] * _LOG2)


class _Point(NamedTuple):
    """Where the tails of some rows begin, how they are tilted, and the distance of their nodes; (rows,)."""

    threshold: Floats
    tilt: Floats
    step: Floats


def _tilted(
    values: Floats, tanhs: Floats, nodes: Floats, point: _Point, backend: Backend
) -> tuple[Any, Any, Any]:
    """Return the inverted tails, and the sum and the largest of what was seen beyond the last node."""
    ship = backend.asarray
    threshold, tilt, step = point
    at = ship(nodes)
    products = tilted_products(ship(values), ship(tanhs), at)
    kept = products[0][:, :_NODES], products[1][:, :_NODES]
    inverted = tilted_tail(
        kept, at[:, :_NODES], ship(threshold[:, None]), ship(tilt[:, None]), ship(step[:, None]), 0.0
    )
    xp = backend.xp
    real, imaginary = products[0][:, _NODES:], products[1][:, _NODES:]
    modulus = xp.sqrt(real * real + imaginary * imaginary)
    weighted = modulus / xp.sqrt(at[:, _NODES:] ** 2 + ship(tilt[:, None]) ** 2)
    seen = xp.sum(weighted, axis=-1) * ship(step / math.pi)
    return inverted[:, 0], seen, xp.max(modulus, axis=-1)


def joined(parts: Sequence[Floats]) -> Floats:
    """Put what several parts gave one after the other; nothing of no parts."""
    return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts]) if parts else np.zeros(0)


def _tilts(values: Floats, threshold: Floats) -> Floats:
    """Solve Σ a tanh(t a) = threshold for every row, by Newton's method inside a bracket."""
    low, high = np.zeros(len(values)), 350.0 / values.max(axis=1)
    tilt = np.minimum(threshold, 0.5 * high)
    for _ in range(40):
        tanhs = np.tanh(tilt[:, None] * values)
        excess = np.sum(values * tanhs, axis=1) - threshold
        low, high = np.where(excess < 0.0, tilt, low), np.where(excess < 0.0, high, tilt)
        slope = np.sum(values * values * (1.0 - tanhs * tanhs), axis=1)
        moved = tilt - excess / np.maximum(slope, 1e-300)
        inside = (moved > low) & (moved < high)
        former, tilt = tilt, np.where(inside, moved, 0.5 * (low + high))
        if np.all(np.abs(tilt - former) <= 1e-3 * tilt):
            break
    return np.asarray(np.maximum(tilt, 0.5))


def counted_tails(multiples: Counts, limits: Counts) -> Floats:
    """Count the subsets of each row of `multiples` (rows, n) that sum to at most its limit, shape (rows,).

    Rows take a value at the same time, those that have it; on the host, as the shapes depend on the data.
    """
    rows = multiples.shape[0]
    counted = np.empty(rows)
    order = np.argsort(limits, kind="stable")
    row_bytes = 4 * _FLOAT_BYTES * (int(limits.max(initial=0)) + 1)
    for part in cut(range(rows), rows_within(row_bytes, min(rows, _ROWS_COUNTED), share=0.25)):
        some = order[part.start : part.stop]
        counts = np.zeros((len(some), int(limits[some].max()) + 1))
        counts[:, 0] = 1.0
        values, place = np.unique(multiples[some], return_inverse=True)
        repeats = np.zeros((len(some), len(values)), dtype=np.int64)
        np.add.at(repeats, (np.arange(len(some))[:, None], place.reshape(len(some), -1)), 1)
        for value, times in zip(values.tolist(), repeats.T, strict=True):
            for time in range(int(times.max()) if 0 < value < counts.shape[1] else 0):
                having = np.flatnonzero(times > time)
                counts[having, value:] += counts[having, :-value]
        within = np.arange(counts.shape[1]) <= limits[some, None]
        counted[some] = np.sum(counts * within, axis=1)
    return counted
