"""Chebyshev moments of rows, and what a few weighted values make of them, on every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from numpy.testing import assert_allclose

from ranklens.arrays import Backend, to_host
from ranklens.kernels.exact_fourier import cosine_products, tilted_products
from ranklens.kernels.exact_moments import (
    chebyshev_moments,
    quadrature_cosine_products,
    quadrature_log_mgf,
    quadrature_tilted_products,
    quadrature_times,
)
from ranklens.stats.exact.quadrature import chebyshev_points


def host(array: Any) -> np.ndarray:
    return to_host(array)[0]


def rows(n: int) -> np.ndarray:
    """Draw two ascending rows as columns, with squares that add up to one; zeros before one of them."""
    values = np.abs(np.random.default_rng(n).normal(size=(n, 2)))
    values[: n // 4, 1] = 0.0
    values.sort(axis=0)
    return values / np.sqrt((values**2).sum(axis=0))


def quadrature(values: np.ndarray, n_points: int, backend: Backend) -> tuple[Any, Any]:
    ship, largest = backend.asarray, values[-1]
    points, to_weights = chebyshev_points(n_points)
    squares = ship(points[:, None] * largest**2)
    moments = chebyshev_moments(ship(values), ship(largest), n_points)
    return backend.xp.sqrt(squares), quadrature_times(moments, ship(to_weights), squares)


@pytest.mark.parametrize("n_moments", [2, 3, 9, 24])
def test_moments_are_sums_of_chebyshev_polynomials(backend: Backend, n_moments: int) -> None:
    values = rows(400)
    found = host(chebyshev_moments(backend.asarray(values), backend.asarray(values[-1]), n_moments))
    at = 2.0 * (values / values[-1]) ** 2 - 1.0
    expected = [
        (values**2 * chebyshev.chebval(at, np.eye(n_moments)[k])).sum(axis=0) for k in range(n_moments)
    ]
    assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("degree", range(8))
def test_the_weighted_values_have_the_sums_of_every_even_power(backend: Backend, degree: int) -> None:
    values = rows(300)
    few, times = (host(array) for array in quadrature(values, 8, backend))
    expected = (values ** (2 * degree + 2)).sum(axis=0)
    assert_allclose((times * few ** (2 * degree + 2)).sum(axis=0), expected, rtol=1e-11)


def test_they_have_the_characteristic_function_of_the_row(backend: Backend) -> None:
    values, ship = rows(900), backend.asarray
    nodes = np.linspace(0.2, 5.0, 7)[:, None] * np.array([1.0, 1.1])
    few, times = quadrature(values, 16, backend)
    found = host(quadrature_cosine_products(few, times, ship(nodes)))
    expected = host(cosine_products(ship(values.T.copy()), ship(nodes.T.copy()))).T
    assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("rates", [(0.5, 1.0), (6.0, 9.0)])
def test_they_have_the_tilted_one_and_its_scale(backend: Backend, rates: tuple[float, float]) -> None:
    values, ship, tilt = rows(900), backend.asarray, np.array(rates)
    nodes = np.linspace(0.2, 5.0, 7)[:, None] * np.array([1.0, 1.1])
    few, times = quadrature(values, 24, backend)
    found = to_host(*quadrature_tilted_products(few, times, ship(tilt), ship(nodes)))
    tanhs = np.tanh(tilt * values)
    turned = (ship(np.ascontiguousarray(array.T)) for array in (values, tanhs, nodes))
    expected = [array.T for array in to_host(*tilted_products(*turned))]
    assert_allclose(np.stack(found), np.stack(expected), atol=1e-12)
    scale = host(quadrature_log_mgf(few, times, ship(tilt)))
    assert_allclose(scale, np.log(np.cosh(tilt * values)).sum(axis=0), rtol=1e-12)


def test_a_row_by_itself_has_the_same_moments_whatever_lies_next_to_it() -> None:
    values = rows(800)
    first = chebyshev_moments(values[:, :1].copy(), values[-1, :1], 12)
    again = chebyshev_moments(values[:, :1] + 0.0, values[-1, :1].copy(), 12)
    assert np.array_equal(first, again)
