"""Bca and studentized intervals of groups of rows: one product for all, then each row at its own places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import Backend, steady
from ranklens.kernels.resample_sums import resample_sums
from ranklens.stats.interval_levels import Tails
from ranklens.stats.moments import ROUNDING
from ranklens.stats.options import Options, tail_of
from ranklens.stats.resampled import Resampled
from ranklens.stats.rows.design_alone import differs_alone, mend, near_ends, rounding_of
from ranklens.stats.rows.design_sample import Ends, Sample
from ranklens.stats.rows.jobs import Job

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.bool_]


def ends_of_kind(sample: Sample, options: Options) -> Job[Ends]:
    """Return the estimates and intervals of the rows of a sample, whose resampled sums come to the host."""
    tail = tail_of(options.alpha, options.alternative)
    make = _squared_sums if options.interval == "studentized" else _ratios
    resampled = yield from make(sample, options)
    rows = [resampled.row(i) for i in range(len(resampled.totals))]
    found = np.array([(row.ratio, *row.interval(options.interval, tail)) for row in rows]).reshape(-1, 3)
    return Ends(*(sample.unscaled(column, resampled.factor) for column in found.T))


class _Resampled(NamedTuple):
    """Totals (k, n), what they were multiplied with (k,), the sizes, and sums over resamples (k, p, m)."""

    totals: Floats
    factor: Floats
    sizes: Floats
    sums: Floats

    def row(self, i: int) -> Resampled:
        return Resampled(self.totals[i], self.sizes, self.sums[i])


def _on_host(sample: Sample, *arrays: Any) -> Job[tuple[Floats, ...]]:
    """Return the totals, their factors and more arrays on the host."""
    totals, factor, *rest = yield sample.values, sample.factor, *arrays
    return tuple(np.asarray(x, dtype=np.float64) for x in (totals[:, : sample.n], factor, *rest))


def _ratios(sample: Sample, options: Options) -> Job[_Resampled]:
    """Return the resampled ratios, as a single sample has them; as sums over sizes of 1."""
    drawn: dict[str, Any] = {"seed": options.seed, "resamples": range(options.n_resamples)}
    sums = resample_sums(sample.values, sample.n, **drawn)
    own = np.full(options.n_resamples, float(sample.n))
    if sample.sizes.min() == sample.sizes.max():
        totals, factor, sums = yield from _on_host(sample, sums)
    else:
        sizes = steady(sample.backend.asarray(sample.sizes), sample.backend)
        own_sums = resample_sums(sizes, sample.n, **drawn)
        totals, factor, sums, own = yield from _on_host(sample, sums, own_sums)
    ratios = np.stack([sums / own, np.broadcast_to(np.float64(1.0), sums.shape)], axis=1)
    found = _Resampled(totals, factor, sample.sizes, ratios)
    if sample.backend.name == "numpy" and differs_alone(*totals.shape):
        # First those that decide about the bias, and with it about the places of the ends.
        for places in (_near_the_estimate, _near_the_ends):
            pairs = [_numbered(i, places(found.row(i), own, options)) for i in range(len(totals))]
            mend(ratios[:, 0], np.concatenate(pairs, axis=1), totals, options.seed, own)
    return found


def _near_the_estimate(row: Resampled, sizes: Floats, options: Options) -> Rows:
    band = ROUNDING * float(np.abs(row.totals).sum() / row.sizes.sum())
    slack = rounding_of(row.totals[None, :]) / sizes
    return np.asarray(np.abs(np.abs(row.sums[0] - row.ratio) - band) <= slack)


def _near_the_ends(row: Resampled, sizes: Floats, options: Options) -> Rows:
    tails = row.tails(options.interval, tail_of(options.alpha, options.alternative), row.sums[0])
    slack = rounding_of(row.totals[None, :]) / sizes
    return np.asarray(near_ends(row.sums[:1], _around(row.sums[0], tails), slack)[0])


def _numbered(i: int, near: Rows) -> Counts:
    resamples = np.flatnonzero(near)
    return np.stack([np.full_like(resamples, i), resamples])


def _around(statistics: Floats, tails: Tails) -> Floats:
    """Return the neighbours of both ends among statistics (m,), shape (1, 4)."""
    last = len(statistics) - 1
    low, high = int(tails.below * last), int(tails.above * last)
    places = [low, min(low + 1, last), max(last - high - 1, 0), last - high]
    return np.asarray(np.partition(statistics, sorted(set(places)))[places])[None, :]


def _squared_sums(sample: Sample, options: Options) -> Job[_Resampled]:
    """Return the sums of what standard errors of resamples are made of: 2 or 5 of each row.

    See `ranklens.kernels.resample_moments`.
    """
    xp, n = sample.backend.xp, sample.n
    drawn: dict[str, Any] = {"seed": options.seed, "resamples": range(options.n_resamples)}
    sizes = steady(sample.backend.asarray(sample.sizes), sample.backend)
    total = xp.sum(sample.values, axis=-1, keepdims=True)
    if sample.sizes.min() == sample.sizes.max():
        # Zeros behind the sample stay zeros.
        away = sample.values - total / n * sizes
        sums = resample_sums(xp.concat([away, away * away], axis=0), n, **drawn)
        totals, factor, away, sums = yield from _on_host(sample, away[:, :n], sums)
        found = _Resampled(totals, factor, sample.sizes, np.moveaxis(sums.reshape(2, len(totals), -1), 0, 1))
        _mend_sums(found, {0: away, 1: away * away}, 2 * len(totals), options, sample.backend)
        return found
    away = sample.values - total / xp.sum(sizes) * sizes
    own = resample_sums(xp.concat([away, away * away, away * sizes], axis=0), n, **drawn)
    shared = resample_sums(xp.stack([sizes, sizes * sizes]), n, **drawn)
    totals, factor, away, own, shared = yield from _on_host(sample, away[:, :n], own, shared)
    moved, squares, products = own.reshape(3, len(totals), -1)
    size_sums, size_squares = (np.broadcast_to(column, moved.shape) for column in shared)
    sums = np.stack([moved, size_sums, squares, products, size_squares], axis=1)
    found = _Resampled(totals, factor, sample.sizes, sums)
    summed = {0: away, 2: away * away, 3: away * sample.sizes}
    _mend_sums(found, summed, 3 * len(totals), options, sample.backend)
    return found


def _mend_sums(
    found: _Resampled, summed: Mapping[int, Floats], n_rows: int, options: Options, backend: Backend
) -> None:
    """Make those sums again that decide about the ends, by their places among those of a row."""
    if backend.name != "numpy" or not differs_alone(n_rows, found.totals.shape[1]):
        return
    tail = tail_of(options.alpha, options.alternative)
    pairs = [_numbered(i, found.row(i).deciding(tail)) for i in range(len(found.totals))]
    for place, values in summed.items():
        mend(found.sums[:, place], np.concatenate(pairs, axis=1), values, options.seed)
