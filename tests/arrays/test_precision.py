"""float64 wherever the device has it, whatever JAX's global setting."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest
from backends import open_variant

from ranklens.arrays import PrecisionWarning, backend_of
from ranklens.arrays import precision as precision_module
from ranklens.stats import paired_bootstrap, permutation_test

DELTAS = np.random.default_rng(5).normal(0.2, 1.0, size=40)


def test_every_backend_computes_in_float64(user_backend):
    with user_backend.precise():
        assert user_backend.asarray([0.5]).dtype == user_backend.xp.float64


@pytest.mark.parametrize("x64", [False, True])
def test_jax_keeps_the_users_setting_and_computes_in_float64(x64):
    backend = open_variant("jax")
    jax = importlib.import_module("jax")
    with jax.enable_x64(x64):
        narrow = jax.numpy.asarray(DELTAS)
        before = jax.config.jax_enable_x64
        p = permutation_test(narrow)
        with backend.precise():
            wide = backend.asarray(DELTAS)
        assert permutation_test(wide) == permutation_test(DELTAS) == p
        interval, expected = paired_bootstrap(wide), paired_bootstrap(DELTAS)
        assert interval.low == pytest.approx(expected.low, rel=1e-14)
        assert jax.config.jax_enable_x64 == before == x64
        assert jax.numpy.asarray([0.5]).dtype == (np.float64 if x64 else np.float32)


def test_a_device_without_float64_says_so_once():
    strict = open_variant("strict").xp
    device = strict.Device("no_float64")
    array = strict.asarray([float(x) for x in DELTAS], dtype=strict.float32, device=device)
    precision_module._widest.cache_clear()
    with pytest.warns(PrecisionWarning, match="has no float64, so float32 is used"):
        backend = backend_of(array)
    assert backend.float_dtype == strict.float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = permutation_test(array)
    # The few flips that lie within float32 rounding of the observed sum may fall on the other side.
    assert p == pytest.approx(permutation_test(DELTAS), abs=5e-4)
    assert paired_bootstrap(array).low == pytest.approx(paired_bootstrap(DELTAS).low, rel=1e-5)
