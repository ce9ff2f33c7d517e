"""Products of float32 decide nothing that float64 would decide otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from ranklens.arrays import host_ends, host_outside, open_backend
from ranklens.kernels.flip_counts import flip_counts
from ranklens.kernels.resampled_ends import resampled_ends
from ranklens.stats.lattice import EPS
from ranklens.stats.rows.lattices import comparable_rows

ALTERNATIVES = ("two-sided", "greater", "less")
RANKS = (49, 50, 1948, 1949)


def rows_of(kind: str, n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    normal = rng.normal(0.05, 0.3, (30, n))
    few = np.where(np.argsort(rng.random(normal.shape), axis=1) < 3, normal, 0.0)
    return {
        "real-valued": normal,
        "tenths": np.round(normal, 1),
        "large integers": np.rint(normal * 1e7),
        "few values": few,
        "sevenths": np.rint(normal * 7) / 7,
        "of very different sizes": normal * 10.0 ** rng.integers(-12, 3, normal.shape),
        "tiny": normal * 1e-280,
        "zeros": np.zeros_like(normal),
    }[kind]


KINDS = [
    "real-valued", "tenths", "large integers", "few values",
    "sevenths", "of very different sizes", "tiny", "zeros",
]  # fmt: skip


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [20, 301])
@pytest.mark.parametrize("kind", KINDS)
def test_flips_count_alike(monkeypatch, kind, n, alternative):
    sample = comparable_rows(rows_of(kind, n), open_backend("numpy"), EPS)
    kept = {"seed": 3, "resamples": range(5, 3000), "alternative": alternative}
    narrow = flip_counts(sample, **kept)
    monkeypatch.setattr(host_outside, "MOST_NARROW", 0)
    monkeypatch.setattr(host_outside, "_EXACT_REACH", 0.0)
    np.testing.assert_array_equal(narrow, flip_counts(sample, **kept))


@pytest.mark.parametrize("n", [20, 301])
@pytest.mark.parametrize("kind", KINDS)
def test_ends_are_equal_to_the_last_bit(monkeypatch, kind, n):
    values = comparable_rows(rows_of(kind, n), open_backend("numpy"), EPS).values
    kept = {"seed": 3, "n_resamples": 1999, "ranks": RANKS}
    narrow = resampled_ends(values, n, **kept)
    monkeypatch.setattr(host_ends, "MOST_NARROW", 0)
    np.testing.assert_array_equal(narrow, resampled_ends(values, n, **kept))
    alone = [resampled_ends(row[None, :], n, **kept)[0] for row in values[:4]]
    np.testing.assert_array_equal(narrow[:4], alone)
