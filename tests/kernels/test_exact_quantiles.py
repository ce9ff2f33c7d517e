"""Characteristic functions of resampled sums, and laws read from them."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from ranklens.arrays import to_host
from ranklens.kernels.exact_quantiles import resampled_characteristic, square_wave_law

STEP = math.pi / 6.0
NODES = (np.arange(32) + 0.5) * STEP


def test_the_characteristic_function_is_a_power_of_the_samples_own(backend):
    values = np.random.default_rng(0).normal(size=(3, 40)) / math.sqrt(40)
    with backend.precise():
        found = resampled_characteristic(backend.asarray(values), STEP, 32)
        real, imaginary = to_host(*found)
    expected = np.mean(np.exp(1j * NODES[:, None, None] * values), axis=-1) ** 40
    np.testing.assert_allclose(real + 1j * imaginary, expected, atol=1e-13)


def test_the_normal_law_comes_back_from_its_characteristic_function(backend):
    places = np.array([-3.0, -1.0, 0.0, 0.5, 2.0])
    # A law of mean 0.25 and standard deviation 1.
    law = np.exp(-0.5 * NODES**2 + 0.25j * NODES)[:, None] * np.ones(5)
    with backend.precise():
        parts = backend.asarray(law.real.copy()), backend.asarray(law.imag.copy())
        below, density = to_host(*square_wave_law(parts, backend.asarray(places), STEP))
    normal = NormalDist(0.25)
    assert below == pytest.approx([normal.cdf(x) for x in places], abs=1e-14)
    assert density == pytest.approx([normal.pdf(x) for x in places], abs=1e-14)


def test_a_row_is_what_it_is_alone():
    values = np.random.default_rng(1).normal(size=(37, 53)) / math.sqrt(53)
    places = np.linspace(-2.0, 2.0, 37)
    together = square_wave_law(resampled_characteristic(values, STEP, 16), places, STEP)
    for i in range(37):
        own = resampled_characteristic(values[i : i + 1], STEP, 16)
        alone = square_wave_law(own, places[i : i + 1], STEP)
        assert [float(part[i]) for part in together] == [float(part[0]) for part in alone]


def test_zeros_that_follow_are_not_drawn(backend):
    values = np.random.default_rng(1).normal(size=(3, 40)) / 40**0.5
    padded = backend.asarray(np.pad(values, ((0, 0), (0, 24))))
    alone = resampled_characteristic(values, STEP, 16)
    for found, expected in zip(
        to_host(*resampled_characteristic(padded, STEP, 16, n=40)), alone, strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-14)
