"""How often a whole batch waits for its device: once where it samples, at most twice where it is exact."""

from __future__ import annotations

from collections.abc import Iterator

import cupy_double
import numpy as np
import pytest

import ranklens as rl
from ranklens.arrays import memory_budget, to_host

N = 70
ROWS = np.random.default_rng(0).normal(0.1, 1.0, size=(6, N))
MEASURED = np.arange(N) < np.array([70, 60, 60, 50, 70, 4])[:, None]
"""Three sizes, and a row with too few queries for a test."""

UNEVEN = np.arange(N) % 5 + 1.0
PLAIN = {"n_resamples": 200, "n_permutations": 200, "correction": None}
OPTIONS = {
    "plain": {},
    "expanded": {"interval": "expanded"},
    "bca": {"interval": "bca"},
    "studentized": {"interval": "studentized"},
    "one-sided": {"alternative": "less"},
    "holm": {"correction": "holm"},
    "max-T": {"correction": "maxt"},
    "families": {"correction": "maxt", "family": list("aabbab")},
    "weights": {"weights": UNEVEN},
    "weights of 0": {"weights": np.arange(N) % 5 + 0.0},
    "clusters": {"clusters": np.arange(N) // 3},
    "margin": {"margin": 0.2},
    "non-inferiority": {"margin": 0.2, "alternative": "greater"},
    "beside": {"beside": ("t", "wilcoxon"), "mean_a": np.arange(6) + 1.0},
    "weighted and studentized": {"weights": UNEVEN, "interval": "studentized"},
    "everything": {
        "weights": UNEVEN, "clusters": np.arange(N) // 3, "margin": 0.2, "beside": "t", "interval": "bca",
        "correction": "maxt", "family": list("aabbab"),
    },
}  # fmt: skip
COLUMNS = ("delta", "ci_low", "ci_high", "p_value", "q_value", "effect", "p_error", "p_t", "p_wilcoxon")


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """The double of cupy, counting its transfers anew."""
    with cupy_double.installed():
        cupy_double.waits.count = 0
        yield


def on_card(values: np.ndarray) -> cupy_double.ndarray:
    """Put values on a card that is not the current one."""
    with cupy_double.Device(1):
        return cupy_double.asarray(values)


def compared(rows: np.ndarray, **options: object) -> int:
    """Compare rows on the fake device, hold the table to that of the host, and return how often it waited."""
    cupy_double.waits.count = 0
    found = rl.compare_deltas(on_card(rows), **options)
    waited = cupy_double.waits.count
    expected = rl.compare_deltas(rows, **options)
    for name in COLUMNS:
        column, other = getattr(found, name), getattr(expected, name)
        if column is None:
            assert other is None
        else:
            np.testing.assert_allclose(column, other, rtol=1e-9, atol=1e-12)
    for name in ("n_queries", "wins", "ties", "losses", "method"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    return int(waited)


@pytest.mark.parametrize("mask", [None, MEASURED], ids=["all measured", "masked"])
@pytest.mark.parametrize("name", OPTIONS)
def test_sampling_waits_once(name, mask):
    assert compared(ROWS, mask=mask, method="monte-carlo", **(PLAIN | OPTIONS[name])) == 1


@pytest.mark.parametrize("mask", [None, MEASURED], ids=["all measured", "masked"])
@pytest.mark.parametrize("method", ["exact", "auto"])
@pytest.mark.parametrize("name", OPTIONS)
def test_exact_methods_wait_at_most_twice(name, method, mask):
    options = PLAIN | OPTIONS[name]
    if method == "exact" and options.get("interval") == "studentized":
        options["interval"] = "percentile"
    assert compared(ROWS, mask=mask, method=method, **options) <= 2


@pytest.mark.parametrize(("method", "most"), [("monte-carlo", 1), ("exact", 2)])
def test_means_travel_with_the_differences(method, most):
    array, syncs = on_card(np.column_stack([ROWS, np.arange(6) + 1.0])), cupy_double.waits
    with cupy_double.Device(1):
        rows, means = array[:, :N], array[:, N]
    found = rl.compare_deltas(rows, mean_a=means, method=method, **PLAIN)
    assert syncs.count == most
    np.testing.assert_allclose(found.relative_delta, found.delta / (np.arange(6) + 1.0), rtol=1e-12)


@pytest.mark.parametrize("design", [{}, {"margin": 0.1}, {"clusters": list(range(60))}])
def test_sampling_what_is_uncertain_waits_no_more(design):
    rng = np.random.default_rng([1, 60])
    doubtful = rng.choice(rng.random(3), 60) + rng.normal(size=60) * 1e-9
    doubtful *= np.where(rng.random(60) < 0.4, -1.0, 1.0)
    rows = np.stack([ROWS[0, :60], doubtful])
    assert compared(rows, method="auto", **PLAIN, **design) <= 2


@pytest.mark.parametrize("n_measured", [40, 44])
@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_rows_that_cost_too_much_to_be_exact_wait_with_those_that_do_not(interval, n_measured):
    rng = np.random.default_rng(3)
    rows = rng.normal(0.1, 1.0, (4, 44))
    rows[::2] = np.round(rows[::2], 1)
    rows[:, n_measured:] = np.nan
    mask = np.broadcast_to(np.arange(44) < n_measured, rows.shape).copy()
    mask[3] = np.arange(44) < 40
    options = PLAIN | {"mask": mask, "method": "auto", "interval": interval}
    methods = set(rl.compare_deltas(rows, **options).method)
    assert "monte-carlo" in methods
    assert len(methods) > 1
    assert compared(rows, **options) <= 2


def test_sampling_an_interval_whose_law_is_uncertain_waits_no_more():
    weights = np.random.default_rng(2).uniform(1.0, 2.0, N)
    weights[7] = 1e9
    assert compared(ROWS, method="auto", weights=weights, **PLAIN) <= 2


@pytest.mark.parametrize("name", ["plain", "bca", "weighted and studentized"])
def test_what_is_not_finite_is_named_as_on_the_host(name):
    rows = ROWS.copy()
    rows[4, 3] = np.nan
    for method in ("monte-carlo", "auto"):
        with pytest.raises(ValueError, match=r"1 of 420 values .* \(at comparison 4 query 3\)"):
            rl.compare_deltas(on_card(rows), method=method, **(PLAIN | OPTIONS[name]))


@pytest.mark.parametrize("interval", ["percentile", "bca", "studentized"])
def test_sums_beyond_the_memory_budget_come_in_parts(interval):
    rows = np.random.default_rng(1).normal(0.1, 1.0, size=(60, N))
    options = {"method": "monte-carlo", "interval": interval, "n_resamples": 2000, "correction": None}
    with memory_budget(2**20):
        waited = compared(rows, **options)
    assert waited == 1 if interval == "percentile" else waited > 1


def test_what_has_no_room_beside_others_travels_by_itself():
    large, syncs = on_card(np.arange(200_000.0)), cupy_double.waits
    with memory_budget(2**20), cupy_double.Device(1):
        small = large[:10]
        found = to_host(small, large, small + 1.0)
    assert syncs.count == 2
    np.testing.assert_array_equal(found[1], np.arange(200_000.0))
    np.testing.assert_array_equal(found[2], np.arange(1.0, 11.0))
    assert len(to_host(large, large)) == 2
    assert syncs.count == 3
