"""What cupy is asked to do, on a double of it, on a card that is not the current one."""

from __future__ import annotations

from collections.abc import Iterator

import cupy_double
import numpy as np
import pytest

import ranklens as rl
from ranklens.arrays import Purpose, backend_of, to_host, words
from ranklens.arrays.counting import count_draws
from ranklens.arrays.draws import draw_words
from ranklens.arrays.philox import device_words
from ranklens.explain import CallableAdapter, QueryFeatures, listwise, pairwise_many

ROWS = np.random.default_rng(0).normal(0.1, 1.0, size=(6, 70))
QUIET = {"n_resamples": 300, "n_permutations": 300, "method": "monte-carlo", "correction": None}


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with cupy_double.installed():
        yield


def cupy_like(values, dtype=np.float64):
    with cupy_double.Device(1):
        array = cupy_double.asarray(values, dtype=dtype)
    assert backend_of(array).name == "cupy"
    assert backend_of(array).on_accelerator
    cupy_double.waits.count = 0
    return array, cupy_double.waits


def test_resamples_are_drawn_on_the_device_and_flips_on_the_host(monkeypatch):
    backend = backend_of(cupy_like(ROWS)[0])
    made = []
    monkeypatch.setattr(
        "ranklens.arrays.draws.device_words", lambda *args: made.append(args) or device_words(*args)
    )
    for purpose in (Purpose.RESAMPLES, Purpose.FLIPS):
        with backend.precise():
            (drawn,) = to_host(draw_words(backend, 3, 4090, 4100, range(2), purpose))
        expected = words(3, 4090, 4100, 2, purpose)
        np.testing.assert_array_equal(drawn.view(np.uint64), expected)
    assert len(made) == 1


def test_draws_are_counted_without_waiting():
    indices, syncs = cupy_like([[0, 1], [0, 2], [3, 2]], np.int64)
    backend = backend_of(indices)
    with backend.precise():
        counts = count_draws(backend, indices, 4)
    assert syncs.count == 0
    np.testing.assert_array_equal(to_host(counts)[0], [[2, 0, 0, 1], [0, 1, 2, 0]])


@pytest.mark.parametrize("n_rows", [1, 6])
def test_a_batch_waits_once_and_gives_what_numpy_gives(n_rows):
    array, syncs = cupy_like(ROWS[:n_rows])
    found = rl.compare_deltas(array, **QUIET)
    assert syncs.count == 1
    expected = rl.compare_deltas(ROWS[:n_rows], **QUIET)
    np.testing.assert_array_equal(found.p_value, expected.p_value)
    np.testing.assert_allclose(found.ci_low, expected.ci_low, rtol=1e-12)
    np.testing.assert_allclose(found.ci_high, expected.ci_high, rtol=1e-12)


@pytest.mark.parametrize("mask", [None, np.arange(70) < np.array([70, 60, 60, 50, 70, 50])[:, None]])
def test_missing_queries_wait_no_more(mask):
    array, syncs = cupy_like(ROWS)
    found = rl.compare_deltas(array, mask=mask, **QUIET)
    assert syncs.count == 1
    expected = rl.compare_deltas(ROWS, mask=mask, **QUIET)
    np.testing.assert_array_equal(found.p_value, expected.p_value)
    np.testing.assert_allclose(found.ci_high, expected.ci_high, rtol=1e-12)


def test_exact_methods_wait_at_most_twice():
    array, syncs = cupy_like(ROWS)
    found = rl.compare_deltas(array, method="exact", correction=None)
    assert syncs.count <= 2
    expected = rl.compare_deltas(ROWS, method="exact", correction=None)
    np.testing.assert_allclose(found.p_value, expected.p_value, rtol=1e-9)


def test_single_calls_wait_once():
    array, syncs = cupy_like(ROWS[0])
    assert rl.permutation_test(array) == rl.permutation_test(ROWS[0])
    assert syncs.count == 1
    found, expected = rl.paired_bootstrap(array), rl.paired_bootstrap(ROWS[0])
    assert syncs.count == 2
    np.testing.assert_allclose([found.low, found.high], [expected.low, expected.high], rtol=1e-12)


def test_models_are_asked_on_the_card_of_their_features():
    rng, cards = np.random.default_rng(0), set()
    rows, names, documents = rng.normal(size=(8, 3)), ["x", "y", "z"], list("abcdefgh")
    queries = [[(0, 1, 2, 3), [2, 0, 1, 0]], [(4, 5, 6, 7), [0, 1, 0, 3]]]

    def scores(x):
        cards.add(cupy_double.current_card() if isinstance(x, cupy_double.ndarray) else None)
        return x[:, 0] * x[:, 1] + 2.0 * x[:, 2]

    def found(put):
        model = CallableAdapter(scores, names)
        features = [
            QueryFeatures.of(
                str(i), [documents[p] for p in places], put(rows[list(places)]), grades, names=names
            )
            for i, (places, grades) in enumerate(queries)
        ]
        a, b = put(rows[:1]), put(rows[1:])
        return listwise(model, features, "nDCG").importances, pairwise_many(model, a, b).contributions

    expected = found(lambda values: values)
    assert cards == {None}
    cards.clear()
    there = found(lambda values: cupy_like(values)[0])
    assert cards == {1}
    np.testing.assert_allclose(there[1], expected[1], rtol=1e-12, atol=1e-12)
    assert dict(there[0]) == pytest.approx(dict(expected[0]), rel=1e-12)
