"""Standard errors have the same share of the scores at every scale."""

from __future__ import annotations

import numpy as np
import pytest

from ranklens.arrays import Backend, to_host
from ranklens.explain import CallableAdapter, pairwise
from ranklens.kernels.orders import mean_and_error
from ranklens.kernels.scales import own_unit

SCALES = [5e-301, 1e-165, 1e-160, 1e160, 1e300]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("together", [1, 2])
def test_errors_of_orders_keep_their_share_of_the_scores(
    backend: Backend, together: int, scale: float
) -> None:
    samples = np.random.default_rng(3).gamma(1.0, size=(2, 12, 5))
    samples[:, :-2, 0] = 0.25
    mean, error = to_host(*mean_and_error(backend.asarray(samples), together=together))
    scaled = to_host(*mean_and_error(backend.asarray(scale * samples), together=together))
    np.testing.assert_allclose(scaled[0], scale * mean, rtol=1e-12)
    np.testing.assert_allclose(scaled[1], scale * error, rtol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("method", ["antithetic", "orders", "regression"])
def test_sampled_explanations_keep_their_shares_at_every_scale(method: str, scale: float) -> None:
    k = 13
    rng = np.random.default_rng(0)
    inner, outer, a, b = rng.normal(size=(k, 8)), rng.normal(size=8), *rng.normal(size=(2, k))

    def errors(unit: float) -> np.ndarray:
        model = CallableAdapter(lambda x: unit * (np.tanh(x @ inner) @ outer), [f"x{i}" for i in range(k)])
        found = pairwise(model, a, b, method=method, max_rows=300)
        assert found.standard_errors is not None
        return np.asarray([*found.standard_errors.values()])

    np.testing.assert_allclose(errors(scale), scale * errors(1.0), rtol=1e-9)


def test_the_unit_is_the_power_of_two_just_below_the_largest_size(backend: Backend) -> None:
    values = np.asarray([[0.0, -5.0, 3.0], [0.0, 0.0, 0.0], [1e308, 1.0, -1.7e308], [-1e-300, 0.0, 1e-301]])
    (unit,) = to_host(own_unit(backend.asarray(values), 1))
    np.testing.assert_allclose(unit[:, 0], [4.0, 1.0, 2.0**1023, 2.0**-997], rtol=1e-12)
