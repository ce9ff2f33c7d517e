"""Torch modules as models."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ranklens.core import ModelError
from ranklens.explain import adapt, pairwise, pairwise_many
from ranklens.explain.models import CallableAdapter, TorchModel

torch = pytest.importorskip("torch")


def network(k: int, dtype: Any = None) -> Any:
    torch.manual_seed(0)
    layers = (torch.nn.Linear(k, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    return torch.nn.Sequential(*layers).to(dtype or torch.float32)


def names_for(k: int) -> list[str]:
    return [f"x{i}" for i in range(k)]


@pytest.mark.parametrize("method", ["exact", "antithetic", "regression"])
def test_a_module_is_explained_as_its_function_is(method: str) -> None:
    module = network(9, torch.float64).eval()
    model = adapt(module, names_for(9))
    assert isinstance(model, TorchModel)
    a, b = np.random.default_rng(0).normal(size=(2, 9))
    found = pairwise(model, a, b, method=method, max_rows=200)

    def by_hand(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return np.asarray(module(torch.asarray(x))[:, 0])

    right = pairwise(CallableAdapter(by_hand, model.names), a, b, method=method, max_rows=200)
    assert found.contributions == pytest.approx(dict(right.contributions), abs=1e-12)


def test_single_precision_scores_still_sum_exactly() -> None:
    model = adapt(network(12), names_for(12))
    a, b = np.random.default_rng(1).normal(size=(2, 5, 12))
    found = pairwise_many(model, a, b)
    np.testing.assert_allclose(found.contributions.sum(axis=1), found.delta, rtol=0, atol=1e-12)


def test_the_mode_of_every_part_is_put_back() -> None:
    module = network(3)
    module.train()
    module[1].eval()
    modes = [part.training for part in module.modules()]
    statistics = module[1].running_mean.clone()
    first = pairwise(adapt(module, names_for(3)), [0.0] * 3, [1.0] * 3)
    assert [part.training for part in module.modules()] == modes
    assert torch.equal(module[1].running_mean, statistics)
    assert pairwise(adapt(module, names_for(3)), [0.0] * 3, [1.0] * 3) == first


def test_no_gradient_is_recorded_and_nothing_leaves_the_device() -> None:
    seen = []

    class Watched(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))

        def forward(self, x: Any) -> Any:
            seen.append((type(x), x.device, x.dtype, torch.is_grad_enabled()))
            return x @ self.weight

    found = pairwise(adapt(Watched(), ["x", "y"]), (1, 2), (3, 5))
    assert found.contributions == {"x": 2.0, "y": 3.0}
    assert seen == [(torch.Tensor, torch.device("cpu"), torch.float64, False)]
    assert torch.is_grad_enabled()


def test_a_function_that_uses_torch_gets_tensors() -> None:
    def score(x: Any) -> Any:
        return torch.tanh(x[:, 0]) * x[:, 1]

    model = adapt(score, ["x", "y"])
    assert model.backend.name == "torch"
    assert pairwise(model, (0.0, 2.0), (0.0, 3.0)).contributions == {"x": 0.0, "y": 0.0}


def test_a_function_that_converts_to_torch_inside_gets_numpy() -> None:
    layer = torch.nn.Linear(2, 1, dtype=torch.float64)

    def score(x: Any) -> Any:
        return layer(torch.from_numpy(x)).detach().numpy()[:, 0]

    weights = layer.weight.tolist()[0]
    found = pairwise(adapt(score, ["x", "y"]), (0.0, 0.0), (1.0, 1.0))
    assert list(found.contributions.values()) == pytest.approx(weights)


def test_a_module_with_a_column_a_class_is_refused() -> None:
    model = adapt(torch.nn.Linear(2, 3), ["x", "y"])
    with pytest.raises(ModelError, match=r"the torch module returned an array of shape \(6, 3\) for 6 rows"):
        pairwise(model, (0.0, 0.0), (1.0, 1.0))


def test_a_module_without_weights_is_refused() -> None:
    with pytest.raises(ModelError, match="lies on the meta device, which holds no numbers; load its weights"):
        adapt(torch.nn.Linear(2, 1, device="meta"), ["x", "y"])


def test_a_function_that_turns_numpy_into_tensors_and_then_fails_is_advised() -> None:
    weights = np.asarray([2.0, 3.0])

    def score(x: Any) -> Any:
        return torch.tanh(x @ torch.tensor(weights))

    with pytest.raises(ModelError, match=r"CallableAdapter\(fn, names, backend='torch'\)"):
        pairwise(adapt(score, ["x", "y"]), [1.0, 2.0], [3.0, 4.0])


def test_a_module_bound_to_a_function_makes_it_one_of_torch() -> None:
    layer = torch.nn.Linear(2, 1, dtype=torch.float64)
    bound = functools.partial(lambda module, x: module(x).detach(), layer)
    found = pairwise(adapt(bound, ["x", "y"]), [0.0, 0.0], [1.0, 1.0])
    assert list(found.contributions.values()) == pytest.approx(layer.weight.detach()[0].tolist())


def test_a_module_inside_a_function_is_given_tensors_and_told_about_their_type() -> None:
    net, names = torch.nn.Linear(2, 1), ["x", "y"]
    for function in (functools.partial(net), functools.partial(lambda module, x: module(x), net)):
        with pytest.raises(ModelError, match=r"pass the torch module itself, .*\(x.float\(\)\)"):
            pairwise(adapt(function, names), (0.0, 0.0), (1.0, 2.0))
        single = np.zeros((1, 2), dtype=np.float32)
        found = pairwise_many(adapt(function, names), single, single + 1)
        right = pairwise_many(adapt(net, names), single, single + 1)
        np.testing.assert_allclose(found.contributions, right.contributions, rtol=0, atol=1e-7)


def test_global_random_state_of_torch_is_left_alone() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    pairwise(adapt(network_like(), names_for(14)), np.zeros(14), np.ones(14))
    assert torch.equal(torch.get_rng_state(), before)


def network_like() -> Any:
    layer = torch.nn.Linear(14, 1)
    torch.manual_seed(3)
    return layer


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="names is missing: a torch module"):
        adapt(torch.nn.Linear(2, 1))
    with pytest.raises(ValueError, match="params belongs to JAX functions"):
        adapt(torch.nn.Linear(2, 1), ["x", "y"], params={})
