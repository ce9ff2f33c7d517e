"""Nothing is forgotten on the processor, and nothing waits, where torch works on another device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

import torch_card

import ranklens as rl
from ranklens.arrays import Backend, Purpose, open_backend, to_host, words
from ranklens.arrays import choice as choice_module
from ranklens.arrays.backend import make_backend
from ranklens.arrays.philox import device_words

N = 70
ROWS = np.random.default_rng(0).normal(0.1, 1.0, size=(6, N))
FEW = {"method": "monte-carlo", "n_resamples": 200, "n_permutations": 200, "correction": None}
OPTIONS: dict[str, dict[str, Any]] = {
    "max-T": {"correction": "maxt"},
    "bca": {"interval": "bca"},
    "studentized": {"interval": "studentized"},
    "expanded": {"interval": "expanded"},
    "masked": {"mask": np.arange(N) < np.array([70, 60, 60, 50, 70, 44])[:, None]},
    "clusters": {"clusters": np.arange(N) // 3},
    "weights": {"weights": np.arange(N) % 5 + 1.0},
    "margin": {"margin": 0.2, "alternative": "greater"},
}


@pytest.fixture
def card() -> Iterator[Backend]:
    with torch_card.inserted() as device:
        yield make_backend("torch", open_backend("torch").xp, device)


def test_the_card_refuses_what_a_card_refuses(card):
    array = card.asarray([1.0, 2.0])
    assert card.on_accelerator
    with pytest.raises(AssertionError, match="waits"):
        bool(array[0] > 0)
    with pytest.raises(AssertionError, match="mask"):
        array[array > 1.0]
    with pytest.raises(AssertionError, match="on the card and on the host"):
        array + card.xp.ones(2, device="cpu")
    np.testing.assert_array_equal(to_host(array)[0], [1.0, 2.0])
    assert torch_card.waits.count == 1


def test_words_are_those_of_the_host(card):
    (made,) = to_host(device_words(card, 7, 4090, 4106, range(3), Purpose.RESAMPLES))
    np.testing.assert_array_equal(made.view(np.uint64), words(7, 4090, 4106, 3, Purpose.RESAMPLES))


@pytest.mark.parametrize("name", OPTIONS)
def test_sampling_comes_to_the_host_once(card, name):
    options = FEW | OPTIONS[name]
    there = card.asarray(ROWS)
    torch_card.waits.count = 0
    found = rl.compare_deltas(there, **options)
    assert torch_card.waits.count == 1
    expected = rl.compare_deltas(ROWS, **options)
    np.testing.assert_array_equal(found.p_value, expected.p_value)
    np.testing.assert_allclose(found.ci_low, expected.ci_low, rtol=1e-12, atol=1e-12)


def test_exact_methods_come_to_the_host_twice(card):
    found = rl.compare_deltas(card.asarray(ROWS), method="exact", correction=None)
    assert torch_card.waits.count <= 2
    expected = rl.compare_deltas(ROWS, method="exact", correction=None)
    np.testing.assert_allclose(found.p_value, expected.p_value, rtol=1e-9)


def test_measures_come_to_the_host_once(card):
    rng = np.random.default_rng(0)
    qrels = {f"q{q}": {f"d{d}": int(rng.integers(0, 4)) for d in range(8)} for q in range(12)}
    runs = {
        name: {query: {f"d{d}": float(rng.normal()) for d in range(10)} for query in qrels} for name in "ab"
    }
    measures = ["nDCG@10", "AP", "RR", "P@10", "ERR@10", "RBP", "Rprec", "bpref", "Judged@5"]
    expected = rl.evaluate_many(runs, qrels, measures)
    with choice_module._chosen.change(card):
        found = rl.evaluate_many(runs, qrels, measures)
    assert torch_card.waits.count == 1
    for name in runs:
        for measure in measures:
            assert found[name][measure].mean == pytest.approx(expected[name][measure].mean, rel=1e-12)
