"""The interval of the ideal bootstrap: exact laws, many resamples, symmetries."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from exact_oracles import bootstrap_quantiles
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklens.arrays import Backend
from ranklens.stats.ideal.percentile import exact_interval


def ends(integers: list[int], tail: Fraction) -> list[float]:
    """Return each end from its own side, so that they mirror even where a level falls on a step."""
    (low,) = bootstrap_quantiles(integers, [tail])
    (high,) = bootstrap_quantiles([-value for value in integers], [tail])
    return [float(low), -float(high)]


def resampled_interval(deltas: np.ndarray, n_resamples: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    n, chunk = deltas.shape[0], 20_000
    means = [deltas[rng.integers(0, n, (chunk, n))].mean(axis=1) for _ in range(n_resamples // chunk)]
    return np.quantile(np.concatenate(means), [0.025, 0.975])


def off(deltas: np.ndarray, low: float, high: float) -> float:
    """How far the exact interval lies from (low, high), in standard errors."""
    found = np.array(exact_interval(deltas))
    return float(np.max(np.abs(found - (low, high))) / (np.std(deltas) / math.sqrt(deltas.shape[0])))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 20, 45])
def test_whole_numbers_agree_with_the_exact_law(n: int) -> None:
    integers = np.random.default_rng(n).integers(-4, 6, n).tolist()
    expected = ends(integers, Fraction(1, 40))
    assert exact_interval(integers) == pytest.approx(expected, abs=1e-13)
    tenths = [value / 10 for value in integers]
    assert exact_interval(tenths) == pytest.approx([end / 10 for end in expected], abs=1e-14)


@given(
    st.lists(st.integers(-3, 5), min_size=1, max_size=12), st.sampled_from(["1/10", "1/20", "2/3", "1/1000"])
)
@settings(deadline=None)
def test_any_small_sample_and_level_agree_with_the_exact_law(integers: list[int], alpha: str) -> None:
    expected = ends(integers, Fraction(alpha) / 2)
    assert exact_interval(integers, float(Fraction(alpha))) == pytest.approx(expected, abs=1e-12)


def test_degenerate_samples_have_degenerate_intervals() -> None:
    assert exact_interval([0.0] * 6) == (0.0, 0.0)
    assert exact_interval([-0.0, 0.0]) == (0.0, 0.0)
    assert exact_interval([0.3] * 10) == (0.3, 0.3)
    assert exact_interval([-2.5]) == (-2.5, -2.5)
    assert math.copysign(1.0, exact_interval([-0.0] * 3)[0]) == 1.0


@pytest.mark.parametrize("kind", ["normal", "skewed", "P@10", "RR", "RR to depth 100"])
@pytest.mark.parametrize("n", [12, 50])
def test_a_million_resamples_agree_within_their_noise(kind: str, n: int) -> None:
    rng = np.random.default_rng(n)
    deltas = {
        "normal": rng.normal(0.1, 1, n),
        "skewed": rng.exponential(size=n),
        "P@10": rng.integers(-6, 9, n) / 10,
        "RR": 1 / rng.integers(1, 11, n) - 1 / rng.integers(1, 11, n),
        "RR to depth 100": 1 / rng.integers(1, 101, n) - 1 / rng.integers(1, 7, n),
    }[kind]
    assert off(deltas, *resampled_interval(deltas, 1_000_000)) <= 0.01


def test_real_differences_agree_with_a_million_resamples(data_dir: Path) -> None:
    stored = json.loads((data_dir / "dl21-passage" / "expected.json").read_text("utf-8"))
    first, second = list(stored["runs"].values())[3:5]
    for measure in ("nDCG@10", "AP", "RR"):
        column = stored["columns"].index(measure)
        a, b = (np.array([row[column] for row in run["per_query"].values()]) for run in (first, second))
        assert off(b - a, *resampled_interval(b - a, 1_000_000)) <= 0.01, measure


def test_real_precision_differences_have_the_exact_interval(data_dir: Path) -> None:
    stored = json.loads((data_dir / "dl21-passage" / "expected.json").read_text("utf-8"))
    column = stored["columns"].index("P@10")
    first, second = list(stored["runs"].values())[3:5]
    pairs = zip(first["per_query"].values(), second["per_query"].values(), strict=True)
    tenths = [round(10 * (b[column] - a[column])) for a, b in pairs]
    expected = [end / 10 for end in ends(tenths, Fraction(1, 40))]
    assert exact_interval([value / 10 for value in tenths]) == pytest.approx(expected, abs=1e-14)


def test_large_samples_are_nearly_normal() -> None:
    deltas = np.random.default_rng(1).normal(0.02, 1, 6980)
    half = 1.959964 * np.std(deltas) / math.sqrt(6980)
    assert off(deltas, deltas.mean() - half, deltas.mean() + half) < 0.01


@pytest.mark.parametrize("n", [5, 12, 53, 2000])
@pytest.mark.parametrize("lattice", [False, True])
def test_sign_scale_and_order_change_nothing(n: int, lattice: bool) -> None:
    rng = np.random.default_rng(n)
    deltas = rng.integers(-10, 11, n) / 10 if lattice else rng.gamma(0.7, size=n)
    low, high = exact_interval(deltas)
    assert exact_interval(-deltas) == (-high, -low)
    assert exact_interval(rng.permutation(deltas)) == (low, high)
    assert exact_interval(np.ldexp(deltas, -700)) == pytest.approx(
        (math.ldexp(low, -700), math.ldexp(high, -700)), rel=1e-12
    )
    assert deltas.min() <= low <= high <= deltas.max()


def test_one_sided_intervals_have_one_infinite_end() -> None:
    deltas = np.random.default_rng(2).normal(0.3, 1, 40)
    low, high = exact_interval(deltas, 0.1)
    assert exact_interval(deltas, 0.05, "greater") == (low, math.inf)
    assert exact_interval(deltas, 0.05, "less") == (-math.inf, high)


def test_every_backend_gives_the_same_interval(backend: Backend) -> None:
    rng = np.random.default_rng(6)
    for deltas in (rng.normal(size=5), rng.normal(size=40), rng.integers(-10, 11, 40) / 10):
        assert exact_interval(backend.asarray(deltas)) == pytest.approx(exact_interval(deltas), abs=1e-11)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, math.nan])
def test_alpha_outside_zero_and_one_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
        exact_interval([1.0, 2.0], alpha)


def test_other_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="alternative must be one of"):
        exact_interval([1.0, 2.0], 0.05, "both")
    with pytest.raises(ValueError, match="empty"):
        exact_interval([])
    with pytest.raises(ValueError, match="not finite"):
        exact_interval([1.0, math.nan])


@pytest.mark.parametrize("n", [5, 20, 60, 500])
def test_half_precision_values_have_the_interval_of_what_they_hold(n: int) -> None:
    deltas = np.random.default_rng(n).normal(0.02, 0.2, n).astype(np.float16)
    low, high = exact_interval(deltas.astype(np.float64))
    assert exact_interval(deltas) == pytest.approx((low, high), abs=1e-3 * (high - low))
    narrow = exact_interval(np.round(deltas, 1).astype(np.float16))
    wide = exact_interval(np.round(deltas.astype(np.float64), 1))
    assert narrow == pytest.approx(wide, abs=0.01 * (wide[1] - wide[0]))


def test_single_precision_keeps_its_lattices() -> None:
    deltas = np.random.default_rng(3).integers(-5, 6, 200) / 10
    low, high = exact_interval(deltas)
    assert exact_interval(deltas.astype(np.float32)) == pytest.approx((low, high), rel=1e-6)
