"""Trees are explained where their rows lie, or where the user wants named rows to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fake_device import FakeArray, fake_array
from tree_games import random_ensemble, random_rows, stump

from ranklens.arrays import Backend, backend_of, use_backend
from ranklens.core import DataError
from ranklens.explain import pairwise, pairwise_many
from ranklens.explain.models.tree_model import EnsembleModel
from ranklens.explain.trees import TreeEnsemble
from ranklens.explain.trees import on_device as module

NAMES = [f"x{i}" for i in range(7)]


@pytest.fixture
def model() -> EnsembleModel:
    return EnsembleModel(random_ensemble(3, 7, n_trees=12, n_inner=15, categorical=True), NAMES)


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The libraries and devices in which the closed form was computed."""
    found: list[tuple[str, Any]] = []
    explained = module._explained

    def noted(tables: Any, codes: Any, backend: Backend) -> Any:
        for code in codes:
            assert (backend_of(code).name, backend_of(code).device) == (backend.name, backend.device)
        found.append((backend.name, backend.device))
        return explained(tables, codes, backend)

    monkeypatch.setattr(module, "_explained", noted)
    return found


def on(backend: Backend, rows: Any) -> Any:
    """Put rows on a device as a user does; JAX has float64 only where the user has switched it on."""
    kind = np.float32 if backend.name == "jax" and rows.dtype.kind == "f" else rows.dtype
    return backend.xp.asarray(rows.astype(kind), device=backend.device)


def pairs() -> tuple[Any, Any]:
    return random_rows(1, 40, 7), random_rows(2, 40, 7)


@pytest.mark.parametrize("groups", [None, [("x0", "x3"), ("x5", "x1", "x6")]])
def test_arrays_are_explained_where_they_lie(
    user_backend: Backend, model: EnsembleModel, places: list[Any], groups: Any
) -> None:
    a, b = pairs()
    found = pairwise_many(model, on(user_backend, a), on(user_backend, b), groups=groups)
    expected = pairwise_many(model, found.values_a, found.values_b, groups=groups)
    np.testing.assert_allclose(found.contributions, expected.contributions, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(found.score_b, expected.score_b)
    assert all(place == (user_backend.name, user_backend.device) for place in places)
    assert bool(places) == (user_backend.name != "numpy")


@pytest.mark.parametrize("name", ["jax", "torch", "array_api_strict"])
def test_names_and_lists_are_explained_where_the_user_wants(
    model: EnsembleModel, places: list[Any], name: str
) -> None:
    pytest.importorskip(name, reason=f"{name} is not installed")
    a, b = pairs()
    expected = pairwise_many(model, a, b)
    records = [dict(zip(NAMES, row, strict=True)) for row in b.tolist()]
    with use_backend(name):
        found = pairwise_many(model, a.tolist(), records)
        one = pairwise(model, dict(zip(NAMES, a[0].tolist(), strict=True)), records[0])
        assert [place[0] for place in places] == [name] * len(places)
        assert places
        places.clear()
        pairwise_many(model, a, b)
    assert not places
    np.testing.assert_allclose(found.contributions, expected.contributions, rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        list(one.contributions.values()), expected.contributions[0], rtol=0, atol=1e-13
    )


def test_one_transfer_to_the_host(model: EnsembleModel) -> None:
    a, b = pairs()
    there, syncs = fake_array(a)
    found = pairwise_many(model, there, FakeArray(b, syncs))
    assert syncs.count == 1
    np.testing.assert_allclose(
        found.contributions, pairwise_many(model, a, b).contributions, rtol=0, atol=1e-13
    )


def test_rows_of_several_libraries_and_one_for_all(user_backend: Backend, model: EnsembleModel) -> None:
    a, b = pairs()
    found = pairwise_many(model, on(user_backend, a[:1]), b)
    expected = pairwise_many(model, np.repeat(found.values_a[:1], 40, axis=0), b)
    np.testing.assert_allclose(found.contributions, expected.contributions, rtol=0, atol=1e-13)
    back = pairwise_many(model, b, on(user_backend, a[:1]))
    np.testing.assert_allclose(back.contributions, -found.contributions, rtol=0, atol=1e-13)


def test_wrong_shapes_and_kinds_are_named(user_backend: Backend, model: EnsembleModel) -> None:
    rows = on(user_backend, pairs()[0])
    with pytest.raises(DataError, match=r"a has shape \(40, 6\); \(n, 7\) is needed"):
        pairwise_many(model, rows[:, :6], rows)
    with pytest.raises(DataError, match="a has 3 rows and b 2"):
        pairwise_many(model, rows[:3, :], rows[:2, :])
    with pytest.raises(DataError, match="b holds 40 rows"):
        pairwise(model, rows[0, :], rows)


def test_whole_numbers_and_flags_are_features(user_backend: Backend) -> None:
    model = EnsembleModel(TreeEnsemble.of([stump(0), stump(1, 1.5)], 2), ["flag", "count"])
    xp = user_backend.xp
    a = on(user_backend, np.asarray([[0, 1], [1, 2]], dtype=np.int32))
    b = on(user_backend, np.asarray([[1, 2], [1, 1]], dtype=np.int32))
    np.testing.assert_array_equal(pairwise_many(model, a, b).contributions, [[5.0, 5.0], [0.0, -5.0]])
    flags = xp.astype(a, xp.bool)
    np.testing.assert_array_equal(pairwise(model, flags[0, :], flags[1, :]).contributions["flag"], 5.0)


def test_integers_that_float64_rounds_are_refused_wherever_they_lie(user_backend: Backend) -> None:
    model = EnsembleModel(TreeEnsemble.of([stump(0), stump(1, 1.5)], 2), ["flag", "count"])
    xp, device = user_backend.xp, user_backend.device
    with user_backend.precise():
        a = xp.asarray([[0, 2**53]], dtype=xp.int64, device=device)
        b = xp.asarray([[1, 2**53 + 1]], dtype=xp.int64, device=device)
        with pytest.raises(DataError, match="'count' of b is 9007199254740993, which float64 rounds"):
            pairwise_many(model, a, b)
