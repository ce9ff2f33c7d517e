"""Few weighted values that stand for a long row: bounds that hold, and p-values as good as those of all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ranklens as rl
from ranklens.kernels.exact_moments import chebyshev_moments, quadrature_times
from ranklens.stats.exact import far, near
from ranklens.stats.exact.blocks import Blocks
from ranklens.stats.exact.condensed import condensed_groups
from ranklens.stats.exact.p_value import exact_p_value
from ranklens.stats.exact.quadrature import chebyshev_points, points_needed
from ranklens.stats.exact.signed import SignedRows, by_width
from ranklens.stats.exact.smooth import SmoothRows
from ranklens.stats.exact.tail import FlipTails

Extended = np.longdouble
KINDS = ("normal", "skewed", "heavy", "bounded", "uniform")
PI = Extended("3.14159265358979323846264338327950288")


def draw(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "normal":
        return rng.normal(size=n)
    if kind == "skewed":
        return rng.standard_exponential(n) - 1.0
    if kind == "heavy":
        return rng.standard_t(6, size=n)
    if kind == "bounded":
        return rng.beta(0.5, 1.0, n) - rng.beta(0.5, 1.0, n)
    return rng.uniform(-1.0, 1.0, n)


def unit_row(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    values = np.sort(np.abs(draw(kind, n, rng)))
    return np.asarray(values / math.sqrt(float(np.sum(values**2))))


def log_factors(values: np.ndarray, rate: float, nodes: np.ndarray) -> np.ndarray:
    """Return the complex logarithms of the tilted characteristic function's factors, (nodes, values)."""
    angles, tanhs = nodes[:, None] * values, np.tanh(rate * values)
    modulus = 0.5 * np.log1p((tanhs * tanhs - 1.0) * np.sin(angles) ** 2)
    return np.asarray(modulus + 1j * np.arctan2(tanhs * np.sin(angles), np.cos(angles)))


def extended_log_p(deltas: np.ndarray) -> float:
    """Invert the tilted characteristic function in extended precision, with nodes to spare; log of p."""
    values = np.abs(deltas[deltas != 0.0].astype(Extended))
    spread = np.sqrt(np.sum(values * values))
    values, threshold = values / spread, np.abs(deltas.astype(Extended).sum()) / spread
    rate = threshold
    for _ in range(60):
        tanhs = np.tanh(rate * values)
        slope = np.sum(values * values * (1.0 - tanhs * tanhs))
        rate = rate - (np.sum(values * tanhs) - threshold) / slope
    rate = max(rate, Extended(0.7))
    tanhs = np.tanh(rate * values)
    narrowed = np.sqrt(np.sum(values * values * (1.0 - tanhs * tanhs)))
    step = 2.0 * PI / (11.0 * narrowed + 46.0 / rate)
    total = Extended(0.0)
    for k in range(int(11.0 / (narrowed * step)) + 3):
        node = (Extended(k) + Extended(0.5)) * step
        cosines, sines = np.cos(node * values), tanhs * np.sin(node * values)
        modulus = np.exp(0.5 * np.sum(np.log(cosines * cosines + sines * sines)))
        phase = np.sum(np.arctan2(sines, cosines)) - node * threshold
        total += modulus * (rate * np.cos(phase) + node * np.sin(phase)) / (rate * rate + node * node)
    scale = np.sum(np.log(np.cosh(rate * values))) - rate * threshold
    return float(scale + np.log(2.0 * step / PI * total))


def long_row(deltas: np.ndarray) -> SmoothRows:
    ((_, values),) = by_width(deltas[None, :])
    sums = SignedRows.of(values, 2.0**-52)
    return SmoothRows.of(FlipTails.of(sums, np.zeros(1, dtype=bool)), np.zeros(1, dtype=np.int64))


@given(st.sampled_from(KINDS), st.integers(200, 3000), st.floats(0.0, 30.0), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_so_many_points_are_within_the_tolerance(kind: str, n: int, rate: float, seed: int) -> None:
    values = unit_row(kind, n, np.random.default_rng(seed))
    nodes = np.linspace(0.3, min(7.0, 1.4 / values[-1]), 6)
    tilt = np.array([rate]) if rate else None
    whole = np.sum(log_factors(values, rate, nodes), axis=1)
    for tolerance in (1e-6, 1e-10):
        taken, moduli = np.ones((6, 1), dtype=bool), np.ones((6, 1))
        needed = points_needed(values[-1:], tilt, nodes[:, None], moduli, taken, tolerance)
        n_points = math.ceil(needed[0])
        if n_points > 60:
            continue
        points, to_weights = chebyshev_points(n_points)
        squares = points[:, None] * values[-1] ** 2
        moments = chebyshev_moments(values[:, None], values[-1:], n_points)
        times = quadrature_times(moments, to_weights, squares)[:, 0]
        found = np.sum(times * log_factors(np.sqrt(squares[:, 0]), rate, nodes), axis=1)
        # What both lack is the tilt's own K(t), which is within the tolerance as well.
        assert np.all(np.abs(found - whole) <= 2.0 * tolerance + 1e-12)


@given(
    st.sampled_from(KINDS), st.sampled_from([320, 448, 1024]), st.floats(0.0, 20.0), st.integers(0, 2**32 - 1)
)
@settings(max_examples=60, deadline=None)
def test_no_modulus_exceeds_its_bound_between_two_edges(kind: str, n: int, rate: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = unit_row(kind, n, rng)
    edges = np.sort(rng.uniform(0.1, 60.0, 9))
    bounds = Blocks.of(values[:, None]).moduli(np.array([rate]) if rate else None, edges[:, None])[:, 0]
    for low, high, bound in zip(edges, edges[1:], bounds, strict=False):
        logs = log_factors(values, rate, np.linspace(low, high, 20)).real.sum(axis=1)
        assert np.exp(logs).max() <= bound * (1.0 + 1e-12)


@pytest.mark.parametrize("n", [900, 2500, 7000])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sds", [0.3, 2.5, 4.6, 6.0, 10.0, 21.0])
def test_a_long_row_agrees_with_extended_precision(kind: str, n: int, sds: float) -> None:
    rng = np.random.default_rng([n, len(kind)])
    deltas = draw(kind, n, rng)
    deltas += (sds / math.sqrt(n) - deltas.mean() / deltas.std()) * deltas.std()
    expected = extended_log_p(deltas)
    found = exact_p_value(deltas)
    off = abs(math.expm1(found.log10_p * math.log(10.0) - expected))
    assert off <= found.p_error / found.p_value + 1e-13 * max(1.0, -expected)
    assert found.p_error <= (4e-5 * found.p_value if "tilted" in found.step else 1e-9)
    assert off * found.p_value <= 2e-12 or off <= 1e-10


@pytest.mark.parametrize("sds", [1.0, 8.0, 18.0])
def test_a_long_row_has_the_p_value_of_all_its_values(sds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    rows = [draw(kind, n, rng) for kind in KINDS for n in (700, 1500, 5000)]
    rows = [row + (sds / math.sqrt(len(row))) * row.std() for row in rows]
    few = [exact_p_value(row) for row in rows]
    for room in (near, far):
        monkeypatch.setattr(room, "condensed_groups", lambda rows, *_: ([], np.arange(len(rows.n))))
    for row, condensed in zip(rows, few, strict=True):
        whole = exact_p_value(row)
        assert whole.step == condensed.step
        assert abs(whole.p_value - condensed.p_value) <= whole.p_error + condensed.p_error


def test_values_stand_for_most_long_rows() -> None:
    rng = np.random.default_rng(1)
    for kind in ("normal", "bounded", "uniform"):
        for n in (1500, 7000):
            rows = long_row(draw(kind, n, rng))
            step = 2.0 * math.pi / (rows.threshold + 8.5)
            groups, others = condensed_groups(rows, Blocks.of(rows.values), None, step, 1e-13)
            assert (len(groups), len(others)) == (1, 0)


def test_a_few_large_values_are_left_to_the_inversion_of_all() -> None:
    rng = np.random.default_rng(2)
    deltas = rng.normal(size=2000)
    deltas[:3] *= 40.0
    rows = long_row(deltas)
    step = 2.0 * math.pi / (rows.threshold + 8.5)
    groups, others = condensed_groups(rows, Blocks.of(rows.values), None, step, 1e-13)
    assert (groups, others.tolist()) == ([], [0])
    assert exact_p_value(deltas).p_error < 1e-9


@pytest.mark.parametrize("n", [330, 1100, 3000])
def test_long_rows_of_a_batch_are_their_single_calls(n: int) -> None:
    rng = np.random.default_rng(n)
    rows = np.stack([draw(kind, n, rng) + mean for kind in KINDS for mean in (0.0, 0.02, 0.1, 0.3)])
    rows[1::5, : n // 6] = 0.0
    table = rl.compare_deltas(rows, method="exact", correction=None)
    for i, row in enumerate(rows):
        alone = exact_p_value(row)
        assert (table.p_value[i], table.p_error[i]) == (alone.p_value, alone.p_error)
    halves = [rl.compare_deltas(part, method="exact", correction=None) for part in (rows[:7], rows[7:])]
    assert np.array_equal(np.concatenate([half.p_value for half in halves]), table.p_value)


def test_long_rows_on_other_backends_have_the_same_p_values(user_backend) -> None:
    rng = np.random.default_rng(9)
    rows = np.stack([rng.normal(mean, 1.0, 1200) for mean in (0.0, 0.05, 0.2, 0.4)])
    expected = rl.compare_deltas(rows, method="exact", correction=None)
    with user_backend.precise():
        there = user_backend.asarray(rows)
    found = rl.compare_deltas(there, method="exact", correction=None)
    assert found.method.tolist() == expected.method.tolist()
    slack = 1e-11 * expected.p_value + 1e-3 * expected.p_error
    assert np.all(np.abs(found.p_value - expected.p_value) <= slack)
