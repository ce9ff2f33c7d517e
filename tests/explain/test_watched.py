"""Progress of pairwise explanations, told in the rows that the model has scored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ranklens.explain import CallableAdapter, adapt, pairwise, pairwise_many

NAMES = [f"x{i}" for i in range(14)]


def product(x: Any) -> Any:
    return x[:, 0] * x[:, 1] + x.sum(axis=1)


def told_of(model: Any, a: Any, b: Any, **options: Any) -> tuple[list[tuple[int, int]], Any]:
    told: list[tuple[int, int]] = []
    found = pairwise_many(model, a, b, progress=lambda *at: told.append(at), **options)
    return told, found


@pytest.mark.parametrize("options", [{"max_rows": 500}, {"n_permutations": 6}, {"method": "exact"}])
@pytest.mark.parametrize("groups", [None, [("x0", "x3"), ("x5", "x1", "x6")]])
def test_rows_are_counted_up_to_all_of_them(options: dict[str, Any], groups: Any) -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 3, 14))
    b[1, 3:] = a[1, 3:]
    b[2] = a[2]
    if "method" in options:
        options = {**options, "max_rows": 2**14}
    told, found = told_of(CallableAdapter(product, NAMES), a, b, batch_rows=100, groups=groups, **options)
    total = int(found.n_model_rows.sum())
    assert told[-1] == (total, total)
    assert len(told) == -(-total // 100)
    assert told == sorted(told)
    again = pairwise_many(CallableAdapter(product, NAMES), a, b, batch_rows=100, groups=groups, **options)
    np.testing.assert_array_equal(found.contributions, again.contributions)


def test_programs_count_the_rows_that_they_make_themselves() -> None:
    jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")
    model = adapt(lambda w, x: x @ w, ["x", "y", "z"], params=jnp.asarray([1.0, 2.0, 3.0]))
    told, found = told_of(model, np.zeros((4, 3)), np.ones((4, 3)))
    assert told[-1] == (32, 32)
    np.testing.assert_allclose(found.contributions, [[1.0, 2.0, 3.0]] * 4)


def test_one_pair_tells_as_well() -> None:
    told: list[tuple[int, int]] = []
    pairwise(CallableAdapter(product, NAMES), [0.0] * 14, [1.0] * 14, progress=lambda *at: told.append(at))
    assert told[-1][0] == told[-1][1] <= 4096
