"""Exact p-values against an inversion with far more nodes: what comes back of a law late is bounded, too."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklens.kernels.exact_fourier import cosine_products
from ranklens.stats.exact.p_value import exact_p_value

Floats = NDArray[np.float64]

N_NODES, AT_ONCE = 20_000, 2_000


def many_nodes_p_value(deltas: Floats) -> float:
    """Integrate the characteristic function of the flipped sum until the noise of every row here ends it."""
    sizes = np.abs(deltas[deltas != 0.0])
    observed = abs(math.fsum(deltas.tolist()))
    step = 2.0 * math.pi / (observed + 9.0 * math.sqrt(float(np.dot(sizes, sizes))))
    inside = 0.0
    for first in range(0, N_NODES, AT_ONCE):
        odd = np.arange(first, first + AT_ONCE) + 0.5
        products = cosine_products(sizes, odd * step)
        inside += float(np.sum(2.0 / math.pi / odd * np.sin(odd * step * observed) * products))
    return 1.0 - inside


def two_sizes_with_noise_in_proportion(rng: np.random.Generator, n: int) -> Floats:
    return (
        rng.choice([1.0, 2.3], n) * (1.0 + 1e-3 * rng.normal(size=n)) * rng.choice([-1, 1], n, p=[0.45, 0.55])
    )


def tenths_with_noise(rng: np.random.Generator, n: int) -> Floats:
    return rng.integers(-10, 11, n) / 10 + rng.choice([3e-3, 1e-2]) * rng.normal(size=n)


def narrowly_spread(rng: np.random.Generator, n: int) -> Floats:
    return (1.0 + rng.choice([0.02, 0.1, 0.3]) * rng.uniform(-1, 1, n)) * rng.choice(
        [-1, 1], n, p=[0.45, 0.55]
    )


def normal(rng: np.random.Generator, n: int) -> Floats:
    return rng.normal(0.05, 1.0, n)


@pytest.mark.parametrize("n", [60, 100, 150, 200, 250, 300])
@pytest.mark.parametrize(
    "draw", [two_sizes_with_noise_in_proportion, tenths_with_noise, narrowly_spread, normal]
)
def test_the_p_value_is_within_its_bound(draw, n):
    for seed in range(3):
        deltas = draw(np.random.default_rng([seed, n]), n)
        found = exact_p_value(deltas)
        assert abs(found.p_value - many_nodes_p_value(deltas)) <= found.p_error + 1e-12


@pytest.mark.parametrize("n", [60, 100, 150, 200, 250, 300, 400])
def test_the_bound_is_tight_where_nothing_comes_back(n):
    for seed in range(3):
        assert exact_p_value(normal(np.random.default_rng([seed, n]), n)).p_error <= 1e-8
