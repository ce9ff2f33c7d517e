"""Differences near the largest and the smallest number: the results of ordinary ones, scaled."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklens import (
    MetricResult,
    compare,
    compare_deltas,
    compare_many,
    paired_bootstrap,
    permutation_test,
    ppi_compare,
)

UP, DOWN = 1015, -1060
"""Powers of two that take values of size 1 near either end of the range."""

DELTAS = np.array([1.0, -0.5, 2.0, 0.25, 3.0, -1.0, 0.0, 0.75] * 3)
WEIGHTS = np.array([1.0, 3.0, 40.0, 2.0, 5.0, 1.0] * 4)
CLUSTERS = [f"s{i // 2}" for i in range(24)]
DESIGNS = [{}, {"weights": WEIGHTS}, {"clusters": CLUSTERS}, {"weights": WEIGHTS, "clusters": CLUSTERS}]


def result(values):
    return MetricResult("gain", {f"q{i:03}": float(value) for i, value in enumerate(values)})


@pytest.mark.parametrize("value", [1e308, 1.7e308, -1.7e308])
def test_the_mean_of_huge_values(value):
    assert result([value] * 40).mean == value
    assert result([value, -value]).mean == 0.0


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("interval", ["percentile", "bca", "expanded", "studentized"])
@pytest.mark.parametrize("exponent", [UP, DOWN])
def test_intervals_scale(exponent, interval, design):
    for method in ("monte-carlo",) if interval == "studentized" else ("monte-carlo", "exact"):
        asked = {"method": method, "interval": interval, "n_resamples": 500, **design}
        plain = paired_bootstrap(DELTAS, **asked)
        found = paired_bootstrap(np.ldexp(DELTAS, exponent), **asked)
        for name in ("delta", "low", "high"):
            # Near the smallest number the result has 14 bits left.
            expected = getattr(plain, name)
            assert math.ldexp(getattr(found, name), -exponent) == pytest.approx(expected, rel=2e-4, abs=2e-4)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("margin", [None, 0.25])
@pytest.mark.parametrize("exponent", [UP, DOWN])
def test_p_values_do_not_depend_on_the_unit(exponent, margin, design):
    for method in ("monte-carlo", "exact"):
        asked = {"method": method, "n_permutations": 500, **design}
        plain = permutation_test(DELTAS, margin=margin, **asked)
        scaled = None if margin is None else math.ldexp(margin, exponent)
        assert permutation_test(np.ldexp(DELTAS, exponent), margin=scaled, **asked) == pytest.approx(plain)


@pytest.mark.parametrize("method", ["monte-carlo", "exact", "auto"])
@pytest.mark.parametrize("exponent", [UP, DOWN])
def test_tables_scale(exponent, method):
    rows = np.stack([DELTAS, DELTAS[::-1] + 0.125, np.full(24, 0.75)])
    plain = compare_deltas(rows, method=method)
    found = compare_deltas(np.ldexp(rows, exponent), method=method)
    np.testing.assert_allclose(found.p_value, plain.p_value)
    np.testing.assert_allclose(found.effect, plain.effect)
    for name in ("delta", "ci_low", "ci_high"):
        back = np.ldexp(getattr(found, name), -exponent)
        np.testing.assert_allclose(back, getattr(plain, name), rtol=2e-4, atol=2e-4)
    runs = {"a": result(np.zeros(24)), "b": result(np.ldexp(DELTAS, exponent))}
    (row,) = compare_many(runs, method=method, beside="t")
    one = compare(runs["a"], runs["b"], method=method, beside="t")
    assert (row.ci_low, row.ci_high, row.p_value) == (one.ci_low, one.ci_high, one.p_value)


def test_prediction_powered_comparisons_scale():
    def found(exponent):
        scaled = np.ldexp(np.concatenate([DELTAS, DELTAS[::-1]]), exponent)
        zero = np.zeros(48)
        return ppi_compare(result(zero), result(scaled), result(zero[:32]), result(scaled[:32] * 1.5))

    plain, huge = found(0), found(UP)
    for name in ("mean_b", "delta", "ci_low", "ci_high", "proxy_delta"):
        assert math.ldexp(getattr(huge, name), -UP) == pytest.approx(getattr(plain, name), rel=1e-12)
    assert (huge.p_value, huge.lam) == pytest.approx((plain.p_value, plain.lam))


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(
        st.sampled_from([0.0, 5e-324, -1e-320, 1e-300, 0.5, -1.0, 1e150, -1e307, 1.7e308]),
        min_size=2,
        max_size=12,
    ),
    heavy=st.sampled_from([None, 1e-6, 1e6, 1e-40, 1e50]),
    interval=st.sampled_from(["percentile", "expanded", "bca"]),
    method=st.sampled_from(["monte-carlo", "exact", "auto"]),
)
def test_the_ends_of_an_interval_are_finite_and_in_order(values, heavy, interval, method):
    weights = None if heavy is None else [heavy if i % 3 == 0 else 1.0 for i in range(len(values))]
    found = compare(
        result(np.zeros(len(values))),
        result(values),
        weights=weights,
        interval=interval,
        method=method if heavy is None or method == "monte-carlo" else "auto",
        n_resamples=100,
        n_permutations=100,
        min_queries=0,
        beside=("t", "wilcoxon"),
    )
    # Beside values of ordinary size the smallest numbers count as 0.
    slack = 1e-15 * max(map(abs, values)) + 1e-300
    assert min(values) - slack <= found.ci_low <= found.ci_high <= max(values) + slack
    assert 0.0 < found.p_value <= 1.0


def test_weights_too_far_apart_are_refused():
    with pytest.raises(ValueError, match="weights must lie within a factor of 1e"):
        paired_bootstrap([0.1, 0.2, 0.3], weights=[1e-300, 1.0, 1e300])
