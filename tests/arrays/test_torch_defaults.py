"""What a torch user has set as defaults changes no result, and nothing is left changed."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from backends import open_variant

import ranklens as rl
from ranklens.arrays import current_backend, to_host

ROWS = np.random.default_rng(0).normal(0.1, 1.0, size=(5, 60))
QUIET = {"n_resamples": 300, "n_permutations": 300, "method": "monte-carlo", "correction": "maxt"}


@pytest.fixture
def torch():
    open_variant("torch")
    return importlib.import_module("torch")


def numbers(deltas):
    """Return everything that a batch and its first row alone give."""
    table = rl.compare_deltas(deltas, **QUIET)
    exact = rl.compare_deltas(deltas, method="exact", correction=None)
    interval = rl.paired_bootstrap(deltas[0], n_resamples=300)
    found = [table.p_value, table.q_value, table.ci_low, table.ci_high, exact.p_value, exact.ci_low]
    return np.concatenate([*found, [interval.low, interval.high, rl.permutation_test(deltas[0])]])


@pytest.fixture
def expected():
    return numbers(ROWS)


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_the_default_type_does_not_matter(torch, expected, kind):
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, kind))
    try:
        same(numbers(torch.asarray(ROWS)), expected)
        with rl.use_backend("torch"):
            same(numbers(ROWS.tolist()), expected)
        assert torch.get_default_dtype() == getattr(torch, kind)
    finally:
        torch.set_default_dtype(before)


def test_a_default_device_that_computes_nothing_is_passed_over(torch, expected):
    tensor = torch.asarray(ROWS)
    with torch.device("meta"):
        same(numbers(tensor), expected)
        with rl.use_backend("torch"):
            assert current_backend().device == torch.device("cpu")
            same(numbers(ROWS.tolist()), expected)
        assert torch.get_default_device() == torch.device("meta")


def test_tensors_that_record_gradients_are_taken_without(torch, expected):
    tensor = torch.asarray(ROWS).requires_grad_()
    same(numbers(tensor), expected)
    assert tensor.requires_grad
    assert tensor.grad is None
    (host,) = to_host(tensor)
    np.testing.assert_array_equal(host, ROWS)


def test_tensors_need_not_be_contiguous(torch, expected):
    by_column = torch.asarray(np.ascontiguousarray(ROWS.T)).T
    every_other = torch.asarray(np.repeat(ROWS, 2, axis=1))[:, ::2]
    expanded = torch.asarray(ROWS[0]).expand(5, 60)
    assert not any(tensor.is_contiguous() for tensor in (by_column, every_other, expanded))
    same(numbers(by_column), expected)
    same(numbers(every_other), expected)
    same(numbers(expanded), numbers(np.tile(ROWS[0], (5, 1))))


def test_inference_mode_and_no_grad_change_nothing(torch, expected):
    for mode in (torch.inference_mode, torch.no_grad):
        with mode():
            same(numbers(torch.asarray(ROWS)), expected)


def test_deterministic_algorithms_suffice(torch, expected):
    torch.use_deterministic_algorithms(True)
    try:
        same(numbers(torch.asarray(ROWS)), expected)
    finally:
        torch.use_deterministic_algorithms(False)
