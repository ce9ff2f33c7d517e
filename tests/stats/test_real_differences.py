"""Random flips against all flips on the differences of real runs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ranklens.stats import lattice_of, permutation_test


def per_topic(data_dir, name):
    lines = (data_dir / "per-topic-scores" / name).read_text("utf-8").splitlines()[1:]
    return np.array([[float(cell) for cell in line.split(",")] for line in lines if line])


@pytest.mark.parametrize("name", ["adhoc5_ap.csv", "adhoc7_p10.csv", "web2013_err20.csv"])
def test_random_flips_estimate_the_exact_p_value(data_dir, name):
    scores = per_topic(data_dir, name)
    m = 20_000
    for a, b in itertools.islice(itertools.combinations(range(0, scores.shape[1], 7), 2), 12):
        deltas = scores[:, b] - scores[:, a]
        exact = permutation_test(deltas, method="exact")
        count = permutation_test(deltas, n_permutations=m, seed=a) * (m + 1) - 1
        assert abs(count - m * exact) <= 5 * math.sqrt(m * exact * (1 - exact)) + 1e-6


def test_precision_differences_are_seen_as_tenths(data_dir):
    scores = per_topic(data_dir, "adhoc7_p10.csv")
    for a in range(1, scores.shape[1]):
        deltas = scores[:, a] - scores[:, 0]
        found = lattice_of(deltas)
        assert 10 % found.scale == 0
        np.testing.assert_allclose(found.integers / found.scale, deltas, atol=1e-15)
        assert permutation_test(deltas, n_permutations=500) == permutation_test(
            np.round(10 * deltas), n_permutations=500
        )
