"""Bca and studentized intervals of groups of rows: one product for all, then each row at its own places."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklens.arrays import steady, to_host
from ranklens.kernels.resample_sums import resample_sums
from ranklens.stats.interval_levels import Tails
from ranklens.stats.moments import ROUNDING
from ranklens.stats.options import Options, tail_of
from ranklens.stats.resampled import Resampled
from ranklens.stats.rows.design_alone import differs_alone, mend, near_ends, rounding_of
from ranklens.stats.rows.design_sample import Ends, Sample

Floats = NDArray[np.float64]

_NEAR = 1e-9
_LITTLE_SPREAD = 1e-6


def ends_of_kind(sample: Sample, options: Options) -> Ends:
    """Return the estimates and intervals of the rows of a sample, whose resampled sums come to the host."""
    tail = tail_of(options.alpha, options.alternative)
    if options.interval == "studentized":
        host, factor, sums = _squared_sums(sample, options)
        rows = [Resampled(host[i], sample.sizes, own) for i, own in enumerate(sums)]
    else:
        host, factor, ratios = _ratios(sample, options, tail)
        # Ratios are sums over sizes of 1.
        rows = [
            Resampled(host[i], sample.sizes, np.stack([own, np.ones_like(own)]))
            for i, own in enumerate(ratios)
        ]
    found = np.array([(row.ratio, *row.interval(options.interval, tail)) for row in rows]).reshape(-1, 3)
    return Ends(*(sample.unscaled(column, factor) for column in found.T))


def _on_host(sample: Sample, *arrays: Any) -> tuple[Floats, ...]:
    """Return the totals, their factors and more arrays on the host."""
    totals, factor, *rest = to_host(sample.values, sample.factor, *arrays)
    return tuple(np.asarray(x, dtype=np.float64) for x in (totals[:, : sample.n], factor, *rest))


def _ratios(sample: Sample, options: Options, tail: float) -> tuple[Floats, Floats, Floats]:
    """Return the totals, their factors and the resampled ratios (k, m), as a single sample has them."""
    drawn: dict[str, Any] = {"seed": options.seed, "resamples": range(options.n_resamples)}
    sums = resample_sums(sample.values, sample.n, **drawn)
    even = bool(sample.sizes.min() == sample.sizes.max())
    if even:
        host, factor, sums = _on_host(sample, sums)
        sizes: Floats | float = float(sample.n)
    else:
        own = steady(sample.backend.asarray(sample.sizes), sample.backend)
        host, factor, sums, sizes = _on_host(sample, sums, resample_sums(own, sample.n, **drawn))
    ratios = sums / sizes
    if sample.backend.name == "numpy" and differs_alone(*host.shape):
        _mend_ratios(ratios, host, sample.sizes, sizes, options, tail)
    return host, factor, ratios


def _mend_ratios(
    ratios: Floats, host: Floats, sizes: Floats, size_sums: Floats | float, options: Options, tail: float
) -> None:
    """Make those ratios again that decide about the bias, and those near the ends."""
    for i in range(len(ratios)):
        part = slice(i, i + 1)
        row = Resampled(host[i], sizes, np.stack([ratios[i], np.ones_like(ratios[i])]))
        slack = rounding_of(host[part])[:, None] / size_sums
        band = ROUNDING * float(np.abs(host[i]).sum() / sizes.sum())
        around = np.abs(np.abs(ratios[part] - row.ratio) - band) <= slack
        mend(ratios[part], around, host[part], options.seed, size_sums)
        ends = _around(ratios[i], row.tails(options.interval, tail, ratios[i]))
        mend(ratios[part], near_ends(ratios[part], ends, slack), host[part], options.seed, size_sums)


def _around(statistics: Floats, tails: Tails) -> Floats:
    """Return the neighbours of both ends among statistics (m,), shape (1, 4)."""
    last = len(statistics) - 1
    low, high = int(tails.below * last), int(tails.above * last)
    places = [low, min(low + 1, last), max(last - high - 1, 0), last - high]
    return np.asarray(np.partition(statistics, sorted(set(places)))[places])[None, :]


def _squared_sums(sample: Sample, options: Options) -> tuple[Floats, Floats, Floats]:
    """Return the totals, their factors, and the sums of what standard errors of resamples are made of.

    These have shape (k, 2 or 5, m), see `ranklens.kernels.resample_moments`.
    """
    xp, n = sample.backend.xp, sample.n
    drawn: dict[str, Any] = {"seed": options.seed, "resamples": range(options.n_resamples)}
    sizes = steady(sample.backend.asarray(sample.sizes), sample.backend)
    total = xp.sum(sample.values, axis=-1, keepdims=True)
    if sample.sizes.min() == sample.sizes.max():
        # Zeros behind the sample stay zeros.
        away = sample.values - total / n * sizes
        sums = resample_sums(xp.concat([away, away * away], axis=0), n, **drawn)
        host, factor, away, sums = _on_host(sample, away[:, :n], sums)
        sums = sums.reshape(2, len(host), -1)
        if sample.backend.name == "numpy" and differs_alone(2 * len(host), n):
            _mend_squares(sums, host, away, options)
        return host, factor, np.moveaxis(sums, 0, 1)
    away = sample.values - total / xp.sum(sizes) * sizes
    own = resample_sums(xp.concat([away, away * away, away * sizes], axis=0), n, **drawn)
    shared = resample_sums(xp.stack([sizes, sizes * sizes]), n, **drawn)
    host, factor, own, shared = _on_host(sample, own, shared)
    moved, squares, products = own.reshape(3, len(host), -1)
    size_sums, size_squares = (np.broadcast_to(column, moved.shape) for column in shared)
    return host, factor, np.stack([moved, size_sums, squares, products, size_squares], axis=1)


def _mend_squares(sums: Floats, host: Floats, away: Floats, options: Options) -> None:
    """Make those sums (2, k, m) again that decide about the ends."""
    tail, n = tail_of(options.alpha, options.alternative), host.shape[1]
    for i in range(len(host)):
        t = Resampled(host[i], np.ones(n), sums[:, i]).t_statistics()
        ends = _around(t, Tails(tail, tail))
        with np.errstate(invalid="ignore"):
            near = near_ends(t[None, :], ends, _NEAR * (1.0 + np.abs(t)))
        moved, squares = sums[:, i]
        near |= (squares - moved * moved / n <= _LITTLE_SPREAD * squares)[None, :]
        near |= (np.abs(t) <= _NEAR)[None, :]
        for which, values in enumerate((away[i : i + 1], away[i : i + 1] ** 2)):
            mend(sums[which, i : i + 1], near, values, options.seed, 1.0)
