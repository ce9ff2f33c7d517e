"""A row of a batch has the exact p-value that it has alone, to the last bit, whatever stands beside it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ranklens as rl
from ranklens.arrays import Backend, memory_budget, open_backend
from ranklens.stats.exact.p_value import exact_p_value
from ranklens.stats.exact.p_values import exact_p_values
from ranklens.stats.rows.jobs import together

Rows = np.ndarray
QUIET = {"method": "exact", "correction": None, "min_queries": 2}


def kinds(rng: np.random.Generator, n: int) -> dict[str, Rows]:
    """Make a few rows of every kind that takes another step."""
    normal = rng.normal(0.1, 0.3, (3, n))
    ranks = 1.0 / rng.integers(1, 40, (3, n))
    return {
        "real": normal,
        "far out": rng.normal(0.25, 0.2, (2, n)),
        "farther out": rng.normal(0.5, 0.2, (2, n)),
        "one loser": np.abs(normal[:1]) * np.where(np.arange(n) == n // 2, -0.1, 1.0),
        "skewed": rng.standard_exponential((2, n)) ** 3 - 1.0,
        "tenths": np.round(normal, 1),
        "four decimals": np.round(normal[:2], 4),
        "six decimals": np.round(normal[:2], 6),
        "reciprocal ranks": ranks - ranks[:, ::-1],
        "few values": rng.choice([0.0, 0.5, -0.2, math.sqrt(0.3)], (2, n)),
        "mixed scales": normal[:2] * 10.0 ** rng.integers(-9, 9, (2, n)),
        "large": normal[:1] * 2.0**300,
        "half a lattice": np.where(np.arange(n) < n // 2, np.round(normal[:2], 2), normal[:2]),
        "zeros": np.zeros((2, n)),
        "mostly zeros": np.where(rng.random((2, n)) < 0.3, normal[:2], 0.0),
    }


def check_rows(deltas: Rows, alternative: str = "two-sided", mask: Rows | None = None) -> None:
    table = rl.compare_deltas(deltas, mask=mask, alternative=alternative, **QUIET)
    filled = deltas if mask is None else np.where(mask, deltas, 0.0)
    (batch,) = together([exact_p_values(filled, 2.0**-52, alternative, open_backend("numpy"))])
    for i, row in enumerate(deltas):
        alone = exact_p_value(row if mask is None else row[mask[i]], alternative)
        found = batch.p_value[i], batch.p_error[i], batch.log10_p[i], batch.step[i]
        assert found == (alone.p_value, alone.p_error, alone.log10_p, alone.step), (i, row)
        assert (table.p_value[i], table.p_error[i], table.method[i]) == (found[0], found[1], found[3])


@pytest.mark.parametrize("n", [2, 3, 7, 13, 23, 31, 41, 53])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_row_is_its_single_call(n: int, alternative: str) -> None:
    rng = np.random.default_rng(n)
    rows = np.concatenate(list(kinds(rng, n).values()))
    check_rows(rng.permutation(rows), alternative)


@pytest.mark.parametrize("n", [88, 310, 700])
def test_a_long_row_is_its_single_call(n: int) -> None:
    rng = np.random.default_rng(n)
    check_rows(rng.permutation(np.concatenate(list(kinds(rng, n).values()))))


@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 12))
@settings(max_examples=25, deadline=None)
def test_a_masked_row_is_the_single_call_on_what_is_measured(seed: int, n: int, n_rows: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.concatenate(list(kinds(rng, n).values()))
    rows = rng.permutation(rows)[:n_rows]
    mask = rng.random(rows.shape) < rng.uniform(0.3, 1.0)
    mask[:, :2] = True
    check_rows(rows, mask=mask)


@pytest.mark.parametrize("n_rows", [1, 2, 7, 40])
def test_neither_company_nor_memory_changes_a_row(n_rows: int) -> None:
    rng = np.random.default_rng(5)
    long, short = (np.concatenate(list(kinds(rng, n).values())) for n in (52, 36))
    rows = rng.permutation(np.concatenate([long, np.pad(short, ((0, 0), (0, 16)))]))
    whole = rl.compare_deltas(rows, **QUIET)
    for budget in (2**31, 3 * 2**20):
        with memory_budget(budget):
            parts = [rl.compare_deltas(rows[i : i + n_rows], **QUIET) for i in range(0, len(rows), n_rows)]
        for column in ("p_value", "p_error"):
            joined = np.concatenate([getattr(part, column) for part in parts])
            assert np.array_equal(joined, getattr(whole, column))


def test_the_order_of_the_queries_changes_no_row() -> None:
    rng = np.random.default_rng(6)
    rows = np.concatenate(list(kinds(rng, 60).values()))
    one, other = (rl.compare_deltas(x, **QUIET) for x in (rows, rows[:, rng.permutation(60)]))
    assert np.array_equal(one.p_value, other.p_value)
    assert np.array_equal(one.p_error, other.p_error)


def test_other_backends_give_the_same_rows_to_twelve_digits(user_backend: Backend) -> None:
    rng = np.random.default_rng(7)
    rows = np.concatenate(list(kinds(rng, 48).values()))[:20]
    expected = rl.compare_deltas(rows, **QUIET)
    with user_backend.precise():
        there = user_backend.asarray(rows)
    found = rl.compare_deltas(there, **QUIET)
    assert found.method.tolist() == expected.method.tolist()
    slack = 1e-12 * expected.p_value + 1e-6 * expected.p_error
    assert np.all(np.abs(found.p_value - expected.p_value) <= slack)
