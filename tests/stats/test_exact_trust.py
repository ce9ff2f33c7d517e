"""An exact p-value whose error bound is large is never passed off as exact."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ranklens as rl
from ranklens.stats.exact.p_value import exact_p_value
from ranklens.stats.exact.trust import UncertainPValueError

N = 60


def doubtful() -> np.ndarray:
    """Draw three incommensurable values with noise: sums that nearly tie do so in millions of ways."""
    rng = np.random.default_rng([1, N])
    values = rng.choice(rng.random(3), N) + rng.normal(size=N) * 1e-9
    return values * np.where(rng.random(N) < 0.4, -1.0, 1.0)


def result(deltas: np.ndarray) -> tuple[rl.MetricResult, rl.MetricResult]:
    names = [f"q{i:02}" for i in range(len(deltas))]
    zeros = dict.fromkeys(names, 0.0)
    return rl.MetricResult("AP", zeros), rl.MetricResult("AP", dict(zip(names, deltas, strict=True)))


def test_the_sample_is_doubtful_and_its_error_says_so() -> None:
    found = exact_p_value(doubtful())
    assert found.p_error > 0.01 * found.p_value
    sampled = rl.permutation_test(doubtful(), n_permutations=200_000)
    assert abs(found.p_value - sampled) <= found.p_error + 0.005


def test_a_single_test_refuses_it_by_name_and_says_what_to_do() -> None:
    with pytest.raises(UncertainPValueError, match=r'may be off by 0\.0.*use method="monte-carlo"'):
        rl.permutation_test(doubtful(), method="exact")
    with pytest.raises(UncertainPValueError):
        rl.compare(*result(doubtful()), method="exact")


def test_what_is_left_to_us_is_sampled() -> None:
    sampled = rl.permutation_test(doubtful(), seed=3)
    assert rl.permutation_test(doubtful(), method="auto", seed=3) == sampled
    row = rl.compare(*result(doubtful()), method="auto", seed=3)
    assert (row.method, row.p_value, row.n_permutations) == ("monte-carlo", sampled, 10_000)
    assert row.n_resamples == 0


@pytest.mark.parametrize("design", [{}, {"clusters": list(range(N))}, {"weights": [2.0] * N}])
def test_rows_are_refused_by_number_or_sampled_one_by_one(design: dict[str, object]) -> None:
    fine = np.random.default_rng(0).normal(size=N)
    rows = np.stack([fine, doubtful()])
    with pytest.raises(UncertainPValueError, match="comparison 1"):
        rl.compare_deltas(rows, method="exact", **design)
    table = rl.compare_deltas(rows, method="auto", seed=3, **design)
    assert table.method[0] == "characteristic function"
    assert table.method[1] == "monte-carlo"
    single = rl.permutation_test(doubtful(), seed=3)
    assert table.p_value[1] == pytest.approx(single, abs=1e-12)


def test_tables_of_runs_say_which_rows_were_sampled() -> None:
    a, b = result(doubtful())
    (row,) = rl.compare_many({"a": a, "b": b}, seed=3)
    assert row.method == "monte-carlo"
    assert row.n_permutations == 10_000
    assert "exact" not in str(row)


@pytest.mark.parametrize("design", [{}, {"weights": 2.0}], ids=["plain", "weights"])
def test_tables_of_runs_name_the_comparison_they_refuse(design: dict[str, float]) -> None:
    a, b = result(doubtful())
    options: dict[str, object] = dict(design)
    if "weights" in design:
        options["weights"] = dict.fromkeys(a.per_query, design["weights"])
    with pytest.raises(UncertainPValueError, match=r"p-value of AP, b against a cannot"):
        rl.compare_many(
            {"a": a, "b": b, "c": a},
            baseline="a",
            segments={"f": dict.fromkeys(a.per_query, "x")},
            method="exact",
            **options,
        )


def test_the_error_is_a_value_error_that_can_be_sent_between_processes() -> None:
    error = UncertainPValueError(0.39, 0.98, 2)
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, ValueError)
    assert str(again) == str(error)
    assert "comparison 2" in str(error)
